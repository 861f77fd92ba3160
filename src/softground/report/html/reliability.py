"""Reliability diagrams: how often what is read with a confidence is right, in the ten bins of a calibration error."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..numbers import is_number, percent, worded
from .lines import BOTTOM, LEFT, RIGHT, WIDTH, Frame, Scale

HEIGHT, TOP, FLOOR, LOWEST = 310, 66, 52, 16  # of the drawing; of both its parts, the upper one counts symbols
BINS = 10
HEADINGS = {"test": "Held-out data", "validation": "Validation part"}
COLUMNS = ("readings", "confidence", "accuracy")


class Bar(NamedTuple):
    """A bin in coordinates: its left edge and width, where accuracy and mean confidence are, how high its count is."""

    x: float
    width: float
    right: float
    sure: float
    many: float
    words: str
    brief: str


class Diagram(NamedTuple):
    """A drawing and its table."""

    heading: str
    lede: str
    frame: Frame
    floor: float  # of the counts
    bars: list[Bar]
    rows: list[list[str]]
    renamed: bool


def diagrams(summary: Mapping[str, Any]) -> list[Diagram]:
    """One for each held-out data set of a run's summary."""
    found = summary.get("reliability")
    sets = found.items() if isinstance(found, dict) else []
    renamed = "relabelled_symbol_ece" in summary
    return [diagram(str(name), bins, renamed) for name, given in sets if (bins := _bins(given))]


def diagram(name: str, bins: list[tuple[int, float, float, float]], renamed: bool) -> Diagram:
    """Lay the bins out: (number, symbols, mean confidence, share that is right)."""
    x, y = Scale(0, 1, LEFT, WIDTH - RIGHT), Scale(0, 1, HEIGHT - BOTTOM, TOP)
    marks = [k / 5 for k in range(6)]
    rows, columns = ([(scale(v), percent(v)) for v in marks] for scale in (y, x))
    frame = Frame(WIDTH, HEIGHT, x, y, rows, columns, "confidence")
    total, most = (f([n for _, n, _, _ in bins]) for f in (sum, max))
    bars, table = [], []
    for k, n, sure, right in bins:
        edges = f"{10 * k} to {10 * k + 10}%"
        cells = [edges, f"{n:,.0f}", f"{sure:.1%}", f"{right:.1%}", f"{100 * (right - sure):+.1f}"]
        words = f"confidence {edges}: {cells[1]} symbols, mean confidence {cells[2]}, right {cells[3]}"
        table.append(cells)
        brief = f"{edges}: {cells[1]} symbols, {cells[3]} right"
        bars.append(Bar(x(k / BINS), x(0.1) - x(0), y(right), y(sure), (FLOOR - LOWEST) * n / most, words, brief))
    error = sum(n * abs(right - sure) for _, n, sure, right in bins) / total
    right = sum(n * right for _, n, _, right in bins) / total
    lede = f"ECE {error:.2%}; {right:.2%} of {total:,.0f} symbols are right."
    words = worded(name)
    return Diagram(HEADINGS.get(name, words[:1].upper() + words[1:]), lede, frame, FLOOR, bars, table, renamed)


def _bins(given: Any) -> list[tuple[int, float, float, float]]:
    """The bins that are not empty; a file may hold anything."""
    columns = [given.get(name) for name in COLUMNS] if isinstance(given, dict) else [None]
    if not all(isinstance(column, list) and len(column) == BINS for column in columns):
        return []
    rows = [(k, *row) for k, row in enumerate(zip(*columns, strict=True))]
    return [row for row in rows if all(map(is_number, row)) and row[1] > 0 and all(0 <= v < 1.01 for v in row[2:])]
