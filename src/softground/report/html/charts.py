"""The curves of a run, as line charts over the epochs: which metrics belong together, and how each picture is read.

A drawing has fixed coordinates and is scaled to the width of its card. A chart has a key above it with each line's last
value, and shows an epoch's values under the pointer.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ...figures import Figure
from ..progress import title
from ..words import is_number, number, percent, short

WIDTH = 380  # of a chart's own coordinates: close to a phone's, so that text keeps its size there
HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 220, 22, 36, 46, 10
MOST_POINTS, MOST_TITLES = 800, 120
BRIEF = 6  # values that fit below a chart
Band = tuple[int, int, str]  # first and last epoch without a value to draw, such as γ = ∞, and the reason
LOG_FROM = 20.0  # a range of more than this factor is drawn by its logarithm
Records = Sequence[Mapping[str, Any]]
# Metrics of one picture: the name of its line, and what it means.
TRAINING = {
    "feasible": ("feasible", "feasible: predictions that explain their answer, for which no label is needed."),
    "grounded_symbols": ("grounded", "grounded: chains at the true symbol; chains never see it."),
    "train_symbol_accuracy": ("symbols", "symbols: predictions at the true symbol."),
}
FROZEN = "moved: chains that a step changed. Near zero they are frozen, which is fine once they are correct."
CHAINS = {
    "acceptance": ("acceptance", "acceptance: proposals taken."),
    "moved": ("moved", FROZEN),
    "unknown": ("unknown", "unknown: queries on which the solver gave up."),
    "used": ("used", "used: examples that Stage II learnt from."),
}
GAMMA = "The temperature of Q*: at ∞ chains wander freely over S_y, at 1 they follow the network, at 0 they take its "
GAMMA += "best feasible guess."
LOSS = "−log P(z|x) per site: how surprised the network is by what it is taught."
SOLVER = "Queries since the run began or was last resumed; their chains did not move."
COUNTS = {
    "unexplained": "Training examples whose answer no symbols explain. Nothing was learnt from them.",
    "unstarted": "Training examples without known feasible symbols yet; the search tries again in every epoch.",
}
PLACED = {"stage", "epoch", "gamma", "loss", "seconds", *TRAINING, *CHAINS}
# Colour, name, meaning.
PARTS = {
    "network": ("c1", "network", "forward and backward passes, and the optimiser"),
    "sampling": ("c2", "sampling", "kernel steps, the solver's time aside"),
    "solver": ("c3", "solver", "the inverse projection: Z3, or what stands for it"),
    "rest": ("c6", "the rest", "reading data, evaluation, bookkeeping"),
}
RISING = "Seconds per epoch; a rising line is a solver or a machine in trouble."


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


class Frame(NamedTuple):
    """Axes: ``x`` from left to right, ``y`` from the bottom up, with their marks as (coordinate, words)."""

    width: float
    height: float
    x: Scale
    y: Scale
    rows: list[tuple[float, str]]
    columns: list[tuple[float, str]]
    name: str  # of the horizontal axis


class ChartLine(NamedTuple):
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
    lines: list[ChartLine]
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
        # The first epoch always has a mark, so a mark that would touch it is left out.
        marks = [1.0, *(v for v in round_steps(1, self.epochs.count, 5, whole=True) if v > 1 and x(v) - x(1) > 18)]
        return Frame(WIDTH, HEIGHT, x, y, rows, [(x(v), f"{v:.0f}") for v in marks], "epoch")

    def at(self, line: ChartLine) -> list[tuple[float, float]]:
        """Coordinates of a line's points, thinned where there are very many."""
        stride = -(-len(line.points) // MOST_POINTS)
        points = line.points[::stride] + ([line.points[-1]] if (len(line.points) - 1) % stride else [])
        return [(self.frame.x(epoch), self.frame.y(value)) for epoch, value in points]

    def columns(self) -> Iterator[tuple[float, float, str, str]]:
        """Invisible columns (left, width, words, in brief) that show an epoch's values when pointed at or touched."""
        known = [(line.name, dict(line.points)) for line in self.lines]
        stride = -(-self.epochs.count // MOST_TITLES)
        for epoch in range(1, self.epochs.count + 1, stride):
            facts = [f"{name} {self.form(values[epoch])}" for name, values in known if epoch in values]
            brief = [self.form(values[epoch]) if epoch in values else "–" for _, values in known]
            some = [*brief[:BRIEF], "…"] if len(brief) > BRIEF else brief
            words = "\n".join([f"epoch {epoch}", *facts]), f"epoch {epoch}: {' · '.join(some)}"
            yield *self.between(epoch - stride / 2, epoch + stride / 2), *words

    def between(self, first: float, last: float) -> tuple[float, float]:
        """(left, width) of some epochs, inside the frame."""
        left, right = max(LEFT, self.frame.x(first)), min(WIDTH - RIGHT, self.frame.x(last))
        return left, max(0.0, right - left)


def shares(heading: str, lede: str, lines: Sequence[ChartLine], epochs: Epochs) -> Chart:
    """Shares, from 0 to 100 percent."""
    inside = [line._replace(points=[(i, v) for i, v in line.points if 0 <= v <= 1]) for line in lines]
    return Chart(heading, lede, [line for line in inside if line.points], epochs, percent)


def numbers(heading: str, lede: str, lines: Sequence[ChartLine], epochs: Epochs, bands: Sequence[Band] = ()) -> Chart:
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
    stride = -(-len(exponents) // (count + 2))
    fine, coarse = (
        [v for v in marks if low * 0.999 <= v <= high * 1.001]
        for marks in ([f * 10.0**e for e in exponents for f in (1, 2, 5)], [10.0**e for e in exponents[::stride]])
    )
    return fine if len(fine) <= count + 2 else coarse


def curves(history: Records) -> list[Chart]:
    """A chart for each group of metrics that the records have values for."""
    epochs = epochs_of(history)
    known = {key: Figure.parse(key) for key in keys(history)}
    held_out, validation = (
        {k: (short(f._replace(data="")), "") for k, f in known.items() if f.data == data and f.share and not f.shape}
        for data in ("test", "validation")
    )
    shapes = {k: (short(f), "") for k, f in known.items() if f.shape and f.name == "feasible"}
    chains = {k: v for k, v in CHAINS.items() if any(p[1] for p in points(history, k))}
    charts = [
        _shares(history, epochs, held_out, "Held-out data", "Examples that the network has never seen."),
        _shares(
            history, epochs, validation, "Validation part", "Training examples held out: nothing is learnt from them."
        ),
        _shares(history, epochs, TRAINING, "Training data"),
        _shares(history, epochs, shapes, "Training data by shape", "Examples that the network's own reading explains."),
        _gamma(history, epochs),
        numbers("Loss", LOSS, [ChartLine("", "c1", points(history, "loss"))], epochs),
        _shares(history, epochs, chains, "Chains"),
    ]
    for key, figure in known.items():
        if key not in PLACED | held_out.keys() | validation.keys() and not figure.shape:
            where = "On held-out data, after each epoch." if figure.data else "The mean of each epoch."
            where = SOLVER if key.startswith("solver_") else COUNTS.get(key, where)
            line = ChartLine("", "c1", points(history, key))
            charts.append(numbers(short(figure).capitalize(), where, [line], epochs))
    return [chart for chart in charts if chart.lines or chart.bands]


def keys(history: Records) -> list[str]:
    """Every metric that has a number in some epoch, in order of appearance."""
    return list(dict.fromkeys(k for record in history for k, value in record.items() if is_number(value)))


def points(history: Records, key: str) -> list[tuple[int, float]]:
    """A metric's values by epoch, counted through the stages from 1."""
    return [(i, float(r[key])) for i, r in enumerate(history, start=1) if is_number(r.get(key))]


def epochs_of(history: Records) -> Epochs:
    """The axis: stages in order."""
    named = [(i, title(str(record.get("stage", "?")))) for i, record in enumerate(history, start=1)]
    return Epochs(max(1, len(history)), [next(group) for _, group in groupby(named, lambda pair: pair[1])])


def _shares(
    history: Records, epochs: Epochs, names: Mapping[str, tuple[str, str]], heading: str, lede: str = ""
) -> Chart:
    """Shares in one picture; by default the lede says what each of them means."""
    lines = [
        ChartLine(name, colour(place), points(history, key)) for place, (key, (name, _)) in enumerate(names.items())
    ]
    meanings = [meaning for line, (_, meaning) in zip(lines, names.values(), strict=True) if line.points]
    return shares(heading, lede or " ".join(meanings), lines, epochs)


def _gamma(history: Records, epochs: Epochs) -> Chart:
    """γ, where ∞ and (on a logarithmic scale) 0 are bands rather than points."""
    found = points(history, "gamma")
    positive = [(i, v) for i, v in found if v > 0]
    infinite = [i for i, r in enumerate(history, start=1) if "gamma" in r and r["gamma"] is None]
    bands = [(*ends, "γ = ∞") for ends in _runs(infinite)]
    if not positive or spans([v for _, v in positive]):
        bands += [(*ends, "γ = 0") for ends in _runs([i for i, v in found if v == 0])]
        found = positive
    return numbers("Temperature γ", GAMMA, [ChartLine("γ", "c1", found)], epochs, bands)


def _runs(epochs: list[int]) -> list[tuple[int, int]]:
    """Neighbouring epochs as (first, last).

    >>> _runs([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    cuts = [0, *(k for k, (a, b) in enumerate(pairwise(epochs), start=1) if b != a + 1), len(epochs)]
    return [(epochs[a], epochs[b - 1]) for a, b in pairwise(cuts)] if epochs else []


class Timing(NamedTuple):
    """Parts as (colour, name, meaning, seconds in all), and a line for each by epoch; 0 where nothing was timed."""

    parts: list[tuple[str, str, str, float]]
    total: float
    chart: Chart


def timing(history: Records) -> Timing:
    """The time of a run."""
    epochs = [(i, split(r["seconds"])) for i, r in enumerate(history, 1) if isinstance(r.get("seconds"), Mapping)]
    parts = [(*words, sum(epoch[part] for _, epoch in epochs)) for part, words in PARTS.items()]
    lines = [ChartLine(words[1], words[0], [(i, epoch[part]) for i, epoch in epochs]) for part, words in PARTS.items()]
    high = max((value for line in lines for _, value in line.points), default=0.0) or 1.0
    chart = Chart("Epoch by epoch", RISING, lines, epochs_of(history), "{:.3g} s".format, 0.0, high)
    return Timing(parts, sum(spent for *_, spent in parts), chart)


def split(spent: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by part, with what no part accounts for.

    >>> split({"network": 3.0, "sampling": 1.0, "solver": 0.0, "total": 5.0})
    {'network': 3.0, 'sampling': 1.0, 'solver': 0.0, 'rest': 1.0}
    """
    known = {k: max(0.0, float(v)) for k, v in spent.items() if is_number(v)}
    parts = {part: known.get(part, 0.0) for part in ("network", "sampling", "solver")}
    return parts | {"rest": max(0.0, known.get("total", 0.0) - sum(parts.values()))}
