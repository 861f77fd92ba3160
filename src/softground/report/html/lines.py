"""A line chart over the epochs: a key above it with each line's last value, an epoch's values under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..numbers import number, percent
from .svg import WIDTH, Frame, Scale, epoch_marks

HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 220, 22, 36, 46, 10
MOST_POINTS, MOST_TITLES = 800, 120
Band = tuple[int, int, str]  # first and last epoch without a value to draw, such as γ = ∞, and a word on why
LOG_FROM = 20.0  # a range of more than this factor is drawn by its logarithm


class Line(NamedTuple):
    """One line: values by epoch (1, 2, …), and which of the page's colours it has."""

    name: str
    colour: str
    points: list[tuple[int, float]]


@dataclass(frozen=True)
class Epochs:
    """The horizontal axis: how many epochs, and where each stage begins."""

    count: int
    stages: list[tuple[int, str]]  # (first epoch, title)


@dataclass(frozen=True)
class Chart:
    """A chart and what its card says; ``low`` and ``high`` are the range of the values."""

    heading: str
    lede: str
    lines: list[Line]
    epochs: Epochs
    form: Callable[[float], str]
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    bands: Sequence[Band] = ()

    @cached_property
    def frame(self) -> Frame:
        """The axes."""
        x = Scale(1, max(2, self.epochs.count), LEFT, WIDTH - RIGHT)
        y = Scale(self.low, self.high, HEIGHT - BOTTOM, TOP, self.log)
        rows = [(y(value), self.form(value)) for value in y.ticks()]
        return Frame(WIDTH, HEIGHT, x, y, rows, epoch_marks(self.epochs.count, x), "epoch")

    def at(self, line: Line) -> list[tuple[float, float]]:
        """Coordinates of a line's points, thinned where there are very many."""
        stride = -(-len(line.points) // MOST_POINTS)
        points = line.points[::stride] + ([line.points[-1]] if (len(line.points) - 1) % stride else [])
        return [(self.frame.x(epoch), self.frame.y(value)) for epoch, value in points]

    def columns(self) -> Iterator[tuple[float, float, str]]:
        """Invisible columns (left, width, words) that show an epoch's values when pointed at."""
        known = [(line.name, dict(line.points)) for line in self.lines]
        stride = -(-self.epochs.count // MOST_TITLES)
        for epoch in range(1, self.epochs.count + 1, stride):
            facts = [f"{name} {self.form(values[epoch])}" for name, values in known if epoch in values]
            yield *self.between(epoch - stride / 2, epoch + stride / 2), "\n".join([f"epoch {epoch}", *facts])

    def between(self, first: float, last: float) -> tuple[float, float]:
        """(left, width) of some epochs, inside the frame."""
        left, right = max(LEFT, self.frame.x(first)), min(WIDTH - RIGHT, self.frame.x(last))
        return left, max(0.0, right - left)


def shares(heading: str, lede: str, lines: Sequence[Line], epochs: Epochs) -> Chart:
    """Shares, from 0 to 100 percent."""
    inside = [line._replace(points=[(i, v) for i, v in line.points if 0 <= v <= 1]) for line in lines]
    return Chart(heading, lede, [line for line in inside if line.points], epochs, percent)


def numbers(heading: str, lede: str, lines: Sequence[Line], epochs: Epochs, bands: Sequence[Band] = ()) -> Chart:
    """Any numbers: by their logarithms where they span orders of magnitude, else from 0 where none is below."""
    values = [v for line in lines for _, v in line.points] or [0.0, 1.0]
    log = spans(values)
    low = min(values) if log else min(0.0, *values)
    high = max(values) if max(values) > low else low + 1.0
    lede += " Logarithmic scale." if log else ""
    return Chart(heading, lede, [line for line in lines if line.points], epochs, number, low, high, log, bands)


def spans(values: Sequence[float]) -> bool:
    """Whether values are best drawn by their logarithms."""
    return bool(values) and min(values) > 0 and max(values) > LOG_FROM * min(values)


def colour(place: int) -> str:
    """The class of one of the page's six colours."""
    return f"c{place % 6 + 1}"
