"""Examples to look at: symbols as a row or a board, reals against the true values, at some moments of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...files import typed
from ..findings import Shown, Symbols
from ..words import is_number, number
from .charts import Frame, Scale

ONE_ROW = 10  # sites up to which symbols stand in one row
SIZE, LEFT, TOP, BOTTOM, RIGHT = 200, 30, 18, 28, 6  # of a panel
MOST_PANELS = 4
Moment = tuple[str, Symbols | None, Symbols | None]  # when, grounded, predicted
Panel = tuple[str, Frame, list[tuple[float, float, str, str]]]  # when, and dots (x, y, kind, words) in a frame


def columns(sites: int) -> int:
    """How many sites stand side by side: a square number of them is shown as a board.

    >>> columns(7), columns(16), columns(81), columns(24)
    (7, 4, 9, 10)
    """
    root = round(sites**0.5)
    return sites if sites <= ONE_ROW else root if root * root == sites else ONE_ROW


def moments(example: Shown, records: Sequence[Mapping[str, object]]) -> list[Moment]:
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


def panels(truth: Symbols | None, story: Sequence[Moment]) -> list[Panel]:
    """One panel per moment, of a few, with real-valued symbols against the true ones; all have the same axes."""
    chosen = [story[k] for k in sorted({round(k * (len(story) - 1) / (MOST_PANELS - 1)) for k in range(MOST_PANELS)})]
    base = _numbers(truth)
    values = [v for _, g, p in chosen for v in (*_numbers(g), *_numbers(p))]
    across = base or [v for _, g, _ in chosen for v in _numbers(g)] or values
    if not values:
        return []
    x, y = Scale(*_range(across), LEFT, SIZE - RIGHT), Scale(*_range(values), SIZE - BOTTOM, TOP)
    rows, columns = ([(scale(v), number(v)) for v in scale.ticks(4)] for scale in (y, x))
    name = "true" if base else "grounded"
    frame = Frame(SIZE, SIZE, x, y, rows, columns, f"{name} →")
    found: list[Panel] = []
    for when, grounded, predicted in chosen:
        shown = [("dot", "predicted", predicted)] + ([("ring", "grounded", grounded)] if base else [])
        dots = [
            (x(a), y(b), kind, f"site {site}: {name} {number(a)}, {meaning} {number(b)}")
            for kind, meaning, seen in shown
            for site, (a, b) in enumerate(zip(base or _numbers(grounded), _numbers(seen), strict=False))
        ]
        found.append((when, frame, dots))
    return found


def _numbers(values: Symbols | None) -> list[float]:
    return [float(v) for v in values or [] if is_number(v)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    rim = (high - low) * 0.05 or max(1.0, 0.05 * abs(high))
    return low - rim, high + rim
