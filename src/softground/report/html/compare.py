"""Several runs side by side: figures, differing settings, curves on common axes, time on a common scale."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...figures import Figure
from ...files import replace_file
from ...runs import RunFolder
from ..facts import Facts, groups, spreads
from ..words import flat, in_words, is_number, letter, short
from .charts import PARTS, Chart, ChartLine, Epochs, colour, keys, numbers, points, shares, timing
from .page import render

FIRST = ("feasible", "grounded_symbols", "train_symbol_accuracy", "gamma", "loss", "acceptance", "moved")
ANY = ("train_size", "image_size")  # of a problem: ranked runs may differ in these
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


def _figures(runs: Sequence[Facts]) -> dict[str, list[tuple[str, bool]]]:
    """Figures by heading: for each run the words, and whether it is the best among runs of its task, rule and data."""
    kinds = [_kind(run) for run in runs]
    found: dict[str, list[Figure]] = {}
    for name in dict.fromkeys(name for run in runs for name in run.short):
        found[name] = [run.short.get(name, Figure.parse(name)) for run in runs]
    for name in ("grounded", "wall_seconds", "parameters", "seed"):
        found[name] = [Figure(name, run.summary.get(name)) for run in runs]
    found["epochs"] = [Figure("epochs", len(run.history)) for run in runs]
    return {_heading(name): list(zip(map(_words, row), _best(row, kinds), strict=True)) for name, row in found.items()}


def _best(row: Sequence[Figure], kinds: Sequence[object]) -> list[bool]:
    """Whether a share is the best among runs of its kind, if they differ."""
    most, found = (min if row[0].name.endswith("_ece") else max), []
    for figure, kind in zip(row, kinds, strict=True):
        rivals = {other.value for other, k in zip(row, kinds, strict=True) if k == kind and is_number(other.value)}
        found.append(figure.share and len(rivals) > 1 and figure.value == most(rivals))
    return found


def _heading(name: str) -> str:
    return HEADINGS.get(name) or short(Figure.parse(name))


def _kind(run: Facts) -> tuple[str, dict[str, str]]:
    """What runs must share to be ranked: the task and its problem, or without a recipe the task and its rule.

    With a recipe, the rule's digest does not serve: it covers the training answers, which depend on the seed.
    """
    recipe = run.config.get("recipe")
    problem = recipe.get("problem") if isinstance(recipe, dict) else None
    if not isinstance(problem, dict):
        return run.task, flat({"rule": run.config.get("rule")})
    return run.task, flat({name: value for name, value in problem.items() if name not in ANY})


def _seeds(runs: Sequence[Run]) -> list[tuple[list[Run], dict[str, str]]]:
    """Groups of runs that differ only in their seed, with mean ± sd of each figure by heading."""
    found = []
    for places in groups([run.facts for run in runs]):
        members = [runs[place] for place in places]
        each = spreads([run.facts for run in members])
        found.append((members, {_heading(name): spread.words(name)[0] for name, spread in each.items()}))
    return found


def _words(figure: Figure) -> str:
    return str(figure.value) if figure.name == "seed" and is_number(figure.value) else in_words(figure)


def _settings(runs: Sequence[Facts]) -> list[dict[str, list[str]]]:
    """Settings that differ, by path: first those of the recipe, then what follows from them part by part."""
    settings = [{"task": run.task} | flat(run.settings) for run in runs]
    rows = {name: [found.get(name, "–") for found in settings] for found in settings for name in found}
    found = {name: [_short(v) for v in values] for name, values in rows.items() if len(set(values)) > 1}
    chosen = {name: values for name, values in found.items() if name == "task" or name.startswith("recipe")}
    rest = {name: values for name, values in found.items() if name not in chosen}
    return [chosen, rest] if chosen else [rest, {}]


def _short(value: str) -> str:
    """A digest cut to its beginning; an empty value in a word."""
    return f"{value[:8]}…" if re.fullmatch("[0-9a-f]{64}", value) else value or "none"


def _charts(runs: Sequence[Run]) -> list[Chart]:
    present = list(dict.fromkeys(k for run in runs for k in keys(run.facts.history) if k != "epoch"))
    held_out = [k for k in present if Figure.parse(k).data]
    epochs = Epochs(max([1, *[len(run.facts.history) for run in runs]]), [])
    charts = []
    for name in dict.fromkeys([*held_out, *[k for k in FIRST if k in present], *present]):
        lines = [ChartLine(run.letter, run.colour, points(run.facts.history, name)) for run in runs]
        if any(v for line in lines for _, v in line.points):  # a line that stays at zero says nothing
            heading = {"gamma": "γ", "train_symbol_accuracy": "symbol"}.get(name, short(Figure.parse(name)))
            if name not in ("gamma", "loss"):
                heading += ", held-out" if name in held_out else ", training"
            charts.append((shares if Figure.parse(name).share else numbers)(heading, "", lines, epochs))
    return charts
