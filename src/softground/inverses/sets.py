r"""S_y as a set that reduces, and Q* on it: mass, marginals, entropy, mode and draws.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad Q^*_i(s) = \sum_{z:\, z_i = s} Q^*(z),
          \qquad w(z) = P(z|x)^{1/\gamma} = \exp \sum_i \theta_i(z_i) .

A set has one operation, :math:`\log \sum_{z \in S_y} w(z)`, computed by sums over some of the terms at a time. All else
is a slope of that number: with respect to θ_i(s) it is Q*_i(s). Where every sum on the way gives its slope to its best
term instead of dealing it out, what arrives at the sites is the mode; where to one drawn by its share, a draw.

**Complements** subtract nothing, since of 1 − M no digits may be left. A list's complement is a list of *cubes*: beside
the prefix tree of the listed states, each prefix that no listed state has, with all ends. A site of which a cube says
nothing has one symbol more, *any*, whose weight is the sum over the site's symbols. The cubes share no state; that of
no prefix at all is the whole space, the S_y of an unknown answer. A scan inverts what it accepts instead, and a circuit
is that of the negated formula.

References: J. Goodman, Semiring parsing, CL 25 (1999); J. Eisner, Inside-outside and forward-backward algorithms are
just backprop (2016).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from operator import add
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..constraints.answers import EVERYTHING, NOTHING
from ..constraints.base import outside_inference
from ..constraints.scan.messages import LOG_ZERO
from ..dice import Dice
from ..errors import InfeasibleAnswer, InverseError
from ..spaces.categorical import Categorical, CategoricalBelief

PART_ROWS = 512  # examples whose lists are worked on together: those of length-7 formulas stay in a CPU's cache
PART_STATES = 2**22  # of lists that are worked on together
CUBES_KEPT = 2**22  # of complements
# Largest table of partial scores per example when log P is looked up by state index. 2,048 float32 numbers
# stay in a CPU's first-level cache; the exact figure changes nothing but speed.
BLOCK_LIMIT = 2048

How = Literal["sum", "best"] | Dice


def reduced(x: Tensor, how: How) -> Tensor:
    """log Σ exp over the last dimension.

    With slopes to one term alone it is the best one, or log Σ exp and the slope of one that is drawn by its share.
    """
    if how == "sum":
        return x.logsumexp(-1)
    way = x.argmax(-1) if isinstance(how, str) else how.categorical(x.detach().flatten(0, -2)).view(x.shape[:-1])
    return _to_one(x.gather(-1, way[..., None]).squeeze(-1), x.detach().logsumexp(-1), how)


def reduced_rows(x: Tensor, owner: Tensor, offsets: Tensor, how: How) -> Tensor:
    """:func:`reduced` for rows of different lengths, one after the other; a row of none has log 0."""
    peak = x.new_full((len(offsets) - 1,), -torch.inf).scatter_reduce(0, owner, x.detach(), "amax")
    total = peak + torch.zeros_like(peak).index_add(0, owner, (x - peak.index_select(0, owner)).exp()).log()
    return total if how == "sum" else _to_one(x[chosen_rows(x, owner, offsets, how)], total.detach(), how)


def chosen_rows(x: Tensor, owner: Tensor, offsets: Tensor, to: Literal["best"] | Dice) -> Tensor:
    """Of each row the place of its best entry, the first of several, or of one that is drawn."""
    x, peak = x.detach(), x.new_full((len(offsets) - 1,), -torch.inf).scatter_reduce(0, owner, x.detach(), "amax")
    if not isinstance(to, str):
        weight = (x - peak.index_select(0, owner)).exp_()
        return to.segment(weight / torch.zeros_like(peak).index_add_(0, owner, weight).index_select(0, owner), offsets)
    place = torch.arange(len(x), device=x.device).masked_fill(x < peak.index_select(0, owner), len(x))
    return torch.full_like(offsets[1:], len(x)).scatter_reduce(0, owner, place, "amin")


def _to_one(taken: Tensor, total: Tensor, how: How) -> Tensor:
    """What was taken, or all there is with the slope of what was taken."""
    return taken if how == "best" else total + (taken - taken.detach())


def only_where(chooses: Tensor, log_weights: Tensor) -> Tensor:
    """Rows of log-weights, which leave the first option alone where there is nothing to choose."""
    others = torch.arange(log_weights.shape[-1], device=chooses.device) > 0
    return torch.where(chooses[..., None], log_weights, torch.zeros_like(log_weights).masked_fill(others, -torch.inf))


def ragged(count: Tensor) -> tuple[Tensor, Tensor]:
    """The owner of each entry, and where each row begins, for rows with ``count`` entries."""
    owner = torch.arange(len(count), device=count.device).repeat_interleave(count)
    return owner, torch.nn.functional.pad(count.cumsum(0), (1, 0))


def entries(first: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of a list that rows begin at and hold so many of, and :func:`ragged`."""
    owner, offsets = ragged(count)
    return torch.arange(len(owner), device=owner.device) + (first - offsets[:-1])[owner], owner, offsets


@dataclass(frozen=True, eq=False)
class Set(ABC):
    """S_y of every example of a batch. A kind has to say how it reduces; the rest follows from that."""

    which: Tensor  # [rows, …] which S_y each example has

    @abstractmethod
    def reduce(self, scores: Tensor, how: How) -> Tensor:
        """log Σ w(z) over S_y by finite ``scores[rows, sites, K]``: ``[rows]``, in their precision or double."""

    def rows(self, index: Tensor | slice) -> Self:
        """Those of some of the examples."""
        return replace(self, which=self.which[index])

    def together(self) -> int:
        """How many examples are worked on together; all at once unless they need room."""
        return max(1, len(self.which))

    @property
    def filled(self) -> bool:
        """Whether each S_y is known to have a state, so that no device has to be asked."""
        return False

    def empty(self, scores: Tensor) -> Tensor:
        """Which S_y have no state: ``[rows]``."""
        return self.reduce(scores, "sum") < LOG_ZERO / 2

    def marginals(self, scores: Tensor) -> Tensor:
        """Q*'s marginals, without a tape."""
        return self.slopes(scores, "sum")

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """The mode, the smallest of several, or a draw: ``[rows, sites]``."""
        return self.slopes(scores, to).argmax(-1)

    def choose_with_marginals(self, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        """A draw and the marginals, which may share their work."""
        return self.choose(scores, dice), self.marginals(scores)

    def slopes(self, scores: Tensor, how: How) -> Tensor:
        """The slopes of what the set reduces to, with respect to the scores: ``[rows, sites, K]``."""
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            return torch.autograd.grad(self.reduce(leaf, how).sum(), leaf)[0]


Sets = Set | Sequence[tuple[Tensor, Set]]  # of a whole batch, or of some of its rows each


class Law:
    """Q* of a batch on a set, or on several by the rows that each has.

    Where an S_y is empty, all but :meth:`log_mass` raise InfeasibleAnswer with the batch's rows.
    """

    weights: Any  # of symbols; a law of other things has its own

    def __init__(self, of: Sets, weights: CategoricalBelief) -> None:
        self.weights = weights
        self.of = [(None, of)] if isinstance(of, Set) else of
        self.scores = weights.scores.clamp(min=LOG_ZERO)

    def log_mass(self) -> Tensor:
        """log Σ w(z) over S_y, differentiable in the weights; −∞ for an empty S_y: ``[batch]``."""
        mass = self._each(lambda of, scores: (of.reduce(scores, "sum"),))[0]
        return mass.masked_fill(mass < LOG_ZERO / 2, -torch.inf)

    def marginals(self) -> Tensor:
        """Q*'s marginals, the gradient of :meth:`log_mass`, differentiable as well: ``[batch, sites, K]``."""
        self._refuse_empty()
        if not (torch.is_grad_enabled() and self.weights.scores.requires_grad):
            return self._each(lambda of, scores: (of.marginals(scores),))[0].to(self.scores.dtype).contiguous()
        total = self._each(lambda of, scores: (of.reduce(scores, "sum"),))[0].sum()
        return torch.autograd.grad(total, self.scores, create_graph=True)[0]

    @torch.no_grad()
    def mode(self) -> Tensor:
        """The likeliest z ∈ S_y of each example; ties go to the smallest state: ``[batch, sites]``."""
        self._refuse_empty()
        return self._each(lambda of, scores: (of.choose(scores, "best"),))[0]

    @torch.no_grad()
    def draw(self, dice: Dice) -> Tensor:
        """One independent draw per example: ``[batch, sites]``."""
        self._refuse_empty()
        return self._each(lambda of, scores: (of.choose(scores, dice),))[0]

    def draw_with_marginals(self, dice: Dice) -> tuple[Tensor, Tensor]:
        """:meth:`draw` and :meth:`marginals`, which may share their work."""
        if torch.is_grad_enabled() and self.weights.scores.requires_grad:
            return self.draw(dice), self.marginals()
        self._refuse_empty()
        drawn, marginals = self._each(lambda of, scores: of.choose_with_marginals(scores, dice))
        return drawn, marginals.to(self.scores.dtype).contiguous()

    def entropy(self) -> Tensor:
        r"""H[Q*] in nats, ``[batch]``, differentiable in the weights.

        log w is a sum over sites, so that the marginals tell all that is needed, and S_y need not be listed:
        :math:`H = \log \sum_{z \in S_y} w(z) - \sum_i \sum_s Q^*_i(s) \log w_i(s)`.
        """
        if not isinstance(self.weights, CategoricalBelief):
            raise InverseError(f"{type(self).__name__} is no law of symbols; entropies are those of symbols.")
        mass = self.log_mass()
        return mass - self.weights.marginal_log_prob(self.marginals()).to(mass.dtype)

    def _each(self, ask: Callable[[Set, Tensor], tuple[Tensor, ...]]) -> list[Tensor]:
        """What is asked of every set, part after part of the batch, in the order of the batch."""
        scores, found = self.scores, list[tuple[Tensor, ...]]()
        if torch.is_inference_mode_enabled():  # in which there are no slopes
            with outside_inference():
                trainable = copy(self)
                trainable.scores = scores.clone()
                return trainable._each(ask)
        for rows, of in self.of:
            own, most = scores if rows is None else scores[rows], of.together()
            if most >= len(own):
                found.append(ask(of, own))
                continue
            parts = [slice(first, first + most) for first in range(0, len(own), most)]
            found += [ask(of.rows(part), own[part]) for part in parts]
        if len(found) == 1:
            return list(found[0])
        joined = [torch.cat(column) for column in zip(*found, strict=True)]
        if len(self.of) == 1:
            return joined
        order = torch.cat([rows for rows, _ in self.of if rows is not None]).argsort()
        return [column[order] for column in joined]

    def _refuse_empty(self) -> None:
        with torch.no_grad():
            for rows, of in self.of:
                if of.filled:
                    continue
                own = self.scores if rows is None else self.scores[rows]
                empty = of.empty(own)
                if bool(empty.any()):
                    refuse_empty(self._each(lambda of, scores: (of.empty(scores),))[0])


def refuse_empty(empty: Tensor) -> None:
    """Raise where some S_y is empty."""
    if bool(empty.any()):
        rows = tuple(empty.nonzero().flatten().tolist())
        raise InfeasibleAnswer(
            f"S_y is empty for row(s) {list(rows)} of this batch: correct their answers.", examples=rows
        )


@dataclass(frozen=True, eq=False)
class Solutions:
    """All of S_y for a batch of answers, as ragged rows of state indices.

    Example b owns ``index[offsets[b] : offsets[b + 1]]``; ``owner`` repeats b over its row.
    """

    index: Tensor
    owner: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, rows: Sequence[Tensor], device: torch.device) -> Solutions:
        """One tensor of state indices per example."""
        count = torch.tensor([len(row) for row in rows], dtype=torch.long, device=device)
        flat = torch.cat([torch.zeros(0, dtype=torch.long, device=device), *(row.to(device) for row in rows)])
        return cls(flat, *ragged(count))

    @property
    def count(self) -> Tensor:
        """|S_y| per example."""
        return self.offsets.diff()


@dataclass(frozen=True, eq=False)
class Listed(Set):
    """States of a list, of which each example owns ``which = (first, count)``.

    The list is ``codes[runs, all]``, those of states, or of ``cubes``, in runs of sites (:func:`codes_of`). By default
    the rows are *ragged*, one after the other: the least work, but their lengths must be asked of the device first.
    With the ``longest`` they are padded to it: more work, but nothing is asked. Then each S_y must have a state, and
    the list as many more entries at the end.
    """

    codes: Tensor
    sizes: tuple[int, ...]
    cubes: bool = False
    longest: int = 0

    @property
    def filled(self) -> bool:
        return self.longest > 0

    def empty(self, scores: Tensor) -> Tensor:
        return self.which[:, 1] == 0

    def together(self) -> int:
        if self.longest or len(self.which) < 2:
            return super().together()
        return max(1, min(PART_ROWS, PART_STATES // max(1, int(self.which[:, 1].max()))))

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        return self._looked_up(scores, how).reduced(how)

    def marginals(self, scores: Tensor) -> Tensor:
        """In four fifths of the time."""
        return self._dealt(self._looked_up(scores), scores)

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """In half the time."""
        return self._taken(self._looked_up(scores, to if isinstance(to, str) else "sum"), scores, to)

    def choose_with_marginals(self, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        found = self._looked_up(scores)
        return self._taken(found, scores, dice), self._dealt(found, scores)

    def _looked_up(self, scores: Tensor, how: How = "sum") -> _Found:
        """The log-weights of all that each example owns, and where they were found."""
        each = [scores[:, site, :size] for site, size in enumerate(self.sizes)]
        if self.cubes:  # a site's last symbol is any
            own = reduced(scores, how)
            each = [torch.cat([symbols, own[:, site, None]], 1) for site, symbols in enumerate(each)]
        (first, count), joint = self.which.unbind(1), joint_scores(each, self._sizes)
        if self.longest:
            beyond = torch.arange(self.longest, device=count.device) >= count[:, None]
            places = [code.unfold(0, self.longest, 1)[first].long() for code in self.codes]
            x = sum_of([own.gather(1, place) for own, place in zip(joint, places, strict=True)])
            return _Found(x.masked_fill(beyond, -torch.inf), places, joint, first, None)
        entry, owner, offsets = entries(first, count)
        places = [owner * own.shape[1] + code[entry] for own, code in zip(joint, self.codes, strict=True)]
        x = sum_of([own.flatten().index_select(0, place) for own, place in zip(joint, places, strict=True)])
        return _Found(x, places, joint, entry, (owner, offsets))

    def _dealt(self, found: _Found, scores: Tensor) -> Tensor:
        """Shares added up by run, then summed down to its sites by one product; those of any go by the site's own."""
        parts, share, width = [], found.shares(), scores.shape[2] + self.cubes
        for own, place, run in zip(found.joint, found.places, alphabets(self._sizes), strict=True):
            if found.rows is None:
                table = share.new_zeros(own.shape).scatter_add_(1, place, share)
            else:
                table = share.new_zeros(own.numel()).index_add_(0, place, share).view_as(own)
            parts.append((table @ _ways(run, width, share.dtype, share.device)).view(len(own), len(run), width))
        dealt = torch.cat(parts[::-1], 1)
        if not self.cubes:
            return dealt
        free = one_hot(torch.tensor(self.sizes, device=dealt.device), width).to(dealt.dtype)
        return (dealt * (1 - free))[..., :-1] + (dealt * free).sum(-1, keepdim=True) * scores.softmax(-1)

    def _taken(self, found: _Found, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """The states chosen; sites of which a cube says nothing choose on their own."""
        entry, parts = found.chosen(to), []
        for code, run in zip(self.codes, alphabets(self._sizes), strict=True):
            parts.append(_symbols(run, entry.device)[code[entry].long()])
        z = torch.cat(parts[::-1], 1)
        if not self.cubes:
            return z
        free = z == torch.tensor(self.sizes, device=z.device)
        own = scores.argmax(-1) if isinstance(to, str) else to.categorical(only_where(free, scores).flatten(0, 1))
        return torch.where(free, own.view_as(z), z)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of the sites' alphabets, any among them in a list of cubes."""
        return tuple([size + 1 for size in self.sizes]) if self.cubes else self.sizes


class _Found(NamedTuple):
    """Log-weights ``x``, their places in ``joint`` scores, and their entries in the list, or those of padded rows."""

    x: Tensor
    places: list[Tensor]
    joint: list[Tensor]
    entry: Tensor
    rows: tuple[Tensor, Tensor] | None  # ragged ones: their owners, and where each begins

    def reduced(self, how: How) -> Tensor:
        return reduced(self.x, how) if self.rows is None else reduced_rows(self.x, *self.rows, how)

    def shares(self) -> Tensor:
        if self.rows is None:
            return self.x.softmax(-1)
        return (self.x - reduced_rows(self.x, *self.rows, "sum").index_select(0, self.rows[0])).exp_()

    def chosen(self, to: Literal["best"] | Dice) -> Tensor:
        """The list's entries."""
        if self.rows is not None:
            return self.entry[chosen_rows(self.x, *self.rows, to)]
        return self.entry + (self.x.argmax(-1) if isinstance(to, str) else to.categorical(self.x))


@lru_cache(maxsize=64)
def _ways(sizes: tuple[int, ...], width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Which symbols the codes of a run of sites stand for, ``[codes, sites · K]`` of 0 and 1."""
    return one_hot(_symbols(sizes, device), width).flatten(1).to(dtype)


@lru_cache(maxsize=64)
def _symbols(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """The symbols of every code of a run of sites, ``[codes, sites]``."""
    return torch.cartesian_prod(*map(torch.arange, sizes)).view(-1, len(sizes)).to(device)


sum_of = partial(reduce, add)


def joint_scores(each: Sequence[Tensor], sizes: tuple[int, ...]) -> list[Tensor]:
    """Scores of sites, ``[rows, size]`` each, as those of runs of neighbouring sites together, the last run first.

    A state then takes one look-up per run: for length-7 formulas two (of 324 and 1,296 entries) instead of seven.
    """
    found = []
    for sites in runs(sizes):
        joint = each[sites[-1]]
        for site in reversed(sites[:-1]):
            joint = (each[site][:, :, None] + joint[:, None, :]).flatten(1)
        found.append(joint)
    return found


def runs(sizes: tuple[int, ...]) -> list[range]:
    """The runs of neighbouring sites whose joint tables are no larger than they may be, the last one first."""
    return _runs(sizes, BLOCK_LIMIT)


@lru_cache(maxsize=256)
def _runs(sizes: tuple[int, ...], limit: int) -> list[range]:
    found, stop = list[range](), len(sizes)
    while stop:
        start, entries = stop - 1, sizes[stop - 1]
        while start and entries * sizes[start - 1] <= limit:
            start -= 1
            entries *= sizes[start]
        found.append(range(start, stop))
        stop = start
    return found


def alphabets(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The sizes of the sites' alphabets, run by run."""
    return _alphabets(sizes, BLOCK_LIMIT)


@lru_cache(maxsize=256)
def _alphabets(sizes: tuple[int, ...], limit: int) -> list[tuple[int, ...]]:
    return [sizes[run.start : run.stop] for run in _runs(sizes, limit)]


def codes_of(index: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """States by their indices as codes in runs of sites, ``[runs, states]``, as small as they are."""
    found, small = list[Tensor](), _small(sizes)
    for run in runs(sizes):
        count = math.prod(sizes[site] for site in run)
        found.append((index % count).to(small))
        index = index // count
    return torch.stack(found)


def index_of(codes: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Undoes :func:`codes_of`."""
    index = torch.zeros_like(codes[0], dtype=torch.long)
    for code, sites in zip(codes.flip(0), reversed(runs(sizes)), strict=True):
        index = index * math.prod(sizes[site] for site in sites) + code
    return index


def _small(sizes: tuple[int, ...]) -> torch.dtype:
    return torch.int16 if max(BLOCK_LIMIT, *sizes) < 2**15 else torch.long


@dataclass(frozen=True, eq=False)
class Shared(Set):
    """One list for all examples, as one-hot ``codes[states, sites · K]``: its log-weights are one product."""

    codes: Tensor
    filled = True

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        return reduced(scores.flatten(1) @ self.codes.to(scores.dtype).T, how)

    def slopes(self, scores: Tensor, how: How) -> Tensor:
        """By the same codes, without a tape, in half the time."""
        codes = self.codes.to(scores.dtype)
        x = scores.flatten(1) @ codes.T
        if how == "sum":
            return (x.softmax(-1) @ codes).view_as(scores)
        return codes[x.argmax(-1) if isinstance(how, str) else how.categorical(x)].view_as(scores)


Stated = tuple[Tensor, bool]  # sorted indices of states, and whether S_y is these or all others


def cubes(y: Tensor, space: Categorical, stated: Callable[[Tensor], Stated], kept: dict[Any, Tensor]) -> Listed:
    """S_y as cubes for every answer, some of which are ``kept``; what ``stated`` says is not asked of unknown ones."""
    codes, place = torch.unique(y, return_inverse=True)
    found = []
    for number, code in enumerate(codes.tolist()):
        key = code, y.device
        if key not in kept:
            nothing = code in (EVERYTHING, NOTHING)  # is excluded, or holds
            index, inside = (y[:0], code == NOTHING) if nothing else stated(codes[number, None])
            own = cubes_of(index, inside, space)
            if sum(len(each[0]) for each in kept.values()) + len(own[0]) > CUBES_KEPT:
                kept.clear()
            kept[key] = own
        found.append(kept[key])
    count = torch.tensor([len(own[0]) for own in found], dtype=torch.long, device=y.device)
    which = torch.stack([count.cumsum(0) - count, count], 1)[place]
    return Listed(which, torch.cat(found, 1), space.sizes, cubes=True)


def cubes_of(index: Tensor, inside: bool, space: Categorical) -> Tensor:
    """The cubes of states, or those beside them, by their codes in runs of sites: ``[runs, cubes]``, in order.

    >>> space = Categorical([range(2)] * 3)
    >>> cubes_of(space.index(torch.tensor([[0, 1, 0]])), False, space).tolist()  # 00*, 011, 1**, in base 3
    [[2, 4, 17]]
    """
    sizes, wider = space.sizes, tuple(size + 1 for size in space.sizes)
    codes, begins = list[Tensor](), list[Tensor]()
    known, stride, small = index.new_zeros(min(1, len(index))), 1 if inside else space.size, _small(wider)

    def found(prefix: Tensor, depth: int) -> None:
        rest, own = prefix, list[Tensor]()
        for run in runs(wider):
            code, radix = torch.zeros_like(prefix), 1
            for site in reversed(run):
                symbol, rest = (rest % sizes[site], rest // sizes[site]) if site < depth else (sizes[site], rest)
                code, radix = code + symbol * radix, radix * wider[site]
            own.append(code.to(small))
        codes.append(torch.stack(own))
        begins.append(prefix * stride if depth else prefix)  # a huge space has no indices, but itself

    if inside:
        found(index, len(sizes))
    elif not len(index):
        found(index.new_zeros(1), 0)
    for depth, size in enumerate(() if inside or not len(index) else sizes, 1):
        stride //= size
        children = (known[:, None] * size + torch.arange(size, device=index.device)).flatten()
        known = torch.unique_consecutive(index // stride)
        found(children[~torch.isin(children, known)], depth)
    return torch.cat(codes, 1)[:, torch.cat(begins).argsort()]


def by_rows(y: Tensor, parts: Sequence[tuple[Tensor, Callable[[Tensor], Sets]]]) -> Sets:
    """The sets of a batch by masks that divide it, made of the answers of their rows."""
    found = list[tuple[Tensor, Set]]()
    for mask, make in parts:
        if len(rows := mask.nonzero().flatten()):
            made = make(y[rows])
            found += [(rows, made)] if isinstance(made, Set) else [(rows[own], of) for own, of in made]
    return found if len(found) > 1 else found[0][1] if found else parts[0][1](y)
