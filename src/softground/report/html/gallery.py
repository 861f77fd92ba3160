"""Examples to look at: how many symbols stand beside each other, and which moments of a run are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...typed import typed
from ..findings import Shown, Symbols
from .scatter import Moment

ONE_ROW = 10  # sites up to which symbols stand in one row


def columns(sites: int) -> int:
    """How many sites stand beside each other: a square is shown as a board.

    >>> columns(7), columns(16), columns(81), columns(24)
    (7, 4, 9, 10)
    """
    root = round(sites**0.5)
    return sites if sites <= ONE_ROW else root if root * root == sites else ONE_ROW


def moments(example: Shown, records: Sequence[Mapping[str, Any]]) -> list[Moment]:
    """An example's symbols after the epochs that were recorded; its last ones where none were."""
    story: list[Moment] = []
    for record in records:
        index = record.get("examples")
        if not isinstance(index, list) or example.example not in index:
            continue
        place = index.index(example.example)
        grounded, predicted = (_entry(record.get(name), place) for name in ("grounded", "predicted"))
        when = f"epoch {record['epochs']}" if record.get("stage") else "before"
        story.append((when, grounded, predicted))
    return story or [("at the end", example.grounded, example.predicted)]


def thinned(story: Sequence[Moment], most: int) -> list[Moment]:
    """At most ``most`` moments, the early ones closer together; the first and the last always.

    >>> [when for when, *_ in thinned([(str(k), None, None) for k in range(101)], 6)]
    ['0', '2', '5', '15', '39', '100']
    """
    last = len(story) - 1
    if last < most:
        return list(story)
    # aᵏ − 1 is convex and 0 at k = 0, so it rises by more than one wherever it is above k: no moment comes twice.
    growth = (last + 1) ** (1 / (most - 1))
    return [story[max(k, round(growth**k - 1))] for k in range(most)]


def _entry(value: Any, place: int) -> Any:
    """One example's symbols in a record, which may hold anything."""
    try:
        return typed(Symbols | None, value[place])
    except (ValueError, TypeError, LookupError):
        return None
