"""Real-valued symbols: predicted and grounded values against the true ones."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Symbols
from ..numbers import is_number, number
from .svg import Frame, Scale

SIZE, LEFT, TOP, BOTTOM, RIGHT = 200, 30, 18, 28, 6
MOST = 4
Moment = tuple[str, Symbols | None, Symbols | None]  # when, grounded, predicted
Panel = tuple[str, Frame, list[tuple[float, float, str, str]]]  # when, and dots (x, y, kind, words) in a frame


def panels(truth: Symbols | None, story: Sequence[Moment]) -> list[Panel]:
    """A panel for each of a few moments, all with the same axes; none where there is nothing to draw."""
    chosen = [story[k] for k in sorted({round(k * (len(story) - 1) / (MOST - 1)) for k in range(MOST)})]
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
