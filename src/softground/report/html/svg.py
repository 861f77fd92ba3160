"""Drawings: an SVG of fixed coordinates that is scaled to the width of its card, and axes for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .markup import Child, Html, tag

WIDTH = 380  # of a chart's own coordinates: close to a phone's, so that text keeps its size there


def drawing(width: float, height: float, *children: Child, label: str) -> Html:
    """An SVG element with a text for those who do not see it."""
    return tag("svg", *children, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)


def text(x: float, y: float, *children: Child, class_: str | None = None, anchor: str | None = None) -> Html:
    """A line of text; ``anchor`` is middle or end."""
    return tag("text", *children, x=x, y=y, class_=class_, text_anchor=anchor)


@dataclass(frozen=True)
class Scale:
    """Values ``low … high`` onto coordinates ``start … end``, evenly or by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values inside the scale."""
        return powers(self.low, self.high, count) if self.log else round_steps(self.low, self.high, count)


def round_steps(low: float, high: float, count: int = 5, whole: bool = False) -> list[float]:
    """About ``count`` multiples of 1, 2 or 5 times a power of ten.

    >>> round_steps(0, 1), round_steps(1, 60, whole=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0, 60.0])
    """
    rough = (high - low) / count
    if not rough > 0:
        return [low]
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(f * size for f in (1, 2, 5, 10, 20) if f * size >= rough * 0.99)
    step = max(1.0, step) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def powers(low: float, high: float, count: int = 5) -> list[float]:
    """Powers of ten, with their doubles and fives where there is room.

    >>> powers(0.02, 1.0), powers(1e-8, 1.0)
    ([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [1e-08, 1e-06, 0.0001, 0.01, 1.0])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices: Sequence[Callable[[], list[float]]] = (
        lambda: [f * 10.0**e for e in exponents for f in (1, 2, 5)],
        lambda: [10.0**e for e in exponents],
        lambda: [10.0**e for e in exponents if e % 2 == 0],
        lambda: [10.0**e for e in exponents if e % max(1, len(exponents) // count) == 0],
    )
    for choice in choices:
        inside = [v for v in choice() if low * 0.999 <= v <= high * 1.001]
        if len(inside) <= count + 2:
            break
    return inside


__all__ = ["WIDTH", "Scale", "drawing", "powers", "round_steps", "text"]
