"""Real-valued symbols: predicted and grounded values against the true ones."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Symbols
from .markup import Html, tag
from .numbers import is_number, number
from .svg import Scale, drawing, text

SIZE, LEFT, TOP, BOTTOM = 200, 30, 18, 28
MOST = 4


def distances(truth: Symbols | None, story: Sequence[tuple[str, Symbols | None, Symbols | None]]) -> Html:
    """A panel for each of a few moments, all with the same axes."""
    chosen = [story[k] for k in sorted({round(k * (len(story) - 1) / max(1, MOST - 1)) for k in range(MOST)})]
    base = _numbers(truth)
    values = [v for _, g, p in chosen for v in (*_numbers(g), *_numbers(p))]
    across = base or [v for _, g, _ in chosen for v in _numbers(g)] or values
    if not values or not across:
        return tag("p", "Nothing to draw.", class_="small")
    x = Scale(*_range(across), LEFT, SIZE - 6)
    y = Scale(*_range(values), SIZE - BOTTOM, TOP)
    panels = [
        _panel(when, base or _numbers(g), g if base else None, p, x, y, "true" if base else "grounded")
        for when, g, p in chosen
    ]
    return tag("div", panels, class_="panels")


def _panel(
    when: str, across: list[float], grounded: Symbols | None, predicted: Symbols | None, x: Scale, y: Scale, name: str
) -> Html:
    parts = [tag("rect", x=LEFT, y=TOP, width=SIZE - 6 - LEFT, height=SIZE - BOTTOM - TOP, class_="field")]
    for value in y.ticks(4):
        parts.append(tag("line", x1=LEFT, x2=SIZE - 6, y1=y(value), y2=y(value), class_="grid"))
        parts.append(text(LEFT - 4, y(value) + 4, number(value), class_="tick", anchor="end"))
    for value in x.ticks(4):
        parts.append(text(x(value), SIZE - BOTTOM + 13, number(value), class_="tick", anchor="middle"))
    parts.append(text((LEFT + SIZE) / 2, SIZE - 3, f"{name} →", class_="axis", anchor="middle"))
    parts.append(text(LEFT, TOP - 6, when or "z ↑", class_="axis"))
    for kind, values in (("ring", _numbers(grounded)), ("dot", _numbers(predicted))):
        for vertex, (a, b) in enumerate(zip(across, values, strict=False)):
            about = tag(
                "title",
                f"site {vertex}: {name} {number(a)}, {'grounded' if kind == 'ring' else 'predicted'} {number(b)}",
            )
            parts.append(tag("circle", about, cx=x(a), cy=y(b), r=3.2, class_=kind))
    return drawing(SIZE, SIZE, parts, label=f"Predicted against {name} values {when}")


def _numbers(values: Symbols | None) -> list[float]:
    return [float(v) for v in values or [] if is_number(v)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    rim = (high - low) * 0.05 or 1.0
    return low - rim, high + rim


__all__ = ["distances"]
