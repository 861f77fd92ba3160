r"""What walks do to S_y: how well each joins the solutions, and which of them does it best.

**Ranking.** A family drops one of its sets at every step, and joins whatever one of them joins. Those of one, two and
three sites are compared and, where the space is large, blocks of many sites. These follow the paper's guideline, "to
drop variables that are highly correlated to others": a block grows by the site that shares most information with it, as
measured on the solutions seen. They matter where small sets have no freedom left, such as the cells of a Sudoku. Last
come sets of sites in which neighbouring solutions differ, such as the corners of rectangles in a grid of sums.

Where none of these is satisfactory, two more moves are tried. A solver re-solves random blocks given the rest, larger
and larger ones as long as it lists all their completions (block Gibbs). And symbols are swapped, all that is a against
all that is b, which leads from one solution to another where the rule hardly cares what symbols are called.

The paper decreases dim(Ω) "until the connectivity is satisfactory". So:

1. a projection comes last whose fibres are not known to be whole, for exact kernels cannot use it;
2. those come first that are satisfactory: of the chains led from one solution to another, nine in ten arrive, and where
   components were counted nine pairs of solutions in ten are connected;
3. among these, the fewer sites are dropped the better, then the fewer steps the chains took; kernels that were given
   come after the projections;
4. among the others, the more of their chains arrive, then the more they agree with their targets in the end (a kernel
   that was given is preferred where that is close), then the more pairs are connected, then the more moves find a
   completion.

Nothing in the rule is a measured time, and trials are counted: the same seed gives the same choice on every machine,
unless a limit of time ends the trials, which is told then.

**Connectivity.** *Movement* is the share of proposals u′, one move away from u = Π(z) with z ∈ S_y, that have a
completion at all: the others are rejected whatever the network says.

Where all of S_y is listed its *components* are counted, no chain needed. A step with the dropped sites D and a change
of one kept site k leads from z to every solution that agrees with z outside D ∪ {k}; a step that stays in Ω, to those
that agree outside D. So solutions are joined where they have the same symbols outside such a set, and sorting them by
those symbols finds all who are. The walk reaches all of S_y exactly when there is one component.

*Led chains* are connectivity as a walk meets it. The paper counts "the number of random walk steps needed for the
transition from the initial solution to a target solution". A free walk meets a given one of 10²¹ solutions never, so
the target is made attractive: the belief prefers its symbols, as a trained network does. A chain that arrives proves
the two connected; one that does not arrive in time proves nothing.

**Sites that change together.** From a solution z some sites are dropped at random, few at first, and completed in all
ways: every completion z′ ≠ z is a neighbour, and the sites where it differs from z are a set worth dropping. Sets that
hold a smaller one are left out: they are several moves in one. In a grid of row and column sums, what is left are the
corners of rectangles, four sites each, which a random set of four hardly ever is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import SoftgroundError
from ..kernels import Collapsed, Composed, DirectWalk, Kernel
from ..projections import ChangeOne, RandomBlock, RandomDrop, Stay, SwapSymbols
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from ..task import Task
from .solutions import Found, Sample, begun
from .time_limit import TimeLimit

RULE = (
    "whole fibres; then whether connectivity is satisfactory (nine in ten led chains arrive, nine in ten pairs of "
    "solutions are connected); then fewer dropped sites, then fewer steps"
)
SATISFACTORY = 0.9
CLOSE = 0.1  # difference in agreement up to which a kernel made for the task is preferred to a general one
ANSWERS = 4  # whose components are counted
MOST_SETS = 5_000  # in a family
MOST_SITES = 12  # up to which no blocks are needed
MOST_SYMBOLS = 4_096  # sites times symbols, up to which information is measured: every pair of them is compared
BLOCKS = 12  # of each size
SEEN = 1_024  # solutions that information is measured on
RESOLVED = (4, 6, 8, 10, 12, 16, 24, 32)  # sites of a random block that a solver re-solves
SWAPS = 64  # of symbols, tried on solutions
FIBRES = {"tensor": 256, "solver": 16}  # of them that are measured, by what an inverse costs
TOGETHER = 32  # of them at most, before time is looked at
MOST_COMPLETIONS = 1_024  # of one u that a walk can use
MOST_SOLUTIONS = 8_000  # of an answer whose components are counted
MOST_ENTRIES = 2_000_000  # pairs (solution, set outside which it is compared)
PAIRS, PAIRS_UNLISTED = 32, 8  # chains led; fewer where S_y cannot be listed and steps cost more
STEPS, SOLVED_STEPS = 200, 50  # of each of them; fewer where a solver is asked
PULL = 4.0  # log-odds of the target's symbol against any other
DROPPED = (2, 3, 4, 5, 6, 8, 10)  # sites at a time, to find neighbours
ROWS = {"tensor": 64, "solver": 16}  # solutions whose neighbours are looked for, by what an inverse costs
SIZES, SETS = 2, 200  # of sets that are compared: the smallest ones, the most frequent of each
MORE = 2  # dropped sites beyond the smallest set that was found
AGAIN = {"tensor": 16, "solver": 4}  # more rounds, at most
Sets = dict[int, list[tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The figures of one walk; without a ``projection``, of a kernel that was given. None: not measured."""

    name: str
    kernel: Kernel
    projection: RandomDrop | RandomBlock | None = None
    fibres: Fibres | None = None
    components: tuple[Components, ...] = ()
    led: Led | None = None
    change: bool = False  # whether a step also changes one of the sites kept
    swaps: bool = False  # whether a step also swaps two symbols

    @property
    def connected(self) -> float | None:
        """Share of pairs of solutions, over the answers looked at, that are connected; None where not counted."""
        return sum(c.reach for c in self.components) / len(self.components) if self.components else None

    @property
    def satisfactory(self) -> bool:
        """Whether the walk gets from solution to solution."""
        connected = 1.0 if self.connected is None else self.connected
        return self.led is not None and min(self.led.arrived, connected) >= SATISFACTORY

    @property
    def usable(self) -> bool:
        """Whether chains can walk with it."""
        if self.projection is None:
            return self.led is not None
        return self.fibres is not None and self.fibres.complete == 1

    def rank(self) -> tuple[float, ...]:
        """What the rule sorts by, the best first."""
        led = self.led or Led(0, 0.0, None, 0.0, 0)
        if self.satisfactory:
            dropped = self.projection.size if self.projection else math.inf
            return (not self.usable, False, dropped, led.steps or 0)
        close = 0.0 if self.projection else CLOSE
        movement = self.fibres.movement if self.fibres else 0.0
        return (not self.usable, True, -led.arrived, -led.agreement - close, -(self.connected or 0.0), -movement)


def ranking(task: Task, sample: Sample, kernels: Mapping[str, Kernel], limit: TimeLimit, seed: int) -> list[Ranked]:
    """All walks that time allows to measure, the best first; none for reals, whose kernels need no projection."""
    if not task.space.categorical:
        return []
    shares: list[TimeLimit] = []

    def share(part: float) -> TimeLimit:
        shares.append(limit.part(part))
        return shares[-1]

    walks = [Ranked(name, kernel) for name, kernel in kernels.items() if not kernel.independent]
    for name, projection, change in families(task, sample, share(0.3), seed):
        if not limit.left():
            break
        kernel = collapsed(task, projection, change)
        pieces = joined(task, sample, projection.sets, change)
        walks.append(Ranked(name, kernel, projection, fibres(kernel, sample, seed, limit), pieces, change=change))
    for turn, walk in enumerate(walks):
        if (walk.usable or not walk.projection) and limit.left():
            walks[turn] = replace(walk, led=led(task, walk.kernel, sample, share(1 / (len(walks) - turn)), seed))
    if not any(walk.satisfactory for walk in walks):
        walks += resolved(task, sample, share(0.8), seed)
        walks += swapped(task, sample, min(walks, key=Ranked.rank), share(1.0), seed) if walks else []
    limit.reached = limit.reached or any(part.reached for part in shares)
    return sorted(walks, key=Ranked.rank)


def resolved(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> list[Ranked]:
    """Random blocks re-solved, larger and larger, until chains arrive or completions are too many to be listed."""
    found: list[Ranked] = []
    for size in RESOLVED if task.inverse.cost == "solver" and task.space.width > 1 else ():
        if size >= task.space.sites or not limit.left() or any(walk.satisfactory for walk in found):
            break
        projection = RandomBlock(task.space, size)
        kernel = collapsed(task, projection, change=False)
        walk = Ranked(f"{size} sites re-solved", kernel, projection, fibres(kernel, sample, seed, limit))
        if not walk.usable:
            break
        found.append(replace(walk, led=led(task, kernel, sample, limit, seed)))
    return found


def swapped(task: Task, sample: Sample, best: Ranked, limit: TimeLimit, seed: int) -> list[Ranked]:
    """The best walk with swaps of symbols added to its steps, where some swap of some solution is one too."""
    alike = len(set(task.space.alphabets)) == 1 and task.space.width > 1
    if not best.usable or best.projection is None or not alike or not limit.left():
        return []
    z, y = sample.rows(SWAPS, seed)
    other = SwapSymbols(task.space).propose(Sampler(seed), z, torch.ones_like(z, dtype=torch.bool))
    if not bool((task.feasible(other, y) & (other != z).any(-1)).any()):
        return []
    kernel = swapping(task, best.kernel)
    found = replace(best, name=f"{best.name}, symbols swapped", kernel=kernel, components=(), swaps=True)
    return [replace(found, led=led(task, kernel, sample, limit, seed))]


def swapping(task: Task, kernel: Kernel) -> Kernel:
    """The kernel after a swap of two symbols, which is taken or not by Metropolis' rule."""
    return Composed([DirectWalk(SwapSymbols(task.space), task.constraint), kernel])


def led(task: Task, kernel: Kernel, sample: Sample, limit: TimeLimit, seed: int) -> Led | None:
    """Chains led for as many steps as an inverse's cost allows."""
    return lead(task.space, kernel, sample, limit, seed, SOLVED_STEPS if task.inverse.cost == "solver" else None)


def collapsed(task: Task, projection: RandomDrop | RandomBlock, change: bool) -> Collapsed:
    """The walk on a family; with ``change`` a step also changes one of the sites kept."""
    return Collapsed(task.inverse, projection, ChangeOne(task.space) if change else Stay(), marginals=True)


def joined(task: Task, sample: Sample, sets: Sequence[Sequence[int]], change: bool) -> tuple[Components, ...]:
    """Components of the first answers that are listed; with no set but (), those that projections are to join."""
    listed = [f for f in sample.found if f.whole and 1 < len(f.z) <= MOST_SOLUTIONS][:ANSWERS]
    found = [components(task.space, f, sets, change) for f in listed]
    return tuple(c for c in found if c is not None) if None not in found else ()


def families(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> list[tuple[str, RandomDrop, bool]]:
    """The projections that are compared, and whether a step also changes one of the sites kept."""
    space, sites = task.space, task.space.sites
    if sites < 2 or space.width < 2:
        return []
    found = differences(task, sample, limit, seed)
    fewest = min(found, default=1)  # where no solutions differ in fewer sites, fewer free ones lead nowhere
    small = [d for d in (1, 2, 3) if fewest - 1 <= d < sites and math.comb(sites, d) <= MOST_SETS]
    result = [(f"any {d}", RandomDrop(space, d), True) for d in small]
    if sites > MOST_SITES and sites * space.width <= MOST_SYMBOLS and task.inverse.cost == "tensor" and limit.left():
        first = sample.found[0]
        shared = information(space, first.z if first.whole else begun(task.inverse, first.y, SEEN, seed, limit))
        large = [d for d in sorted({4, 8, 16, sites // 3}) if 3 < d < sites]
        result += [(f"blocks of {d}", RandomDrop(space, correlated(shared, d)), False) for d in large]
    for d, sets in found.items():
        if d > 1 and 4 * len(sets) <= math.comb(sites, d):  # few enough to be worth telling apart
            result.append((f"what {d} sites change together", RandomDrop(space, sets), False))
    return result


def correlated(shared: Tensor, size: int) -> list[tuple[int, ...]]:
    """Blocks of ``size`` sites that share much information (``shared``), each begun at another site."""
    blocks = set()
    for first in set(torch.linspace(0, len(shared) - 1, BLOCKS).long().tolist()):
        block = [first]
        while len(block) < size:
            gain = shared[block].sum(0)
            gain[block] = -1.0
            block.append(int(gain.argmax()))
        blocks.add(tuple(sorted(block)))
    return sorted(blocks)


def information(space: Categorical, z: Tensor) -> Tensor:
    r"""Mutual information :math:`\sum p(s, t) \log \frac{p(s, t)}{p(s) p(t)}` of each pair of sites on the states z."""
    n, width = space.sites, space.width
    hot = torch.nn.functional.one_hot(z, width).double().flatten(1)
    joint = (hot.T @ hot / len(z)).view(n, width, n, width).transpose(1, 2)
    alone = hot.mean(0).view(n, width)
    apart = alone[:, None, :, None] * alone[None, :, None, :]
    ratio = torch.where(joint > 0, joint / apart.clamp(min=1e-300), 1.0)
    return (joint * ratio.log()).sum((2, 3))


@dataclass(frozen=True)
class Fibres:
    """Figures of a projection's fibres over the sample."""

    mean: float
    largest: int
    complete: float  # share of fibres known to be whole; exact kernels can use no others
    movement: float


def fibres(walk: Collapsed, sample: Sample, seed: int, limit: TimeLimit | None = None) -> Fibres | None:
    """The figures, of as many rows as there is time for.

    None where there are too many completions, or more sites than the inverse can complete.
    """
    z, y = sample.rows(FIBRES[walk.inverse.cost], seed)
    dice = Sampler(seed)
    dropped = walk.projection.draw(dice, len(z), z.device)
    proposal = walk.move.propose(dice, z, dropped.kept(z.shape[1]))
    counts: list[Tensor] = []
    complete: list[Tensor] = []
    moved: list[Tensor] = []
    try:
        if int(walk.inverse.fibre(z[:1], y[:1], dropped.rows(slice(1))).count.max()) > MOST_COMPLETIONS:
            return None
        for rows in (limit or TimeLimit()).batches(len(z), TOGETHER):
            here, there = (walk.inverse.fibre(u[rows], y[rows], dropped.rows(rows)) for u in (z, proposal))
            counts.append(here.count.double())
            complete.append(here.complete.double())
            moved.append((there.count > 0) & ((proposal != z)[rows].any(-1) | (there.count > 1)))
    except SoftgroundError:
        return None
    count, whole = torch.cat(counts), float(torch.cat(complete).mean())
    return Fibres(float(count.mean()), int(count.max()), whole, float(torch.cat(moved).double().mean()))


@dataclass(frozen=True)
class Components:
    """How one answer's solutions hang together."""

    solutions: int
    count: int
    reach: float  # probability that of two random solutions one can be reached from the other
    alone: int  # solutions that no step leaves


def components(space: Categorical, found: Found, sets: Sequence[Sequence[int]], change: bool) -> Components | None:
    """Components of S_y under steps that drop one of ``sets`` and, with ``change``, change one other site.

    None where there are too many solutions or sets to compare.
    """
    n, free = len(found.z), {frozenset(d) for d in sets}
    if change:
        free = {d | {k} for d in free for k in range(space.sites) if k not in d}
    if not found.whole or n > MOST_SOLUTIONS or n * len(free) > MOST_ENTRIES:
        return None
    classes = []  # of the solutions, by the symbols outside each set
    for sites in sorted(map(sorted, free)):
        rest = found.z.clone()
        rest[:, sites] = 0
        keys, dim = (space.index(rest), None) if space.indexable else (rest, 0)
        classes.append(torch.unique(keys, return_inverse=True, dim=dim)[1])
    # Each solution takes the least number of its class, class after class, until all that are joined have one number.
    label, before = torch.arange(n), None
    while before is None or not torch.equal(label, before):
        before = label
        for of in classes:
            label = torch.full_like(label, n).scatter_reduce_(0, of, label, "amin")[of]
        label = label[label]  # what the solution of that number has found itself
    counts = torch.bincount(label)
    sizes = counts[counts > 0].double()
    return Components(n, len(sizes), float((sizes / n).square().sum()), int((sizes == 1).sum()))


@dataclass(frozen=True)
class Led:
    """How many chains arrived, after how many steps, and how much of the target the others had."""

    pairs: int
    arrived: float
    steps: float | None  # mean over those that arrived, of ``allowed``
    agreement: float  # share of sites that are the target's in the end
    allowed: int  # steps that a chain was given

    def __str__(self) -> str:
        end = f", after {self.steps:.0f} steps on average" if self.steps is not None else f" in {self.allowed} steps"
        rest = "" if self.arrived == 1 else f"; in the end {self.agreement:.0%} of the sites were the target's"
        return f"{self.arrived:.0%} of the test chains reached their target solution{end}{rest}"


def lead(
    space: Categorical, kernel: Kernel, sample: Sample, limit: TimeLimit, seed: int, steps: int | None = None
) -> Led | None:
    """Lead chains from solution to solution; None where no answer has two, or the kernel cannot be used."""
    pairs = sample.pairs(PAIRS if any(f.whole for f in sample.found) else PAIRS_UNLISTED)
    if pairs is None:
        return None
    z, goal, y = pairs
    scores = torch.where(torch.arange(space.width) == goal[..., None], 0.0, -PULL).double()
    scores = scores.masked_fill(~space.layout(z.device).allowed, -torch.inf)
    target = Target.at(CategoricalBelief(space, scores.log_softmax(-1)), y, 1.0)
    dice, taken = Sampler(seed), 0
    arrived = torch.zeros(len(z), dtype=torch.long)
    while taken < (steps or STEPS) and not bool(arrived.all()) and (taken == 0 or limit.left()):
        try:
            z, _ = kernel.step(dice, z, target)
        except SoftgroundError:
            return None
        taken += 1
        arrived = torch.where((arrived == 0) & (z == goal).all(-1), taken, arrived)
    home = arrived[arrived > 0].double()
    mean = float(home.mean()) if len(home) else None
    return Led(len(z), len(home) / len(z), mean, float((z == goal).double().mean()), taken)


def differences(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> Sets:
    """Sets of sites by their size, the smallest sizes that were found.

    Once some were found, as many sites and two more are dropped again and again, until that finds nothing new.
    """
    sites, chance, seen = task.space.sites, torch.Generator().manual_seed(seed), Counter[tuple[int, ...]]()
    sizes = [d for d in DROPPED if d < sites]
    each = 0.0  # seconds that a combination of the dropped sites took in the last round, where they are tried
    for turn in range(len(sizes) + AGAIN[task.inverse.cost] if sizes else 0):
        enough = sizes[-1] if not seen else min(sizes[-1], min(map(len, seen)) + MORE)
        size, before = min(sizes[min(turn, len(sizes) - 1)], enough), smallest(seen)
        many = task.space.combinations(size)
        if turn and not limit.room(each * many):
            break
        began = limit.clock()
        try:
            seen += neighbours(task, sample, size, seed + turn, chance, limit)
        except SoftgroundError:  # more sites than the inverse can complete
            break
        each = (limit.clock() - began) / many if task.inverse.cost == "tensor" else 0.0
        if before and size == enough and before == smallest(seen):
            break
    return smallest(seen)


def neighbours(
    task: Task, sample: Sample, size: int, seed: int, chance: torch.Generator, limit: TimeLimit
) -> Counter[tuple[int, ...]]:
    """Where completions of some solutions, with ``size`` random sites dropped from each, differ from them."""
    z, y = sample.rows(ROWS[task.inverse.cost], seed)
    dropped = Dropped(torch.rand(z.shape, generator=chance).argsort(1)[:, :size].sort(1).values)
    seen = Counter[tuple[int, ...]]()
    for rows in limit.batches(len(z)):
        fibre, sites = task.inverse.fibre(z[rows], y[rows], dropped.rows(rows)), dropped.sites[rows]
        row, option = fibre.mask.nonzero(as_tuple=True)
        changed = torch.zeros(len(row), z.shape[1], dtype=torch.bool)
        changed.scatter_(1, sites[row], fibre.values[row, option] != z[rows][row].gather(1, sites[row]))
        sets, count = torch.unique(changed, dim=0, return_counts=True)
        found = zip(sets, count.tolist(), strict=True)
        seen += Counter({tuple(one.nonzero().flatten().tolist()): often for one, often in found if bool(one.any())})
    return seen


def smallest(seen: Counter[tuple[int, ...]]) -> Sets:
    """The sets that hold no other one, of the smallest sizes.

    >>> smallest(Counter({(0, 1): 5, (2, 3): 9, (0, 1, 2): 7, (1, 2, 4): 1, (3, 4, 5, 6): 1}))
    {2: [(0, 1), (2, 3)], 3: [(1, 2, 4)]}
    """
    kept: list[frozenset[int]] = []
    sizes = sorted({len(one) for one in seen})
    found: Sets = {}
    for size in sizes:
        own = [one for one, _ in seen.most_common() if len(one) == size and not any(k <= set(one) for k in kept)]
        if own and len(found) < SIZES:
            found[size] = sorted(own[:SETS])
            kept += map(frozenset, own)
    return found
