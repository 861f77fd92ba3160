"""A line chart over the epochs: direct labels at the lines' ends, the values of an epoch under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .markup import Html, tag
from .svg import WIDTH, Scale, drawing, round_steps, text

HEIGHT, TOP, BOTTOM, LEFT = 236, 22, 36, 46
CHARACTER = 7.2  # the width of a letter, roughly
LABEL_GAP = 15.0  # between the labels of two lines
MOST_POINTS, MOST_TITLES, MARKED = 800, 120, 12
COLOURS = 6


@dataclass(frozen=True)
class Line:
    """One line: values by epoch (1, 2, …), and which of the page's colours it has."""

    name: str
    colour: int
    points: list[tuple[int, float]]


@dataclass(frozen=True)
class Band:
    """Epochs ``first … last`` set apart, with a word on why."""

    first: int
    last: int
    name: str


@dataclass(frozen=True)
class Epochs:
    """The horizontal axis: how many epochs, and where each stage begins."""

    count: int
    stages: list[tuple[int, str]]  # (first epoch, title)


def line_chart(
    lines: Sequence[Line],
    epochs: Epochs,
    form: Callable[[float], str],
    *,
    label: str,
    low: float | None = None,
    high: float | None = None,
    log: bool = False,
    bands: Sequence[Band] = (),
    tick: Callable[[float], str] | None = None,
) -> Html:
    """Draw lines over the epochs.

    Parameters
    ----------
    form, tick
        How a value is written at the end of a line, and at the axis.
    low, high
        Range of the values; by default that of the lines.
    bands
        Epochs at which there is no value to draw, such as γ = ∞.
    """
    lines = [line for line in lines if line.points]
    values = [v for line in lines for _, v in line.points] or [0.0, 1.0]
    low, high = min(values) if low is None else low, max(values) if high is None else high
    if not high > low:
        low, high = (low / 2, high * 2) if log else (min(0.0, low), high or 1.0) if low >= 0 else (low, 0.0)
    ends = [(line, f"{shortened(line.name)} ", form(line.points[-1][1])) for line in lines]
    right = min(170.0, 14 + CHARACTER * max((len(name) + len(value) for _, name, value in ends), default=0))
    x = Scale(1, max(2, epochs.count), LEFT, WIDTH - right)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP, log)
    return drawing(
        WIDTH,
        HEIGHT,
        _grid(x, y, epochs, tick or form),
        [_band(band, x) for band in bands],
        [_line(line, x, y, epochs.count) for line in lines],
        _labels(ends, x.end + 8, y),
        _titles(lines, x, epochs.count, form),
        label=label,
    )


def shortened(name: str, most: int = 18) -> str:
    """A name that fits beside its line."""
    return name if len(name) <= most else name[: most - 1] + "…"


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Coordinates as near to ``places`` as they can be ``gap`` apart, in the same order, inside ``low … high``.

    >>> spread([50, 52, 90], 10, 0, 100), spread([99, 100], 10, 0, 100)
    ([46.0, 56.0, 90.0], [90.0, 100.0])
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[tuple[float, list[int]]] = []  # (middle, members): a group's labels stand gap apart
    for i in order:
        groups.append((float(places[i]), [i]))
        while True:
            middle, members = groups[-1]
            reach = gap * (len(members) - 1) / 2
            middle = min(max(middle, low + reach), high - reach)
            groups[-1] = middle, members
            if len(groups) < 2:
                break
            before, others = groups[-2]
            if middle - reach - (before + gap * (len(others) - 1) / 2) >= gap:
                break
            both = others + members
            groups[-2:] = [(sum(places[k] for k in both) / len(both), both)]
    found = [0.0] * len(places)
    for middle, members in groups:
        for k, i in enumerate(members):
            found[i] = middle + gap * (k - (len(members) - 1) / 2)
    return found


def _grid(x: Scale, y: Scale, epochs: Epochs, tick: Callable[[float], str]) -> list[Html]:
    parts = []
    for value in y.ticks():
        parts.append(tag("line", x1=LEFT, x2=x.end, y1=y(value), y2=y(value), class_="grid"))
        parts.append(text(LEFT - 6, y(value) + 4, tick(value), class_="tick", anchor="end"))
    shown = [v for v in round_steps(1, epochs.count, 4, whole=True) if v > 1]
    # The first epoch has its mark unless another would run into it.
    for value in [1.0, *[v for v in shown if x(v) - x(1) > 18]]:
        parts.append(text(x(value), HEIGHT - BOTTOM + 16, f"{value:.0f}", class_="tick", anchor="middle"))
    parts.append(text((LEFT + x.end) / 2, HEIGHT - 4, "epoch", class_="axis", anchor="middle"))
    for number, (first, name) in enumerate(epochs.stages):
        if number:
            place = x(first - 0.5)
            parts.append(tag("line", x1=place, x2=place, y1=TOP - 14, y2=HEIGHT - BOTTOM, class_="stage"))
        if len(epochs.stages) > 1:
            parts.append(text(x(first - 0.5) + 4 if number else LEFT, TOP - 8, name, class_="tick"))
    return parts


def _band(band: Band, x: Scale) -> Html:
    left, right = max(LEFT, x(band.first - 0.5)), min(x.end, x(band.last + 0.5))
    return tag(
        "g",
        tag("rect", x=left, y=TOP, width=max(2.0, right - left), height=HEIGHT - BOTTOM - TOP, class_="band"),
        text(left + 5, HEIGHT - BOTTOM - 8, band.name, class_="tick"),
    )


def _line(line: Line, x: Scale, y: Scale, epochs: int) -> Html:
    stride = -(-len(line.points) // MOST_POINTS)
    points = line.points[::stride] + ([line.points[-1]] if (len(line.points) - 1) % stride else [])
    path = " ".join(f"{x(e):.1f},{y(v):.1f}" for e, v in points)
    marks = points if epochs <= MARKED else points[-1:]
    return tag(
        "g",
        tag("polyline", points=path, class_="line"),
        [tag("circle", cx=x(e), cy=y(v), r=3, class_="mark") for e, v in marks],
        class_=f"c{line.colour % COLOURS + 1}",
    )


def _labels(ends: Sequence[tuple[Line, str, str]], x: float, y: Scale) -> list[Html]:
    places = spread([y(line.points[-1][1]) for line, *_ in ends], LABEL_GAP, TOP, HEIGHT - BOTTOM)
    return [
        tag(
            "text",
            name,
            tag("tspan", value, class_="value"),
            x=x,
            y=place + 4,
            class_=f"name c{line.colour % COLOURS + 1}",
        )
        for (line, name, value), place in zip(ends, places, strict=True)
    ]


def _titles(lines: Sequence[Line], x: Scale, epochs: int, form: Callable[[float], str]) -> list[Html]:
    """Invisible columns that show an epoch's values when pointed at."""
    known = [dict(line.points) for line in lines]
    stride = -(-epochs // MOST_TITLES)
    parts = []
    for epoch in range(1, epochs + 1, stride):
        facts = [
            f"{line.name} {form(values[epoch])}" for line, values in zip(lines, known, strict=True) if epoch in values
        ]
        left, right = max(LEFT, x(epoch - stride / 2)), min(x.end, x(epoch + stride / 2))
        title = tag("title", "\n".join([f"epoch {epoch}", *facts]))
        box = {"x": left, "y": float(TOP), "width": max(0.0, right - left), "height": float(HEIGHT - BOTTOM - TOP)}
        parts.append(tag("rect", title, **box, class_="hit"))
    return parts


__all__ = ["Band", "Epochs", "Line", "line_chart", "shortened", "spread"]
