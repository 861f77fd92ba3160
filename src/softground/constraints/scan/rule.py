r"""A rule that is read from left to right: a finite automaton whose acceptance depends on y.

.. math:: s_0 = \text{start}, \qquad s_{t+1} = \text{step}(s_t, z_t), \qquad z \in S_y \iff \text{accept}(s_n, y) .

Addition with carry, a column's total, check digits, counting, sortedness: all of these need only a small state. Then
S_y is never listed: sums over it cost sites × states × symbols, however many symbol vectors it holds.

Where y says something about every place, as the digits of a sum do, the step may look at a **cue**: what the answer
shows it at this site. The state then need not remember what was written so far.

>>> from softground.spaces import Categorical
>>> space = Categorical([range(10)] * 3)
>>> luhn = Scan(lambda s, d, site: (s + (d if site % 2 else sum(divmod(2 * d, 10)))) % 10, space,
...             accept=lambda s, y: (s == 0) == y)
>>> luhn.feasible(space.encode([(0, 0, 0), (1, 0, 0)]), luhn.encode([True, True])).tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ...errors import ConstraintError
from ...spaces.categorical import Categorical
from ..answers import INTERNING, RELATIONS, Interned
from ..base import Constraint, of_symbols, outside_inference
from ..exact import exact
from ..relations import Not, OneOf, Relation, misfit, resolve
from .long_sums import Convolved, Totals, likeliest_sum, noticed, summed
from .messages import LOG_ZERO, OneByOne, likeliest, possible_states, room
from .tabulate import Tabulation, tabulate, taking_four
from .tree import Tree

Recursion = OneByOne | Tree | Convolved
RECORDED: list[Any] = []  # tables that a GPU's recordings read: they stay, also after more answers were seen


@dataclass(frozen=True, eq=False)
class Tables:
    """A scan on one device, for the answers seen so far."""

    layers: Sequence[Tensor]  # per position [cues, states + 1, symbols]: the next state, the last being dead
    # One row for each exact answer, then for each relation; their complements follow, the last one first, so that a
    # negative place is that of a complement.
    cues: Tensor  # [rows, n] number of the cue that each answer shows at each position
    accepts: Tensor  # [rows, states + 1] whether the answer accepts the final state
    order: Tensor  # [n] the site that is read at each position
    log_zero: Tensor  # [1] in double precision
    recursion: Recursion  # sums over S_y; symbols, cues and scores are in reading order
    reading_on: Recursion  # the same where states count, too, in which a symbol was refused
    seen: tuple[int, int, bool]  # answers, relations, and whether there are complements

    def at(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The cues and the accepted states of encoded answers."""
        row = self._row(y)
        return self.cues[row], self.accepts[row]

    def given(self, y: Tensor) -> tuple[Recursion, tuple[Tensor, Tensor]]:
        """The recursion for a batch, and its answers as that takes them."""
        if not self.plain and bool(self.refused(y).any()):
            return self.reading_on, self.at(y)
        row = self._row(y)
        return self.recursion, (self._shown[0][row], self._shown[1][row])

    def refused(self, y: Tensor) -> Tensor:
        """Which answers explain states in which a symbol was refused, as complements do: ``[rows]`` bool."""
        return self.accepts[self._row(y), -1]

    @cached_property
    def plain(self) -> bool:
        """Whether one recursion serves all answers seen."""
        return self.reading_on is self.recursion or not bool(self.accepts[:, -1].any())

    @cached_property
    def _shown(self) -> tuple[Tensor, Tensor]:
        return self.recursion.shown(self.cues, self.accepts)

    def _row(self, y: Tensor) -> Tensor:
        if y.is_cuda and torch.cuda.is_current_stream_capturing():
            RECORDED.append(self)
        if self.seen[1:] == (1, False):  # exact answers, and the relation that there always is
            return y.clamp(max=self.seen[0])
        code = torch.where(y < 0, ~y, y)
        row = torch.where(code < RELATIONS, code, code - RELATIONS + self.seen[0])
        return torch.where(y < 0, ~row, row)

    def final_state(self, z: Tensor) -> Tensor:
        """Where reading z ends, in reading order, for a scan that looks at no cues: ``[batch]``."""
        return self.recursion.final_state(self.cues.new_zeros(z.shape), z)

    @cached_property
    def together(self) -> int:
        """How many examples are worked on together: every layer's messages are kept for them."""
        if isinstance(self.recursion, Convolved):
            return self.recursion.together(self.order.device)
        each = sum(layer.shape[1] for layer in self.layers) + 4 * max(layer[0].numel() for layer in self.layers)
        return max(1, room(self.order.device) // each)

    def likeliest(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """The most probable z of each example, ``[batch, n]`` in reading order."""
        if isinstance(self.layers, Totals):
            return likeliest_sum(self.layers, cues, accepts, scores)
        return likeliest(self.layers, cues, accepts, scores)

    def solvable(self, y: Tensor, allowed: Tensor) -> Tensor:
        """Which S_y are not empty, where all symbols have the log-weights ``allowed[n, K]``."""
        if isinstance(self.layers, Totals):
            return (self.at(y)[1] & self.layers.occurs).any(1)
        recursion, at = self.given(y)
        return recursion.log_partition(*at, allowed.expand(len(y), -1, -1)) > LOG_ZERO / 2


def recursions_of(found: Sequence[Tensor], device: torch.device) -> tuple[Sequence[Tensor], Recursion, Recursion]:
    """The layers on ``device``, and how to sum over S_y: without states that refused a symbol, and with them."""
    if isinstance(found, Totals):
        sums = found.to(device)
        return sums, (convolved := Convolved(sums)), convolved
    layers = [layer.to(device) for layer in found]
    # In a tree nothing is read on once a symbol was refused.
    one = OneByOne(layers)
    return layers, Tree.paying(layers) or one, one


def accepted(answers: Sequence[object], final: Sequence[object], accept: Callable[[Any, Any], Any]) -> Tensor:
    """Which final states each answer accepts; the last, dead, is accepted by complements alone."""
    size = len(final) + 1

    @cache
    def values() -> list[Hashable]:
        return [exact(state) for state in final]

    @cache
    def places() -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = {}
        for place, value in enumerate(values()):
            found.setdefault(value, []).append(place)
        return found

    def leaf(key: Hashable) -> Tensor:
        if accept is not equal:
            return torch.tensor([*(_says(accept, state, key) for state in final), False])
        row = torch.zeros(size, dtype=torch.bool)
        row[places().get(key, [])] = True
        return row

    def test(relation: Relation) -> Tensor:
        return torch.tensor([*(relation.admits(value) for value in values()), False])

    everything = torch.ones(size, dtype=torch.bool)
    return torch.stack([resolve(answer, leaf, test, everything) for answer in answers])


def _says(accept: Callable[[Any, Any], Any], state: object, answer: object) -> bool:
    try:
        return bool(accept(state, answer))
    except Exception as error:
        raise ConstraintError(
            f"The scan's accept failed for the state {state!r} and the answer {answer!r}: {type(error).__name__}: "
            f"{error}. It must say of every final state whether it explains the answer."
        ) from error


def equal(state: object, answer: object) -> bool:
    """Accept the final state that is the answer."""
    return bool(exact(state) == answer)


ANSWERS_AT_ONCE = 1024  # looked at together when all answers are asked whether they have solutions


class Scan(Constraint):
    """The constraint z ∈ S_y ⇔ the state after the last symbol is accepted by y.

    Parameters
    ----------
    step, start
        ``step(state, symbol[, site[, cue]])`` gives the next state, or ``None`` to refuse the symbol; it is called with
        as many of the four as it takes, once for each combination that can occur. States are any hashable values;
        ``start`` is the one before the first symbol.
    accept
        ``accept(state, answer)`` says whether a final state explains the answer; by default, whether they are equal.
    cue
        ``cue(answer, site)``: what the step may see of the answer at a site.
    order
        The sites in the order they are read; by default from first to last.
    vectorised
        Whether ``step`` takes and returns tensors: states and cues are then whole numbers, symbols as in
        :class:`~softground.constraints.program.Program`, and −1 refuses.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        space: Categorical,
        *,
        start: Hashable = 0,
        accept: Callable[[Any, Any], Any] | None = None,
        cue: Callable[[Any, int], Any] | None = None,
        order: Sequence[int] | None = None,
        vectorised: bool = False,
    ) -> None:
        self.space, self.start, self.cue, self.vectorised = of_symbols(space), start, cue, vectorised
        self.accept = accept or equal
        self.computes = accept is None and cue is None  # then the final state is the answer
        try:
            self.order = [int(site) for site in (range(space.sites) if order is None else order)]
        except (TypeError, ValueError):
            self.order = []
        if sorted(self.order) != list(range(space.sites)):
            raise ConstraintError.of({"order": order}, f"expected each of the sites 0 … {space.sites - 1} once.")
        self._in_order = self.order == sorted(self.order)
        self._plain, self._step = step, taking_four(step, cue is not None)
        self.numbering = self.answers = Interned()
        # Per position, the cues seen so far and their numbers; one of None where the step looks at no answer.
        self._cues: list[dict[Hashable, int]] = [{} if cue else {None if not vectorised else 0: 0} for _ in self.order]
        self._shown: dict[Hashable, list[int]] = {}  # per answer, the numbers of its cues
        self._tabulation: Tabulation | None = None
        self._tables: dict[torch.device, Tables] = {}
        self._solvable: tuple[int, bool] = (-1, False)

    def __repr__(self) -> str:
        if not self.ready:
            return f"Scan({self.space.sites} sites)"
        widest = max(map(len, self.tabulation.states))
        return f"Scan({self.space.sites} sites, up to {widest:,} states, {len(self.answers.keys):,} answers)"

    @property
    def ready(self) -> bool:
        """Whether the states are known, which may depend on the answers' cues."""
        return self.cue is None or bool(self.answers.keys)

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        with INTERNING:
            return self.answers.encode(answers, self._key, self._read, self.misfit)

    def _read(self, answer: object) -> Any:
        """The answer, unless it is a relation that this scan cannot take."""
        inner = answer
        while isinstance(inner, Not):
            inner = inner.answer
        if isinstance(inner, Relation) and not self.computes and (self.cue or not isinstance(inner, OneOf)):
            raise ConstraintError(
                f"The answer {answer!r} was given to a scan with {'a cue=' if self.cue else 'an accept='} of its own; "
                "expected an exact answer, or not one (Not). Leave it out, so that the final state is the answer."
            )
        return answer

    @property
    def negates(self) -> bool:
        return self.answers.negates

    def _key(self, answer: object) -> Hashable:
        key = exact(answer)
        if key not in self._shown:
            self._shown[key] = self._show(key)  # which may refuse the answer
        return key

    def answer(self, y: Tensor) -> Any:
        return self.answers.given[int(y)]

    def misfit(self, y: Tensor) -> str:
        with outside_inference():
            finals = [exact(state) for state in self.tabulation.states[-1]] if self.computes else []
        return misfit(self.answers.pattern(int(y)), finals)

    def compute(self, z: Tensor) -> list[Any]:
        """The final states, where the answer is the final state; None where a symbol is refused."""
        if not self.computes:
            return super().compute(z)
        tables = self.tables(z.device)
        final = tables.final_state(z[:, tables.order])
        written = [self.answers.written(exact(state), state) for state in self.tabulation.states[-1]]
        return [[*written, None][number] for number in final.tolist()]  # the last is dead: a symbol was refused

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        tables = self.tables(z.device)
        cues, accepts = tables.at(y)
        final = tables.recursion.final_state(cues, z[:, tables.order])
        return accepts.gather(1, final[:, None]).squeeze(1)

    def admissible(self, z: Tensor) -> Tensor:
        """Whether some answer seen so far accepts what some of its cues let pass."""
        tables = self.tables(z.device)
        read, last = z[:, tables.order], tables.accepts.shape[1]
        one = isinstance(tables.layers, Totals)  # no cue leads elsewhere
        alive = one_hot(tables.final_state(read), last).bool() if one else possible_states(tables.layers, read)
        wanted = tables.accepts[: sum(tables.seen[:2])].any(0) if self.answers.keys else torch.ones_like(alive[0])
        return (alive & wanted)[:, :-1].any(-1)

    def has_solution(self, y: Tensor) -> Tensor:
        """Which S_y are not empty, ``[len(y)]``."""
        tables, allowed = self.tables(y.device), self.space.layout(y.device).allowed
        weights = torch.where(allowed, 0.0, LOG_ZERO).double()[tables.order]
        return torch.cat([tables.solvable(part, weights) for part in torch.split(y, ANSWERS_AT_ONCE)])

    @property
    def solvable(self) -> bool:
        """Whether every answer seen so far has a solution; asked again only when more have been seen."""
        known = len(self.answers.given)
        if self._solvable[0] != known:
            given = torch.tensor(list(self.answers.given), dtype=torch.long)
            self._solvable = (known, bool(self.has_solution(given).all()))
        return self._solvable[1]

    def read(self, scores: Tensor) -> Tensor:
        """Scores in reading order, ``[batch, n, K]`` in double precision, finite everywhere."""
        tables = self.tables(scores.device)
        # In double precision because log 0 is.
        return torch.maximum(scores if self._in_order else scores[:, tables.order], tables.log_zero)

    def unread(self, z: Tensor) -> Tensor:
        """Symbols in reading order back to the order of the sites."""
        return z if self._in_order else torch.empty_like(z).index_copy_(1, self.tables(z.device).order, z)

    @property
    def tabulation(self) -> Tabulation:
        """The tables as found, made when first asked for and again when new cues have been seen."""
        if self._tabulation is None:
            alphabets = [self.space.alphabets[site] for site in self.order]
            cues = [list(seen) for seen in self._cues]
            given = self._step, self.start, alphabets, self.order, cues, self.vectorised
            self._tabulation = summed(self._plain, self.start, alphabets) or noticed(tabulate(*given))
        return self._tabulation

    def tables(self, device: torch.device) -> Tables:
        """The tables on ``device``, copied once."""
        with INTERNING:
            if device not in self._tables or self._tables[device].seen != self._seen():
                self._tables[device] = self._made(device)
            return self._tables[device]

    def _seen(self) -> tuple[int, int, bool]:
        return len(self.answers.keys), len(self.answers.relations), self.answers.negates

    @outside_inference()
    def _made(self, device: torch.device) -> Tables:
        if not self.ready:
            raise ConstraintError("The step looks at cues, and no answer has been seen yet: encode answers first.")
        found, seen = self.tabulation, [*self.answers.keys, *self.answers.relations]
        accepts = accepted(seen, found.states[-1], self.accept)
        cues = torch.tensor([self._shown.get(answer, [0] * len(self.order)) for answer in seen], dtype=torch.long)
        if self.negates:
            accepts, cues = torch.cat([accepts, ~accepts.flip(0)]), torch.cat([cues, cues.flip(0)])
        layers, recursion, reading_on = recursions_of(found.layers, device)
        cues, accepts, order = cues.to(device), accepts.to(device), torch.tensor(self.order, device=device)
        log_zero = torch.tensor([LOG_ZERO], dtype=torch.float64, device=device)
        return Tables(layers, cues, accepts, order, log_zero, recursion, reading_on, self._seen())

    def _show(self, answer: Hashable) -> list[int]:
        """The numbers of an answer's cues, one per position."""
        if self.cue is None:
            return [0] * len(self.order)
        numbers = []
        for site, seen in zip(self.order, self._cues, strict=True):
            try:
                hash(cue := self.cue(answer, site))
            except Exception as error:
                why = f"{type(error).__name__}: {error}. Give answers of the type that it expects; cues are hashable."
                raise ConstraintError(f"The scan's cue failed for the answer {answer!r}: {why}") from error
            if cue not in seen:
                seen[cue] = len(seen)
                self._tabulation = None
            numbers.append(seen[cue])
        return numbers
