"""Several runs side by side: figures, what was asked for differently, curves on common axes, time on a common scale."""

import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

from ...files import replace_file
from ...runs import RunFolder
from ..facts import Facts, groups, spreads
from ..words import figure, flat, is_brief, is_number, is_share, spoken
from .charts import PARTS, Chart, Epochs, Line, colour, keys, numbers, points, shares, timing
from .page import render

FIRST = ("feasible", "grounded_symbols", "train_symbol_accuracy", "gamma", "loss", "acceptance", "moved")
ANY = ("train_size", "image_size")  # of a problem: what runs that are ranked need not share
HEADINGS = {"wall_seconds": "time", "grounded": "training examples explained"}


class Run(NamedTuple):
    """A run, and what it is called on the page."""

    facts: Facts
    place: int
    letter: str
    colour: str


def write_comparison(folders: Sequence[RunFolder], path: Path) -> Path:
    """Write a page with several runs side by side."""
    replace_file(path, compare_page([Facts.read(folder) for folder in folders]).encode())
    return path


def compare_page(given: Sequence[Facts]) -> str:
    """Facts of runs in, one HTML document out."""
    runs = [Run(facts, place, letter(place), colour(place)) for place, facts in enumerate(given)]
    seeds = _seeds(runs)
    timings = [(run, timing(run.facts.history)) for run in runs]
    return render(
        "compare.html",
        runs=runs,
        tasks=", ".join(dict.fromkeys(run.facts.task for run in runs)),
        figures=_figures(given),
        seeds=seeds,
        seed_figures=list(dict.fromkeys(name for _, found in seeds for name in found)),
        settings=_settings(given),
        charts=_charts(runs),
        timings=timings,
        longest=max(spent.total for _, spent in timings),
        parts=PARTS.values(),
    )


def letter(place: int) -> str:
    """What a run is called on the page: A, B, …, Z, AA, AB, …

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    before = letter(place // 26 - 1) if place >= 26 else ""
    return before + ascii_uppercase[place % 26]


def _figures(runs: Sequence[Facts]) -> dict[str, list[tuple[str, bool]]]:
    """By heading, each run's figure in words, and whether it is the best among runs of the same task, rule and data."""
    kinds = [_kind(run) for run in runs]
    rows: list[dict[str, Any]] = []
    for run in runs:
        more = {name: run.summary.get(name) for name in ("grounded", "wall_seconds", "parameters", "seed")}
        rows.append(
            {k: v for k, v in run.final.items() if is_number(v) and is_brief(k)} | more | {"epochs": len(run.history)}
        )
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        rivals: list[set[Any]] = [
            {v for k, v in zip(kinds, values, strict=True) if k == kind and is_number(v)} for kind in kinds
        ]
        most = min if name.endswith("_ece") else max
        best = [is_share(name) and len(r) > 1 and v == most(r) for r, v in zip(rivals, values, strict=True)]
        found[HEADINGS.get(name, spoken(name))] = [(_words(name, v), b) for v, b in zip(values, best, strict=True)]
    return found


def _kind(run: Facts) -> tuple[str, dict[str, str]]:
    """What runs must share to be ranked: a task of the library and its problem, or else what the rule says.

    The rule's digest is no use where there is a recipe: it is taken with the training answers, which a seed draws.
    """
    recipe = run.config.get("recipe")
    problem = recipe.get("problem") if isinstance(recipe, dict) else None
    if not isinstance(problem, dict):
        return run.task, flat({"rule": run.config.get("rule")})
    return run.task, flat({name: value for name, value in problem.items() if name not in ANY})


def _seeds(runs: Sequence[Run]) -> list[tuple[list[Run], dict[str, str]]]:
    """Runs that differ in their seed alone, with mean ± sd of each figure by its heading."""
    found = []
    for places in groups([run.facts for run in runs]):
        members = [runs[place] for place in places]
        each = spreads([run.facts for run in members])
        found.append((members, {HEADINGS.get(n, spoken(n)): spread.words(n) for n, spread in each.items()}))
    return found


def _words(name: str, value: Any) -> str:
    return str(value) if name == "seed" and is_number(value) else figure(name, value)


def _settings(runs: Sequence[Facts]) -> list[dict[str, list[str]]]:
    """What differs, by its path: first what was asked for, then what follows from it part by part."""
    settings = [{"task": run.task} | flat(run.asked) for run in runs]
    rows = {name: [found.get(name, "–") for found in settings] for found in settings for name in found}
    found = {name: [_short(v) for v in values] for name, values in rows.items() if len(set(values)) > 1}
    asked = {name: values for name, values in found.items() if name == "task" or name.startswith("recipe")}
    rest = {name: values for name, values in found.items() if name not in asked}
    return [asked, rest] if asked else [rest, {}]


def _short(value: str) -> str:
    """A digest by its beginning, and nothing in a word."""
    return f"{value[:8]}…" if re.fullmatch("[0-9a-f]{64}", value) else value or "none"


def _charts(runs: Sequence[Run]) -> list[Chart]:
    present = list(dict.fromkeys(k for run in runs for k in keys(run.facts.history) if k != "epoch"))
    held_out = [k for k in present if k.startswith(("test_", "validation_"))]
    epochs = Epochs(max([1, *[len(run.facts.history) for run in runs]]), [])
    charts = []
    for name in dict.fromkeys([*held_out, *[k for k in FIRST if k in present], *present]):
        lines = [Line(run.letter, run.colour, points(run.facts.history, name)) for run in runs]
        if any(v for line in lines for _, v in line.points):  # a line that never leaves zero is no news
            heading = {"gamma": "γ", "train_symbol_accuracy": "symbol"}.get(name, spoken(name))
            if name not in ("gamma", "loss"):
                heading += ", held-out" if name in held_out else ", training"
            charts.append((shares if is_share(name) else numbers)(heading, "", lines, epochs))
    return charts
