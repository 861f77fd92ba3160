"""A scan's tables on one device, and where encoded answers stand in them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

from ...dice import Dice
from ...errors import ConstraintError
from ..answers import RELATIONS, Relation, exact, resolve
from .long_sums import Convolved, Totals, likeliest_sum
from .messages import LOG_ZERO, OneByOne, likeliest, room
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

    def sample_alike(self, y: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q* where all examples have the same ``scores[1, n, K]``: ``[batch, n]`` in reading order."""
        if isinstance(self.recursion, Convolved):
            return self.recursion.sample_alike(*self.at(y), scores, dice)
        drawn = []
        for part in torch.split(y, self.together):
            recursion, at = self.given(part)
            drawn.append(recursion.sample(*at, scores.expand(len(part), -1, -1), dice))
        return torch.cat(drawn)

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


def accepted(answers: Sequence[Any], final: Sequence[Any], accept: Callable[[Any, Any], Any]) -> Tensor:
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


def _says(accept: Callable[[Any, Any], Any], state: Any, answer: Any) -> bool:
    try:
        return bool(accept(state, answer))
    except Exception as error:
        raise ConstraintError(
            f"The scan's accept failed for the state {state!r} and the answer {answer!r}: {type(error).__name__}: "
            f"{error}. It must say of every final state whether it explains the answer."
        ) from error


def equal(state: Any, answer: Any) -> bool:
    """Accept the final state that is the answer."""
    return bool(exact(state) == answer)
