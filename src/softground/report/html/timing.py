"""Where the time went: the whole run as one bar, and each epoch as a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .curves import Records
from .markup import Html, tag
from .numbers import is_number, seconds
from .parts import card, table
from .svg import WIDTH, Scale, drawing, round_steps, text

PARTS = {
    "network": ("c1", "network", "forward and backward passes, and the optimiser"),
    "sampling": ("c2", "sampling", "kernel steps, the solver's time aside"),
    "solver": ("c3", "solver", "the inverse projection: Z3, or what stands for it"),
    "rest": ("c6", "the rest", "reading data, evaluation, bookkeeping"),
}
HEIGHT, TOP, BOTTOM, LEFT = 200, 10, 36, 46
MOST_COLUMNS = 100


def split(spent: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by part, with what no part accounts for.

    >>> split({"network": 3.0, "sampling": 1.0, "solver": 0.0, "total": 5.0})
    {'network': 3.0, 'sampling': 1.0, 'solver': 0.0, 'rest': 1.0}
    """
    parts = {
        k: max(0.0, float(spent[k])) if is_number(spent.get(k)) else 0.0 for k in ("network", "sampling", "solver")
    }
    total = float(spent["total"]) if is_number(spent.get("total")) else 0.0
    return parts | {"rest": max(0.0, total - sum(parts.values()))}


def totals(history: Records) -> dict[str, float]:
    """Seconds by part over all epochs."""
    epochs = [split(r["seconds"]) for r in history if isinstance(r.get("seconds"), Mapping)]
    return {part: sum(epoch[part] for epoch in epochs) for part in PARTS}


def timing(history: Records) -> list[Html]:
    """The cards of this section; none where nothing was timed."""
    spent = totals(history)
    whole = sum(spent.values())
    if not whole:
        return []
    rows = [
        [
            tag("span", tag("i", class_=f"swatch {PARTS[part][0]}"), PARTS[part][1]),
            PARTS[part][2],
            seconds(value),
            f"{value / whole:.1%}",
        ]
        for part, value in spent.items()
    ]
    lede = f"{seconds(whole)} in {len(history):,} epochs."
    words = table(["part", "what it is", "time", "share"], rows, class_="times")
    return [
        card("The whole run", lede, bar(spent, whole), words),
        card(
            "Epoch by epoch",
            "Seconds per epoch; a rising column is a solver or a machine in trouble.",
            columns(history),
        ),
    ]


def bar(spent: Mapping[str, float], longest: float) -> Html:
    """Parts of a whole beside each other; a run that took ``longest`` fills the width."""
    pieces = [
        tag(
            "span",
            class_=PARTS[part][0],
            style=f"width:{100 * value / longest:.2f}%",
            title=f"{PARTS[part][1]} {seconds(value)}",
        )
        for part, value in spent.items()
        if value > 0
    ]
    return tag("div", pieces, class_="bar")


def columns(history: Records) -> Html:
    """A stacked column per epoch, or per group of epochs where they are many."""
    epochs = [split(r["seconds"]) for r in history if isinstance(r.get("seconds"), Mapping)]
    size = -(-len(epochs) // MOST_COLUMNS)
    groups = [_mean(epochs[k : k + size]) for k in range(0, len(epochs), size)]
    high = max(sum(g.values()) for g in groups)
    x = Scale(0, len(groups), LEFT, WIDTH - 8)
    y = Scale(0, high, HEIGHT - BOTTOM, TOP)
    parts = []
    for value in y.ticks(4):
        parts.append(tag("line", x1=LEFT, x2=x.end, y1=y(value), y2=y(value), class_="grid"))
        parts.append(text(LEFT - 6, y(value) + 4, f"{value:g} s", class_="tick", anchor="end"))
    gap = 1.5 if len(groups) < 50 else 0.5
    width = min(40.0, x(1) - x(0) - gap)
    for k, group in enumerate(groups):
        low, pieces = 0.0, []
        for part, value in group.items():
            pieces.append(
                tag(
                    "rect",
                    x=x(k + 0.5) - width / 2,
                    width=width,
                    y=y(low + value),
                    height=y(low) - y(low + value),
                    class_=f"fill {PARTS[part][0]}",
                )
            )
            low += value
        name = (
            f"epoch {k + 1}" if size == 1 else f"epochs {k * size + 1}–{min(len(epochs), (k + 1) * size)}, on average"
        )
        facts = [f"{PARTS[part][1]} {seconds(value)}" for part, value in group.items() if value]
        parts.append(tag("g", tag("title", "\n".join([name, *facts])), pieces))
    shown = [v for v in round_steps(1, len(epochs), 4, whole=True) if v > 1]
    for value in [1.0, *[v for v in shown if x(v / size) - x(1 / size) > 18]]:
        parts.append(
            text(x((value - 0.5) / size), HEIGHT - BOTTOM + 16, f"{value:.0f}", class_="tick", anchor="middle")
        )
    parts.append(text((LEFT + x.end) / 2, HEIGHT - 4, "epoch", class_="axis", anchor="middle"))
    return drawing(WIDTH, HEIGHT, parts, label="Seconds by epoch and part")


def _mean(group: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {part: sum(epoch[part] for epoch in group) / len(group) for part in PARTS}


__all__ = ["PARTS", "bar", "columns", "split", "timing", "totals"]
