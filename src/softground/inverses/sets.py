r"""S_y as a set that reduces, and Q* on it: mass, marginals, entropy, mode and draws.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad Q^*_i(s) = \sum_{z:\, z_i = s} Q^*(z),
          \qquad w(z) = P(z|x)^{1/\gamma} = \exp \sum_i \theta_i(z_i) .

A set has one operation, :math:`\log \sum_{z \in S_y} w(z)`, computed by sums over some of the terms at a time. Its
gradient gives the rest. The slope with respect to θ_i(s) is Q*_i(s). If every sum passes its slope to its best term
only, the slopes at the sites are the mode; if to a term drawn by its share, a draw.

References: J. Goodman, Semiring parsing, CL 25 (1999); J. Eisner, Inside-outside and forward-backward algorithms are
just backprop (2016).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..constraints.base import outside_inference
from ..constraints.scan.messages import LOG_ZERO
from ..dice import Dice
from ..errors import InfeasibleAnswer, InverseError
from ..spaces.categorical import CategoricalBelief
from .codes import alphabets, entries, joint_scores, symbols, ways

PART_ROWS = 512  # examples at a time: the lists of this many length-7 formulas stay in a CPU's cache
PART_STATES = 2**22  # listed states at a time

How = Literal["sum", "best"] | Dice


def reduced(x: Tensor, how: How) -> Tensor:
    """log Σ exp over the last dimension.

    With ``"best"`` it is the largest term. With dice its slope goes to one term, drawn by its share.
    """
    if how == "sum":
        return x.logsumexp(-1)
    way = x.argmax(-1) if isinstance(how, str) else how.categorical(x.detach().flatten(0, -2)).view(x.shape[:-1])
    return _to_one(x.gather(-1, way[..., None]).squeeze(-1), x.detach().logsumexp(-1), how)


def reduced_rows(x: Tensor, owner: Tensor, offsets: Tensor, how: How) -> Tensor:
    """:func:`reduced` for rows of different lengths, one after the other; an empty row has log 0."""
    peak = x.new_full((len(offsets) - 1,), -torch.inf).scatter_reduce(0, owner, x.detach(), "amax")
    total = peak + torch.zeros_like(peak).index_add(0, owner, (x - peak.index_select(0, owner)).exp()).log()
    return total if how == "sum" else _to_one(x[chosen_rows(x, owner, offsets, how)], total.detach(), how)


def chosen_rows(x: Tensor, owner: Tensor, offsets: Tensor, to: Literal["best"] | Dice) -> Tensor:
    """The place of each row's best entry (the first of several), or of one drawn by its share."""
    x, peak = x.detach(), x.new_full((len(offsets) - 1,), -torch.inf).scatter_reduce(0, owner, x.detach(), "amax")
    if not isinstance(to, str):
        weight = (x - peak.index_select(0, owner)).exp_()
        return to.segment(weight / torch.zeros_like(peak).index_add_(0, owner, weight).index_select(0, owner), offsets)
    place = torch.arange(len(x), device=x.device).masked_fill(x < peak.index_select(0, owner), len(x))
    return torch.full_like(offsets[1:], len(x)).scatter_reduce(0, owner, place, "amin")


def _to_one(taken: Tensor, total: Tensor, how: How) -> Tensor:
    """The best term; or, for a draw, the total with the slope of the drawn term."""
    return taken if how == "best" else total + (taken - taken.detach())


def only_where(chooses: Tensor, log_weights: Tensor) -> Tensor:
    """Log-weights that leave only the first option in rows without a choice."""
    others = torch.arange(log_weights.shape[-1], device=chooses.device) > 0
    return torch.where(chooses[..., None], log_weights, torch.zeros_like(log_weights).masked_fill(others, -torch.inf))


@dataclass(frozen=True, eq=False)
class Set(ABC):
    """S_y of every example of a batch. A subclass defines ``reduce``; the rest follows."""

    which: Tensor  # [rows, …] which S_y each example has
    filled: bool = field(default=False, kw_only=True)  # each is known to have a state, so the device need not check

    @abstractmethod
    def reduce(self, scores: Tensor, how: How) -> Tensor:
        """log Σ w(z) over S_y by finite ``scores[rows, sites, K]``: ``[rows]``, in their precision or double."""

    def rows(self, index: Tensor | slice) -> Self:
        """The sets of some of the examples."""
        return replace(self, which=self.which[index])

    def together(self) -> int:
        """How many examples to process at a time; by default all."""
        return max(1, len(self.which))

    def empty(self, scores: Tensor) -> Tensor:
        """Which S_y have no state: ``[rows]``."""
        return self.reduce(scores, "sum") < LOG_ZERO / 2

    def marginals(self, scores: Tensor) -> Tensor:
        """Q*'s marginals, without a tape."""
        return self.slopes(scores, "sum")

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """The mode, the smallest of several, or a draw: ``[rows, sites]``."""
        return self.slopes(scores, to).argmax(-1)

    def slopes(self, scores: Tensor, how: How) -> Tensor:
        """The gradient of :meth:`reduce` with respect to the scores: ``[rows, sites, K]``."""
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            return torch.autograd.grad(self.reduce(leaf, how).sum(), leaf)[0]


Sets = Set | Sequence[tuple[Tensor, Set]]  # of a whole batch, or several with their rows


def by_rows(y: Tensor, parts: Sequence[tuple[Tensor, Callable[[Tensor], Sets]]]) -> Sets:
    """The sets of a batch that masks divide: each maker gets the answers of its rows."""
    found = list[tuple[Tensor, Set]]()
    for mask, make in parts:
        if len(rows := mask.nonzero().flatten()):
            made = make(y[rows])
            found += [(rows, made)] if isinstance(made, Set) else [(rows[own], of) for own, of in made]
    return found if len(found) > 1 else found[0][1] if found else parts[0][1](y)


def where(y: Tensor, mask: Tensor | None, make: Callable[[Tensor], Sets], other: Callable[[Tensor], Sets]) -> Sets:
    """The sets that ``make`` makes; in rows of the mask, those of ``other``."""
    if mask is None or not bool(mask.any()):
        return make(y)
    return by_rows(y, [(~mask, make), (mask, other)])


class Law:
    """Q* of a batch on one set, or on several with their rows.

    If an S_y is empty, all methods but :meth:`log_mass` raise InfeasibleAnswer with the batch's rows.
    """

    weights: Any  # of symbols; other laws have their own kind

    def __init__(
        self, of: Sets, weights: CategoricalBelief, warn: Callable[[Sequence[int]], None] | None = None
    ) -> None:
        self.weights, self.warn = weights, warn
        self.of = [(None, of)] if isinstance(of, Set) else of
        self._filled = not weights.pinned and all([part.filled for _, part in self.of])  # nothing can be empty
        half = weights.scores.dtype in (torch.float16, torch.bfloat16)
        self.scores = (weights.scores.float() if half else weights.scores).clamp(min=LOG_ZERO)

    def log_mass(self, *, quiet: bool = False) -> Tensor:
        """log Σ w(z) over S_y, differentiable in the weights, ``[batch]``.

        It is −∞ for an empty S_y. The first one gives a warning unless ``quiet``.
        """
        mass = self._each(lambda of, scores: of.reduce(scores, "sum"))
        empty = mass < LOG_ZERO / 2
        if self.warn is not None and not quiet and not self._filled and bool(empty.any()):
            self.warn(empty.nonzero().flatten().tolist())
        return mass.masked_fill(empty, -torch.inf)

    def marginals(self) -> Tensor:
        """Q*'s marginals, the gradient of :meth:`log_mass`, differentiable as well: ``[batch, sites, K]``."""
        self._refuse_empty()
        if not (torch.is_grad_enabled() and self.weights.scores.requires_grad):
            return self._each(lambda of, scores: of.marginals(scores)).to(self.scores.dtype).contiguous()
        total = self._each(lambda of, scores: of.reduce(scores, "sum")).sum()
        return torch.autograd.grad(total, self.scores, create_graph=True)[0]

    @torch.no_grad()
    def mode(self) -> Tensor:
        """The likeliest z ∈ S_y of each example; of equal ones the smallest (of a circuit any): ``[batch, sites]``."""
        self._refuse_empty()
        return self._each(lambda of, scores: of.choose(scores, "best"))

    @torch.no_grad()
    def draw(self, dice: Dice) -> Tensor:
        """One independent draw per example: ``[batch, sites]``."""
        self._refuse_empty()
        return self._each(lambda of, scores: of.choose(scores, dice))

    def entropy(self) -> Tensor:
        r"""H[Q*] in nats, ``[batch]``, differentiable in the weights.

        log w is a sum over sites, so the marginals suffice and S_y need not be listed:
        :math:`H = \log \sum_{z \in S_y} w(z) - \sum_i \sum_s Q^*_i(s) \log w_i(s)`.
        """
        if not isinstance(self.weights, CategoricalBelief):
            raise InverseError(f"{type(self).__name__} has no entropy. It is no law of symbols; use a task of symbols.")
        mass = self.log_mass(quiet=True)
        return mass - self.weights.marginal_log_prob(self.marginals()).to(mass.dtype)

    def _each(self, ask: Callable[[Set, Tensor], Tensor]) -> Tensor:
        """The results of ``ask`` for every set, one part of the batch at a time, in the batch's order."""
        if torch.is_inference_mode_enabled():  # inference mode has no gradients
            with outside_inference():
                trainable = copy(self)
                trainable.scores = self.scores.clone()
                return trainable._each(ask)
        if torch.is_autocast_enabled(self.scores.device.type):  # its products have too few digits
            with torch.autocast(self.scores.device.type, enabled=False):
                return self._each(ask)
        found = list[Tensor]()
        for rows, of in self.of:
            own, most = self.scores if rows is None else self.scores[rows], of.together()
            if most >= len(own):
                found.append(ask(of, own))
                continue
            parts = [slice(first, first + most) for first in range(0, len(own), most)]
            found += [ask(of.rows(part), own[part]) for part in parts]
        if len(found) == 1:
            return found[0]
        if len(self.of) == 1:
            return torch.cat(found)
        return torch.cat(found)[torch.cat([rows for rows, _ in self.of if rows is not None]).argsort()]

    def _refuse_empty(self) -> None:
        """Raise if some S_y is empty or the known symbols contradict it."""
        if self._filled:
            return
        pinned = self.weights.pinned

        def empty(of: Set, scores: Tensor) -> Tensor:
            if pinned:
                return Set.empty(of, scores)
            return scores.new_zeros(len(scores), dtype=torch.bool) if of.filled else of.empty(scores)

        with torch.no_grad():
            refuse_empty(self._each(empty), pinned)


def refuse_empty(empty: Tensor, pinned: bool = False) -> None:
    """Raise if some S_y is empty or known symbols contradict it."""
    if bool(empty.any()):
        rows = tuple(empty.nonzero().flatten().tolist())
        why = ", or the known symbols contradict it: correct these or" if pinned else ": correct"
        raise InfeasibleAnswer(f"S_y is empty for row(s) {list(rows)} of this batch{why} their answers.", examples=rows)


@dataclass(frozen=True, eq=False)
class Listed(Set):
    """Parts of a list of states: each example has ``which = (first, count)``.

    The list is ``codes[runs, all]`` of states, or of ``cubes``, in runs of sites (:func:`codes_of`). By default the
    rows are *ragged*, one after the other: the least work, but the host must wait for their lengths. If ``longest`` is
    given, rows are padded to it: more work, but no wait. Then each S_y must have a state, and the list needs as many
    more entries at the end.
    """

    codes: Tensor
    sizes: tuple[int, ...]
    cubes: bool = False
    longest: int = 0

    def empty(self, scores: Tensor) -> Tensor:
        return self.which[:, 1] == 0

    def together(self) -> int:
        if self.longest or len(self.which) < 2:
            return super().together()
        return max(1, min(PART_ROWS, PART_STATES // max(1, int(self.which[:, 1].max()))))

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        return self._looked_up(scores, how).reduced(how)

    def marginals(self, scores: Tensor) -> Tensor:
        """Q*'s marginals, in four fifths of the time of the gradient."""
        found = self._looked_up(scores)
        parts, share, width = [], found.shares(), scores.shape[2] + self.cubes
        # Shares are added up by run, then by site with one product. A free site's share follows its own distribution.
        for own, place, run in zip(found.joint, found.places, alphabets(self._sizes), strict=True):
            if found.rows is None:
                table = share.new_zeros(own.shape).scatter_add_(1, place, share)
            else:
                table = share.new_zeros(own.numel()).index_add_(0, place, share).view_as(own)
            parts.append((table @ ways(run, width, share.dtype, share.device)).view(len(own), len(run), width))
        dealt = torch.cat(parts[::-1], 1)
        if not self.cubes:
            return dealt
        free = one_hot(torch.tensor(self.sizes, device=dealt.device), width).to(dealt.dtype)
        return (dealt * (1 - free))[..., :-1] + (dealt * free).sum(-1, keepdim=True) * scores.softmax(-1)

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """The mode or a draw, in half the time of the gradient. Free sites of a cube choose independently."""
        entry = self._looked_up(scores, to if isinstance(to, str) else "sum").chosen(to)
        each = zip(self.codes, alphabets(self._sizes), strict=True)
        z = torch.cat([symbols(run, entry.device)[code[entry].long()] for code, run in each][::-1], 1)
        if not self.cubes:
            return z
        free = z == torch.tensor(self.sizes, device=z.device)
        own = scores.argmax(-1) if isinstance(to, str) else to.categorical(only_where(free, scores).flatten(0, 1))
        return torch.where(free, own.view_as(z), z)

    def _looked_up(self, scores: Tensor, how: How = "sum") -> _Found:
        """The log-weights of each example's entries, and their places."""
        each = [scores[:, site, :size] for site, size in enumerate(self.sizes)]
        if self.cubes:  # a site's last symbol means any symbol
            own = reduced(scores, how)
            each = [torch.cat([symbols, own[:, site, None]], 1) for site, symbols in enumerate(each)]
        (first, count), joint = self.which.unbind(1), joint_scores(each, self._sizes)
        if self.longest:
            beyond = torch.arange(self.longest, device=count.device) >= count[:, None]
            places = [code.unfold(0, self.longest, 1)[first].long() for code in self.codes]
            x = reduce(add, [own.gather(1, place) for own, place in zip(joint, places, strict=True)])
            return _Found(x.masked_fill(beyond, -torch.inf), places, joint, first, None)
        entry, owner, offsets = entries(first, count)
        places = [owner * own.shape[1] + code[entry] for own, code in zip(joint, self.codes, strict=True)]
        x = reduce(add, [own.flatten().index_select(0, place) for own, place in zip(joint, places, strict=True)])
        return _Found(x, places, joint, entry, (owner, offsets))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of the sites' alphabets, with the symbol for any in a list of cubes."""
        return tuple([size + 1 for size in self.sizes]) if self.cubes else self.sizes


class _Found(NamedTuple):
    """Log-weights ``x``, their places in ``joint`` scores, and their entries in the list (padded rows: the first)."""

    x: Tensor
    places: list[Tensor]
    joint: list[Tensor]
    entry: Tensor
    rows: tuple[Tensor, Tensor] | None  # of ragged rows: the entries' owners, and each row's offset

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
