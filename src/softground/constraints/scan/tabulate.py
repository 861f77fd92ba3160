"""A scan's states and transitions as tables, found by following every symbol from the start.

Layer t holds the states that can be reached before the t-th symbol is read, numbered anew in each layer, so that a
running total costs no more than the totals possible so far. Every layer has one more state, the last: *dead*, where a
refused symbol leads and nothing leads out of.
"""

import inspect
import itertools
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...errors import ConstraintError

# Entries of all tables together. A plain step takes a microsecond for each; 2²⁶ of a vectorised one are half a GB.
LIMIT_PLAIN, LIMIT_VECTORISED = 2**22, 2**26

Step = Callable[[Any, Any, int, Any], Any]


class Tabulation(NamedTuple):
    """The layers of a scan for the cues seen so far."""

    layers: Sequence[Tensor]  # per position t, [cues, states + 1, symbols]: the number of the next state in layer t + 1
    states: list[Sequence[Any]]  # per layer 0 … n, what the user's states were; dead is not among them


def tabulate(
    step: Step,
    start: Hashable,
    alphabets: Sequence[Sequence[Hashable]],
    sites: Sequence[int],
    cues: Sequence[Sequence[object]],
    vectorised: bool,
) -> Tabulation:
    """Follow every symbol from the start, for all cues; ``alphabets`` and ``cues`` are in the order of ``sites``."""
    layers: list[Tensor] = []
    states: list[Sequence[Any]] = [[start]]
    follow, limit = (_follow_tensors, LIMIT_VECTORISED) if vectorised else (_follow_plain, LIMIT_PLAIN)
    entries = 0
    for site, alphabet, seen in zip(sites, alphabets, cues, strict=True):
        here = states[-1]
        entries += len(seen) * (len(here) + 1) * len(alphabet)
        if entries > limit:
            raise ConstraintError(
                f"At site {site} the rule has {len(here):,} states, and its tables would hold more than {limit:,} "
                "entries. A scan needs a small state: keep less in it, or show the step a cue from the answer."
            )
        table, after = follow(step, here, alphabet, site, seen)
        layers.append(table)
        states.append(after)
    return Tabulation(layers, states)


def _follow_plain(
    step: Step, here: Sequence[object], alphabet: Sequence[Hashable], site: int, cues: Sequence[object]
) -> tuple[Tensor, list[Any]]:
    numbers: dict[Hashable, int] = {}
    every = itertools.product(cues, here, alphabet)
    table = [_next(step, state, symbol, site, cue, numbers) for cue, state, symbol in every]
    rows = torch.tensor(table, dtype=torch.long).reshape(len(cues), len(here), len(alphabet))
    return _with_dead(rows, len(numbers)), list(numbers)


def _next(step: Step, state: object, symbol: object, site: int, cue: object, numbers: dict[Hashable, int]) -> int:
    try:
        after = step(state, symbol, site, cue)
    except Exception as error:
        raise ConstraintError(
            f"The step failed on state {state!r}, symbol {symbol!r}, site {site}, cue {cue!r}: "
            f"{type(error).__name__}: {error}. It must return a state, or None to refuse the symbol."
        ) from error
    if after is None:
        return -1
    try:
        return numbers.setdefault(after, len(numbers))
    except TypeError:
        raise ConstraintError(
            f"The step returned {after!r}, a {type(after).__name__}, which cannot be told from other states by "
            "hashing. Return numbers, strings or tuples of these."
        ) from None


def _follow_tensors(
    step: Step, here: Sequence[object], alphabet: Sequence[Hashable], site: int, cues: Sequence[object]
) -> tuple[Tensor, list[Any]]:
    symbols = torch.tensor(alphabet if all(type(s) is int for s in alphabet) else range(len(alphabet)))
    grid = torch.meshgrid(*(torch.tensor(side, dtype=torch.long) for side in (cues, here)), symbols, indexing="ij")
    cue, state, symbol = (part.flatten() for part in grid)
    after = step(state, symbol, site, cue)
    if not isinstance(after, Tensor) or after.shape != state.shape or after.is_floating_point():
        given = f"{after.dtype} of shape {tuple(after.shape)}" if isinstance(after, Tensor) else type(after).__name__
        raise ConstraintError(
            f"The vectorised step returned {given}; expected a tensor of {len(state)} whole numbers, −1 where the "
            "symbol is refused. A step that works on one state at a time needs vectorised=False."
        )
    distinct, number = torch.unique(after, return_inverse=True)
    refused = int((distinct < 0).sum())
    rows = (number - refused).clamp(min=-1).view(len(cues), len(here), len(alphabet))
    return _with_dead(rows, len(distinct) - refused), distinct[refused:].tolist()


def _with_dead(rows: Tensor, dead: int) -> Tensor:
    """Refusals lead to ``dead``, and dead stays dead."""
    rows = torch.where(rows < 0, dead, rows)
    return torch.nn.functional.pad(rows, (0, 0, 0, 1), value=dead)


def taking_four(step: Callable[..., Any], cued: bool) -> Step:
    """The step as a function of state, symbol, site and cue."""
    try:
        count = len(inspect.signature(step).parameters)
    except (TypeError, ValueError):
        count = 2  # a built-in function such as operator.add
    if count not in (2, 3, 4) or (count == 4) != cued:
        expected = "four: state, symbol, site and cue" if cued else "two or three: state, symbol and perhaps site"
        raise ConstraintError(
            f"The step takes {count} arguments; expected {expected}. Give cue=… exactly where the step takes a cue."
        )
    return partial(_step, step, count)


def _step(step: Callable[..., Any], count: int, *given: Any) -> Any:
    return step(*given[:count])
