"""Several runs side by side: figures, what was asked for differently, curves on common axes, time on a common scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from ..facts import Facts
from .config import value
from .confusion import draw, worst
from .curves import keys, percent, points
from .lines import COLOURS, Epochs, Line, line_chart
from .markup import Child, Html, tag
from .numbers import figure, is_number, is_share, number, seconds, spoken
from .page import contents, page
from .parts import card, cards, key, section, table
from .timing import PARTS, bar, totals

FIRST = ("feasible", "grounded_symbols", "train_symbol_accuracy", "gamma", "loss", "acceptance", "moved")
HIDDEN = {"epoch", "stage"}
# Where and how a run was shown says nothing about its result.
UNINTERESTING = {"out", "quiet", "tensorboard"}


def compare_page(runs: Sequence[Facts]) -> str:
    """Facts of runs in, one HTML document out."""
    sections = [
        ("figures", "Figures", _figures(runs)),
        ("options", "Options", _options(runs)),
        ("curves", "Curves", _curves(runs)),
        ("time", "Time", _time(runs)),
        ("symbols", "Symbols", _symbols(runs)),
    ]
    present = [(anchor, name, part) for anchor, name, part in sections if part is not None]
    tasks = ", ".join(dict.fromkeys(run.task for run in runs))
    return page(
        f"{len(runs)} runs of {tasks}",
        tag(
            "header",
            tag("p", "softground report", class_="kicker"),
            tag("h1", f"{len(runs)} runs side by side ", tag("span", tasks)),
            contents(*[(anchor, name) for anchor, name, _ in present]),
            class_="top",
        ),
        tag("main", [part for *_, part in present]),
        tag("footer", "Written by softground. This file is complete: it loads nothing and runs nothing.", class_="end"),
    )


def letter(place: int) -> str:
    """What a run is called on the page: A, B, …, Z, AA, AB, …

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    before = letter(place // 26 - 1) if place >= 26 else ""
    return before + ascii_uppercase[place % 26]


def badge(place: int) -> Html:
    """A run's letter in its colour."""
    return tag("span", letter(place), class_=f"badge c{place % COLOURS + 1}")


def _figures(runs: Sequence[Facts]) -> Html:
    rows: list[dict[str, Any]] = []
    for run in runs:
        final = list(run.moments.values())[-1] if run.moments else {}
        extra = {k: run.summary.get(k) for k in ("grounded", "wall_seconds", "parameters", "seed")}
        rows.append({k: v for k, v in final.items() if is_number(v)} | extra | {"epochs": len(run.history)})
    names = list(dict.fromkeys(k for row in rows for k in row))
    best = {k: _best([row.get(k) for row in rows]) for k in names if is_share(k) or k == "spearman"}
    head = ["run", *[_heading(k) for k in names]]
    body: list[list[Child]] = []
    for place, (run, row) in enumerate(zip(runs, rows, strict=True)):
        cells = [_cell(k, row.get(k), best.get(k)) for k in names]
        body.append([tag("span", badge(place), " ", run.name), *cells])
    lede = "Held-out figures at the end of each run; the best of each is in bold. Mind the seeds: one run is one draw."
    return section("figures", "Figures", lede, table(head, body, class_="figures"))


def _heading(name: str) -> str:
    return {"wall_seconds": "time", "grounded": "training examples explained"}.get(name, spoken(name))


def _best(values: Sequence[Any]) -> float | None:
    found = [float(v) for v in values if is_number(v)]
    return max(found) if len(set(found)) > 1 else None


def _cell(name: str, given: Any, best: float | None) -> Child:
    if name == "wall_seconds" and is_number(given):
        words = seconds(given)
    else:
        words = figure(name, given) if name != "seed" else value(given)
    return tag("b", words, class_="best") if best is not None and given == best else words


def _options(runs: Sequence[Facts]) -> Html:
    names = list(dict.fromkeys(k for run in runs for k in run.options if k not in UNINTERESTING))
    given = {k: [value(run.options.get(k)) for run in runs] for k in names}
    rows: list[list[Child]] = [["task", *[run.task for run in runs]]] if len({run.task for run in runs}) > 1 else []
    rows += [[tag("code", k), *values] for k, values in given.items() if len(set(values)) > 1]
    lede = "What the runs were asked to do differently; all else is the same."
    if not rows:
        return section("options", "Options", "The runs were asked to do the same.")
    return section(
        "options", "Options", lede, table(["option", *[badge(k) for k in range(len(runs))]], rows, class_="figures")
    )


def _curves(runs: Sequence[Facts]) -> Html | None:
    present = list(dict.fromkeys(k for run in runs for k in keys(run.history) if k not in HIDDEN))
    held_out = [k for k in present if k.startswith("test_")]
    rest = [k for k in present if k not in held_out and k not in FIRST]
    order = [*held_out, *[k for k in FIRST if k in present], *rest]
    epochs = Epochs(max([1, *[len(run.history) for run in runs]]), [])
    charts = [c for k in order if (c := _chart(k, runs, epochs)) is not None]
    if not charts:
        return None
    lede = "One picture per metric, one line per run, on the same axis of epochs."
    names = key(*[(f"c{k % COLOURS + 1}", f"{letter(k)} {run.name}") for k, run in enumerate(runs)])
    return section("curves", "Curves", lede, names, cards(*charts, class_="cards three"))


def _chart(name: str, runs: Sequence[Facts], epochs: Epochs) -> Html | None:
    lines = [Line(letter(k), k, points(run.history, name)) for k, run in enumerate(runs)]
    values = [v for line in lines for _, v in line.points]
    if not any(values):
        return None  # a line that never leaves zero is no news
    where = "held-out" if name.startswith("test_") else "training"
    words = {"gamma": "γ", "train_symbol_accuracy": "symbol"}.get(name, spoken(name))
    heading = words if name in ("gamma", "loss") else f"{words}, {where}"
    if is_share(name):
        return card(heading, None, line_chart(lines, epochs, percent, label=heading, low=0.0, high=1.0))
    log = min(values) > 0 and max(values) > 20 * min(values)
    low = None if log or min(values) < 0 else 0.0
    return card(
        heading,
        "Logarithmic scale." if log else None,
        line_chart(lines, epochs, number, label=heading, log=log, low=low),
    )


def _time(runs: Sequence[Facts]) -> Html | None:
    spent = [totals(run.history) for run in runs]
    longest = max(sum(s.values()) for s in spent)
    if not longest:
        return None
    rows = [
        tag(
            "div",
            badge(k),
            tag("div", tag("span", f"{run.name} · {seconds(sum(s.values()))}", class_="small"), bar(s, longest)),
            class_="timed",
        )
        for k, (run, s) in enumerate(zip(runs, spent, strict=True))
    ]
    names = key(*[(kind, name) for kind, name, _ in PARTS.values()])
    return section(
        "time", "Where the time went", "All bars have the same scale.", tag("div", names, rows, class_="card")
    )


def _symbols(runs: Sequence[Facts]) -> Html | None:
    found = []
    for k, run in enumerate(runs):
        matrices: Mapping[tuple[str, str], Any] = (
            {} if run.findings is None else {(m.rows, m.columns): m for m in run.findings.matrices}
        )
        matrix = matrices.get(("true", "predicted")) or matrices.get(("grounded", "predicted"))
        if matrix is not None and run.findings is not None:
            heading = f"{letter(k)}: {matrix.rows} against {matrix.columns}, {matrix.data}"
            found.append(card(heading, None, draw(matrix, run.findings.symbols), worst(matrix, run.findings.symbols)))
    if not found:
        return None
    lede = "Each row is a symbol, shaded by where it went; a red square is a confusion. Numbers are percent of the row."
    return section("symbols", "Symbols", lede, cards(*found, class_="cards three"))


__all__ = ["compare_page", "letter"]
