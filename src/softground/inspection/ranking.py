r"""Walks side by side, in the order of a stated rule: on families of projections, and by the kernels given.

A family drops one of its sets at every step, and joins whatever one of them joins. Those of one, two and three sites
are compared and, where the space is large, blocks of many sites. These follow the paper's guideline, "to drop variables
that are highly correlated to others": a block grows by the site that shares most information with it, as measured on
the solutions seen. They matter where small sets have no freedom left, such as the cells of a Sudoku. Last come sets of
sites in which neighbouring solutions differ (:mod:`.differences`), such as the corners of rectangles in a grid of sums.

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
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..dice import Sampler
from ..kernels import Collapsed, Composed, DirectWalk, Kernel
from ..projections import ChangeOne, RandomBlock, RandomDrop, Stay, SwapSymbols
from ..spaces.categorical import Categorical
from ..task import Task
from .connectivity import MOST_SOLUTIONS, SOLVED_STEPS, Components, Fibres, Led, components, fibres, lead
from .differences import differences
from .solutions import Sample, begun
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
MOST_ENTRIES = 4_096  # sites times symbols, up to which information is measured: every pair of them is compared
BLOCKS = 12  # of each size
SEEN = 1_024  # solutions that information is measured on
RESOLVED = (4, 6, 8, 10, 12, 16, 24, 32)  # sites of a random block that a solver re-solves
SWAPS = 64  # of symbols, tried on solutions


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
    if sites > MOST_SITES and sites * space.width <= MOST_ENTRIES and task.inverse.cost == "tensor" and limit.left():
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
