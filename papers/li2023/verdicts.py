"""The reproduction in ten sentences: what holds here, and what does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from . import judgements, verdict
from .sudoku import SIZES
from .summary import Results

VALUES, PATHS = "calculation_accuracy", "path_accuracy_all"


def lines(results: Results) -> list[str]:
    """Every verdict whose figures are on record, numbered."""
    found = [text for make in VERDICTS for text in make(results)]
    return [f"{number}. {text}" for number, text in enumerate(found, 1)]


def _formulas(results: Results) -> Iterator[str]:
    one, both = (results.test("hwf/standard/exp", stage, VALUES) for stage in ("I", "II"))
    if one and both:
        yield (
            f"**Formulas after both stages agree**: {both} % of the values with exponential cooling, 90.7 in the "
            "paper. "
            f"**After Stage I they do not**: {one} against 25.7. Ours are higher, on images of the opposite polarity."
        )


def _sudoku(results: Results) -> Iterator[str]:
    found = [c for c in verdict.comparisons(results) if c.what.startswith("Sudoku") and c.stage == "II"]
    found = [c for c in found if c.method in ("log", "exp", "linear") and not c.what.endswith(f" {SIZES[0]} boards")]
    if found:
        lower = sum(c.ours.mean < c.paper for c in found)
        mean = sum(c.ours.mean - c.paper for c in found) / len(found)
        yield (
            f"**Sudoku falls short**: with 100 to 500 boards {lower} of {len(found)} figures are lower, by {-mean:.1f} "
            "points on average."
        )


def _walk(results: Results) -> Iterator[str]:
    walk, exact = (results.test(f"hwf/standard/{name}", "II", VALUES) for name in ("exp", "exact"))
    if walk and exact:
        yield (
            f"**Exact sums do at least as well as the walk**: {exact} against {walk} % of the values, both cooled, "
            "both "
            "stages."
        )


def _treated_alike(results: Results) -> Iterator[str]:
    found = judgements.annealing(results)
    first, after = ([line for line in found if stage in line] for stage in ("after Stage I:", "after both stages"))
    if found:
        leads, buys = (sum("cooling leads" in line for line in each) for each in (first, after))
        yield (
            f"**Annealing helps Stage I in {leads} of {len(first)} comparisons** with fixed temperatures that are "
            "treated "
            f"alike, and in {buys} of {len(after)} after both stages."
        )


def _hard(results: Results) -> Iterator[str]:
    hard, best = (results.test(f"hwf/standard/{name}", "I", VALUES) for name in ("hard-best", "linear"))
    if hard and best:
        yield (
            f"**The hard grounding that the paper argues against is not trapped**: {hard} % of the values after "
            "Stage I, "
            f"the best schedule {best}."
        )


def _collapse(results: Results) -> Iterator[str]:
    found = " ".join(judgements.collapse(results))
    shares = re.search(r"With ten walks (\d+ of \d+) collapse, as in the authors' code (\d+ of \d+)", found)
    if shares:
        yield (
            f"**Below 10 % in the last epoch**: {shares[1]} cases of SSL and NA with ten walks, {shares[2]} as in the "
            "authors' code (Sudoku alone). On formulas they lose 20 to 35 points after pass 50, as do Log and Linear."
        )


def _mcmc(results: Results) -> Iterator[str]:
    found = judgements.crude(results)
    if found:
        leads = sum("the projection leads" in line for line in found)
        yield f"**The projection leads a walk without one** in {leads} of {len(found)} comparisons on Sudoku."


def _log(results: Results) -> Iterator[str]:
    for line in judgements.logarithmic(results):
        yield "**Log after Stage II**: " + line.removeprefix("- Log against Exp: ")


def _paths(results: Results) -> Iterator[str]:
    runs = (("exp", "II"), ("sup", "SUP"), ("ssl", "II"))
    ours, labels, alike = (results.test(f"sdsp/recursive/{name}", stage, PATHS) for name, stage in runs)
    if ours and labels and alike:
        yield (
            f"**Shortest paths are close to labels** ({ours} against {labels} %), and level with SSL once it has "
            "Stage II "
            f"({alike})."
        )


def _proposition(results: Results) -> Iterator[str]:
    if results.families.get("descent"):
        yield (
            "**Proposition 1's inequality holds in all cases tried; its remark does not**: the bias is not wiped out "
            "as "
            "γ falls ([appendix](../papers/li2023/APPENDIX.md))."
        )


VERDICTS: tuple[Callable[[Results], Iterator[str]], ...] = (
    _formulas,
    _sudoku,
    _walk,
    _treated_alike,
    _hard,
    _collapse,
    _mcmc,
    _log,
    _paths,
    _proposition,
)

__all__ = ["lines"]
