r"""The share of information in an answer, and readings that explain nearly every answer.

With all combinations that occur equally likely, I(y; z) = H(y), since an answer follows from its symbols, and
:math:`H(z) = H(y) + E \log |S_y|`, S_y being what occurs with y. A small share I(y; z)/H(z) is no proof that answers
are too little: 'these letters are a word' tells nothing apart from y, and yet teaches letters.

A map of symbols that explains most answers holds training up, as a shortcut does that explains them all: every digit
read one too high, two symbols exchanged, or one read as another. Each is tried on the combinations that occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..task import Task
from ..training.information import left_open, spread
from ..walks.time_limit import TimeLimit
from .support import Support
from .symbols import RenamableSymbols

ROWS, PAIRED, SHOWN = 1024, 40, 3  # combinations tried; symbols of which pairs are tried; maps shown
WORTH = 0.5  # the least share of explained answers, among those that a map changes, to show the map
SHIFTS = {1: "one too high", -1: "one too low", 2: "two too high", -2: "two too low"}


@dataclass(frozen=True)
class Nearly:
    """A map of symbols that explains a share of the answers."""

    map: str
    share: float


def share_told(task: Task, declared: Support | None, answers: Sequence[object] | None) -> float | None:
    """I(y; z)/H(z), if it can be counted: by declared combinations, else by the distribution on S_y."""
    if declared is not None:
        y, left = declared.y, None
    elif answers is None or not len(answers) or not task.inverse.exact or not task.space.categorical:
        return None
    else:
        y = task.constraint.encode(list(answers))
        left = float(left_open(task, y[spread(len(y), ROWS)]).mean())
    each = torch.unique(y, dim=0, return_counts=True)[1].double()
    told = float(torch.special.entr(each / each.sum()).sum())
    if left is None:
        every = float(torch.tensor(float(len(declared or ()))).log())
        return told / every if every else 1.0
    return told / (told + left) if told + left else 1.0


def nearly(task: Task, support: Support, limit: TimeLimit) -> tuple[Nearly, ...]:
    """Maps that explain at least half of the answers that they change, but not all; the most harmful first."""
    symbols = RenamableSymbols(task.space)
    rows = spread(len(support), ROWS)
    z, y, found = support.z[rows], support.y[rows], list[Nearly]()
    read = symbols.of(z)
    for name, images in _maps(task, symbols):
        if not limit.left():
            break
        moved = (images[read] != read).any(1)
        holds = task.feasible(symbols.relabelled(z, images), y)
        if bool(moved.any()) and WORTH <= float(holds[moved].double().mean()) < 1:
            found.append(Nearly(name, float(holds.double().mean())))
    return tuple(sorted(found, key=lambda one: -one.share)[:SHOWN])


def _maps(task: Task, symbols: RenamableSymbols) -> Iterator[tuple[str, Tensor]]:
    """Shifts where symbols are whole numbers, then exchanged and merged pairs: in words, and as images."""
    same = torch.arange(symbols.count)
    for kind in symbols.kinds():
        values = [task.space.symbols[e] for e in kind] if task.space.head == "shared" else []
        if len(kind) > 2 and values and all(type(value) is int for value in values):
            order = torch.tensor(sorted(kind, key=lambda e: task.space.symbols[e]))
            for by, words in SHIFTS.items():
                places = torch.arange(len(kind)) + by
                yield f"every symbol read {words}", same.scatter(0, order, order[places.clamp(0, len(kind) - 1)])
                yield f"every symbol read {words}, round and round", same.scatter(0, order, order[places % len(kind)])
        for turn, one in enumerate(kind if len(kind) <= PAIRED else ()):
            for other in kind[turn + 1 :]:
                pair, names = torch.tensor([one, other]), (symbols.names[one], symbols.names[other])
                yield f"{names[0]} and {names[1]} exchanged", same.scatter(0, pair, pair.flip(0))
                yield f"{names[0]} read as {names[1]}", same.scatter(0, pair, pair[[1, 1]])
                yield f"{names[1]} read as {names[0]}", same.scatter(0, pair, pair[[0, 0]])
