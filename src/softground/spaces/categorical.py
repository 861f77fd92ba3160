r"""Categorical symbol vectors whose sites have their own alphabets.

A symbol vector z has n sites; site i takes one of the symbols of its alphabet. The network is a product over sites,

.. math:: \log P(z|x) = \sum_{i=1}^{n} \log P_i(z_i|x),

each factor a softmax. ``readings`` selects its symbols:

- *grammatical*: **the site's alphabet** only. The network never reads an operator at a digit's site; this restriction
  is part of the rule, and also applies at prediction time.
- *all*: **all symbols**, as in the paper. The probabilities of the space's states then sum to less than 1. The rest
  belongs to readings outside the space. Losses push it down, but a prediction or a sample may be such a reading.

Inside the library a symbol is its position in its site's alphabet (a *code*), so that a state is also a mixed-radix
integer (its *index*), and all states are integer tensors on the device. Symbols outside a site's alphabet have the
codes beyond it, in the order of the union alphabet.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import SpaceError
from ..preparing import many
from .base import Space, check_output

__all__ = ["Categorical", "CategoricalBelief", "Layout", "Readings"]

Readings = Literal["grammatical", "all"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The space's constant tensors on one device."""

    sizes: Tensor  # [n] alphabet size of each site
    strides: Tensor  # [n] mixed-radix weight of each site; the last site runs fastest
    allowed: Tensor  # [n, K] which codes exist at each site
    columns: Tensor  # [n, outputs] column of the network's output that belongs to (site, code)
    symbols: Tensor  # [n, outputs] position of each code's symbol among the space's symbols; 0 for none


class Categorical(Space):
    """Symbol vectors with one alphabet per site, e.g. ``[range(10)] * 3``; symbols are any hashable values.

    With ``head="shared"`` the network's output is ``[batch, n, len(symbols)]`` over the union alphabet ``symbols`` (one
    head for all sites, the usual case for images of symbols). With ``"site"`` it is ``[batch, n, width]``: one head per
    site, padded to the largest alphabet, in the order of each site's own alphabet. With ``readings="all"`` a
    shared head may read any symbol at any site (see above). If one network serves several spaces, ``symbols`` lists
    those of all of them, in the order of its outputs.

    >>> space = Categorical([(1, 2, 3), "+-", (1, 2, 3)], readings="all")
    >>> space.symbols, space.size
    ((1, 2, 3, '+', '-'), 18)
    >>> space.decode(space.encode([(3, "+", 1)]))
    [(3, '+', 1)]
    >>> output = torch.tensor([[[0.0, 0, 9, 0, 0], [0, 0, 9, 0, 0], [0, 0, 0, 9, 0]]])
    >>> z = space.belief(output).mode()
    >>> space.decode(z), space.holds(z).tolist()
    ([(3, 3, '+')], [False])
    """

    categorical = True

    def __init__(
        self,
        alphabets: Sequence[Sequence[Hashable]],
        head: Literal["shared", "site"] = "shared",
        readings: Readings = "grammatical",
        symbols: Sequence[Hashable] | None = None,
    ) -> None:
        try:
            self.alphabets: tuple[tuple[Hashable, ...], ...] = tuple(tuple(a) for a in alphabets)
        except TypeError:
            raise SpaceError.of(
                {"alphabets": alphabets}, "expected one alphabet per site, such as [range(10)] * 3."
            ) from None
        if not self.alphabets:
            raise SpaceError("A space needs at least one site; an empty list of alphabets was given.")
        for site, alphabet in enumerate(self.alphabets):
            if not alphabet or len(set(alphabet)) != len(alphabet):
                raise SpaceError(
                    f"The alphabet of site {site} is {list(alphabet)!r}; it must hold at least one symbol, each once."
                )
        if head not in ("shared", "site"):
            raise SpaceError.of({"head": head}, "expected 'shared' or 'site'.")
        if readings not in get_args(Readings) or (readings == "all" and head == "site"):
            raise SpaceError.of({"readings": readings}, "expected 'grammatical', or 'all' with head='shared'.")
        self.head, self.readings = head, readings
        self.sites = len(self.alphabets)
        union = tuple(dict.fromkeys(s for a in self.alphabets for s in a))
        self.symbols: tuple[Hashable, ...] = union if symbols is None else tuple(symbols)
        if not set(union) <= set(self.symbols) or len(set(self.symbols)) != len(self.symbols):
            raise SpaceError(
                f"symbols={list(self.symbols)!r} were given; expected every symbol of the alphabets, {list(union)!r}, "
                "each once."
            )
        self.sizes: tuple[int, ...] = tuple(len(a) for a in self.alphabets)
        self.width = max(self.sizes)
        self.size = math.prod(self.sizes)
        self.mixed = head == "shared" and min(self.sizes) < len(self.symbols)
        self._alike = all(a == self.symbols for a in self.alphabets)
        self._codes = [{s: c for c, s in enumerate(a)} for a in self.alphabets]
        # The symbol of every code: the site's own alphabet, then the other symbols of a shared head.
        beyond = self.symbols if head == "shared" else ()
        self.named = [(*codes, *(s for s in beyond if s not in codes)) for codes in self._codes]
        self._noticed = False  # whether an output of probabilities was reported
        self._layouts: dict[torch.device, Layout] = {}
        self._values: dict[torch.device, tuple[Tensor, Tensor] | None] = {}  # see _numbers

    @property
    def outputs(self) -> int:
        """The number of network outputs per site."""
        return len(self.symbols) if self.head == "shared" else self.width

    @property
    def indexable(self) -> bool:
        """Whether a state's index fits into 64 bits."""
        return self.size < 2**63

    def __repr__(self) -> str:
        states = f"{self.size:,}" if self.indexable else many(self.size)
        return f"Categorical({self.sites} sites, {len(self.symbols)} symbols, {states} states)"

    def layout(self, device: torch.device) -> Layout:
        """The constant tensors on ``device``, made once."""
        if device not in self._layouts:
            union = {s: c for c, s in enumerate(self.symbols)}
            codes, sizes = torch.arange(self.width), torch.tensor(self.sizes)
            most = max(map(len, self.named))
            symbols = torch.tensor([[*map(union.__getitem__, own), *[0] * (most - len(own))] for own in self.named])
            columns = symbols if self.head == "shared" else codes.expand(self.sites, -1)
            radix = [math.prod(self.sizes[i + 1 :]) if self.indexable else 0 for i in range(self.sites)]
            parts = (sizes, torch.tensor(radix), codes < sizes[:, None], columns, symbols)
            self._layouts[device] = Layout(*(p.to(device) for p in parts))
        return self._layouts[device]

    def encode(self, states: Sequence[Sequence[Hashable]]) -> Tensor:
        """Symbols to codes, ``[len(states), n]``."""
        for row, state in enumerate(states):
            if len(state) != self.sites:
                raise SpaceError(f"State {row} has {len(state)} symbols; this space has {self.sites} sites.")
            for site, (symbol, codes) in enumerate(zip(state, self._codes, strict=True)):
                if symbol not in codes:
                    raise SpaceError(f"State {row} has {symbol!r} at site {site}; its alphabet is {list(codes)!r}.")
        rows = [[codes[symbol] for symbol, codes in zip(state, self._codes, strict=True)] for state in states]
        return torch.tensor(rows, dtype=torch.long).reshape(len(rows), self.sites)

    def random(self, count: int, chance: torch.Generator) -> Tensor:
        return (torch.rand(count, self.sites, generator=chance, dtype=torch.float64) * torch.tensor(self.sizes)).long()

    def decode(self, z: Tensor) -> list[tuple[Hashable, ...]]:
        """Codes to symbols, one tuple per state or reading."""
        return [tuple(self.named[i][c] for i, c in enumerate(row)) for row in z.tolist()]

    def holds(self, z: Tensor) -> Tensor:
        return (z < self.layout(z.device).sizes).all(-1)

    def arguments(self, z: Tensor) -> tuple[Tensor, ...]:
        """The arguments of a vectorised rule: per site the symbols if all are ints, else their codes."""
        if z.device not in self._values:
            self._values[z.device] = self._numbers(z.device)
        if (known := self._values[z.device]) is not None:
            sites, symbols = known
            z = symbols[sites, z]
        return z.unbind(-1)

    def _numbers(self, device: torch.device) -> tuple[Tensor, Tensor] | None:
        """The sites, and ``[n, K]`` the symbol of each code as a rule sees it; None if that is always the code."""
        rows = [[*a] if all(isinstance(s, int) for s in a) else [*range(len(a))] for a in self.alphabets]
        if all(row == [*range(len(row))] for row in rows):
            return None
        wide = [s for row in rows for s in row if not -(2**63) <= s < 2**63]  # type: ignore[operator]
        if wide:
            raise SpaceError(f"The symbol {wide[0]} does not fit into 64 bits, and a vectorised rule sees tensors.")
        symbols = torch.tensor([row + [0] * (self.width - len(row)) for row in rows], device=device).long()
        return torch.arange(self.sites, device=device), symbols

    def index(self, z: Tensor) -> Tensor:
        """The mixed-radix integer of each state, in ``0 … size - 1``."""
        self._need_index()
        return (z * self.layout(z.device).strides).sum(-1)

    def states(self, index: Tensor) -> Tensor:
        """The inverse of :meth:`index`."""
        self._need_index()
        layout = self.layout(index.device)
        return index[..., None] // layout.strides % layout.sizes

    def combinations(self, dropped: int) -> int:
        """The most combinations of symbols that ``dropped`` sites of this space can take."""
        return math.prod(sorted(self.sizes)[self.sites - dropped :])

    def _need_index(self) -> None:
        if not self.indexable:
            raise SpaceError(f"This space has {many(self.size)} states; a state's index would not fit into 64 bits.")

    def uniform(self, batch: int, device: torch.device) -> CategoricalBelief:
        scores = torch.zeros(self.sites, self.width, dtype=torch.float64, device=device)
        scores = scores.masked_fill(~self.layout(device).allowed, -math.inf)
        return CategoricalBelief(self, scores.expand(batch, -1, -1))

    def belief(self, output: Tensor, *, finite: bool = False) -> CategoricalBelief:
        """The network's output as P(z|x), restricted to each site's alphabet for grammatical readings.

        An output ``[batch, K, n, outputs]`` holds K members of an ensemble, whose P_i(s|x) are averaged site by site.
        """
        if isinstance(output, Tensor) and output.dtype in (torch.float16, torch.bfloat16):
            output = output.float()  # sums over S_y need more precision
        if isinstance(output, Tensor) and output.dim() == 4 and output.shape[1]:
            each, members = self.belief(output.log_softmax(-1).flatten(0, 1), finite=finite), output.shape[:2]
            return each.changed(lambda scores: _mean(scores.view(*members, *scores.shape[1:])))
        if not (finite and isinstance(output, Tensor) and output.shape[1:] == (self.sites, self.outputs)):
            kind = "symbol of the union alphabet" if self.head == "shared" else "symbol of a site"
            remedy = f"Change the network's last layer or the space's head (now {self.head!r})"
            meaning = f"one per {kind} {list(self.symbols)!r}. {remedy}"
            check_output(output, {"sites": self.sites, "outputs": self.outputs}, meaning, finite)
            self._notice_probabilities(output)
        if self._alike:  # the codes of every site are the columns of the output
            return CategoricalBelief(self, output.log_softmax(-1), finite=True, gamma=1.0)
        layout = self.layout(output.device)
        if self.head == "shared":
            output = output.gather(2, layout.columns.expand(len(output), -1, -1))
        if self.readings == "all":
            output = output.log_softmax(-1)
        scores = output[..., : self.width].masked_fill(~layout.allowed, -math.inf)
        if self.readings == "grammatical":
            scores = scores.log_softmax(-1)
        return CategoricalBelief(self, scores, output if self.mixed else None, gamma=1.0)

    def _notice_probabilities(self, output: Tensor) -> None:
        """Warn once if rows look like probabilities: a softmax of them would distort them."""
        if self._noticed or not len(output) or self.outputs < 2 or bool((output < 0).any()):
            return
        if bool(((output.sum(-1) - 1).abs() < 1e-4).all()) and not bool((output.amax(-1) == 1).all()):
            self._noticed = True
            warnings.warn(
                "Every row of the network's output sums to one, like probabilities; expected logits, or logarithms of "
                "probabilities. Leave out the softmax, or give its logarithm.",
                stacklevel=4,
            )


def _mean(scores: Tensor) -> Tensor:
    """The logarithm of the mean of the members' probabilities, ``[batch, K, n, codes]`` to ``[batch, n, codes]``."""
    never = torch.isneginf(scores).all(1)  # a sum over nothing but −∞ has no gradient
    found = scores.masked_fill(never[:, None], 0.0).logsumexp(1) - math.log(scores.shape[1])
    return found.masked_fill(never, -math.inf)


@dataclass(frozen=True, eq=False)
class CategoricalBelief:
    """Site-wise log-probabilities, or tempered log-weights, ``scores[b, i, code]``; −∞ outside a site's alphabet.

    ``every[b, i, code]`` are the scores of all symbols, if sites have different alphabets: log-probabilities for
    ``readings="all"``, else the network's output, which only serves :meth:`other_mode`.
    """

    space: Categorical
    scores: Tensor
    every: Tensor | None = None
    finite: bool = False  # whether all scores are known to be finite
    pinned: bool = False  # whether there are known symbols, which may contradict an answer
    gamma: float | None = None  # the temperature of the weights, if known

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def read(self) -> Tensor:
        """The scores of all possible readings, ``[batch, n, codes]``."""
        return self.scores if self.every is None or self.space.readings == "grammatical" else self.every

    def log_prob(self, z: Tensor) -> Tensor:
        return self.site_scores(z).sum(-1)

    def site_scores(self, z: Tensor) -> Tensor:
        """The score of each site's symbol, ``[batch, n]``."""
        return self.read.gather(2, z[..., None]).squeeze(2)

    def mode(self) -> Tensor:
        return (self.scores if self.every is None else self.read).argmax(-1)

    def other_mode(self) -> Tensor:
        """The mode that the other kind of ``readings`` would give, for a mixed space."""
        assert self.every is not None
        return (self.every if self.space.readings == "grammatical" else self.scores).argmax(-1)

    def sample(self, dice: Dice) -> Tensor:
        return dice.categorical(self.read.detach().flatten(0, 1)).view(self.scores.shape[:2])

    def changed(self, change: Callable[[Tensor], Tensor], **facts: Any) -> CategoricalBelief:
        """Apply ``change`` to all scores, and set other ``facts``."""
        every = None if self.every is None else change(self.every)
        return replace(self, scores=change(self.scores), every=every, finite=False, **facts)

    def detach(self) -> CategoricalBelief:
        every = None if self.every is None else self.every.detach()
        return replace(self, scores=self.scores.detach(), every=every)

    def rows(self, index: Tensor | slice) -> CategoricalBelief:
        return self.changed(lambda scores: scores[index])

    def tempered(self, gamma: float) -> CategoricalBelief:
        """The tempered weights of the space's states; other readings have none."""
        if not gamma > 0:
            raise SpaceError(f"γ = {gamma} was given; a temperature is positive (∞ samples uniformly).")
        if math.isinf(gamma):
            scores = torch.zeros_like(self.scores).masked_fill(torch.isinf(self.scores), -math.inf)
        else:
            scores = self.scores if gamma == 1 else self.scores / gamma
        return CategoricalBelief(self.space, scores, pinned=self.pinned, gamma=gamma)

    def given(self, known: Tensor, *, fits: bool = False) -> CategoricalBelief:
        """P(z|x, z_i = k_i) for codes ``known[batch, n]``, −1 where a site is unknown: certain at known sites.

        Sites are independent under P, so the other sites are unchanged. All other codes at known sites score −∞, so no
        draw or prediction can change a known symbol, at any temperature. ``fits`` promises that the known symbols agree
        with the answers, so no law need check it.
        """

        def certain(scores: Tensor) -> Tensor:
            other = torch.arange(scores.shape[2], device=known.device) != known[..., None]
            return torch.where((known < 0)[..., None], scores, torch.zeros_like(scores).masked_fill(other, -math.inf))

        return self.changed(certain, pinned=not fits)

    def log_known(self, known: Tensor) -> Tensor:
        r""":math:`\sum_i \log P_i(k_i|x)` over the known sites (see :meth:`given`), ``[batch]``."""
        return self.site_scores(known.clamp(min=0)).masked_fill(known < 0, 0.0).sum(-1)

    def marginals(self) -> Tensor:
        """P_i(s|x), ``[batch, n, codes]``; 0 for codes beyond a site's alphabet that cannot be read."""
        return self.read.softmax(-1)

    def expected(self, taught: Tensor) -> Tensor:
        r""":math:`\sum_s q_i(s) \log P_i(s|x)` at every site ``[batch, n]``.

        ``taught`` holds site-wise distributions q ``[batch, n, K]``, or one symbol vector per example ``[batch, n]``.
        """
        if not taught.is_floating_point():
            return self.site_scores(taught)
        scores = self.scores if self.finite else self.scores.masked_fill(taught == 0, 0.0)  # 0 · log 0 = 0
        return (taught * scores).sum(2)

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        r""":math:`\sum_i \sum_s q_i(s) \log P_i(s|x)` for site-wise distributions q ``[batch, n, K]``: ``[batch]``."""
        return self.expected(marginals).sum(1)
