"""The reproduction in ten sentences: what holds here, and what does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from . import bias, judgements, verdict
from .epochs import BEST, LAST, epoch_figure
from .sudoku import SIZES
from .summary import Results

VALUES, PATHS = "calculation_accuracy", "path_accuracy_all"


def lines(results: Results) -> list[str]:
    """Every verdict whose figures are on record, numbered."""
    found = [text for make in VERDICTS for text in make(results)]
    return [f"{number}. {text}" for number, text in enumerate(found, 1)]


def _formulas(results: Results) -> Iterator[str]:
    own = [c for c in verdict.comparisons(results) if c.family == "hwf/standard/exp" and "calculation" in c.what]
    words = {True: "inside our interval", False: "outside our interval", None: "one run"}
    found = [f"{c.ours} % after stage {c.stage}, {c.paper:g} in the paper ({words[c.inside]})" for c in own]
    if found:
        yield f"**Formulas, exponential cooling**, correct values: {'; '.join(found)}."


def _sudoku(results: Results) -> Iterator[str]:
    found = [c for c in verdict.comparisons(results) if c.what.startswith("Sudoku") and c.stage == "II"]
    found = [c for c in found if c.method in ("log", "exp", "linear") and not c.what.endswith(f" {SIZES[0]} boards")]
    if found:
        lower = sum(c.ours.mean < c.paper for c in found)
        mean = sum(c.ours.mean - c.paper for c in found) / len(found)
        yield (
            f"**Sudoku, {SIZES[1]} to {SIZES[-1]} boards**, both stages: {lower} of {len(found)} figures are lower "
            "than "
            f"the paper's, {mean:+.1f} points on average."
        )


def _walk(results: Results) -> Iterator[str]:
    walk, exact = (results.test(f"hwf/standard/{name}", "II", VALUES) for name in ("exp", "exact"))
    if walk and exact:
        leads = verdict.lead(exact, walk, "the sum leads", "the walk leads", "neither leads")
        yield f"**Exact sums against the walk**, both cooled, both stages: {exact} and {walk} % of the values; {leads}."


def _treated_alike(results: Results) -> Iterator[str]:
    found = judgements.annealing(results)
    first, after = ([line for line in found if stage in line] for stage in ("after Stage I:", "after both stages"))
    if found:
        leads, buys = (sum("cooling leads" in line for line in each) for each in (first, after))
        yield (
            "**Annealing against fixed temperatures**, treated alike: it leads "
            f"in {leads} of {len(first)} comparisons after Stage I, in {buys} of {len(after)} after both stages."
        )


def _hard(results: Results) -> Iterator[str]:
    hard, best = (results.test(f"hwf/standard/{name}", "I", VALUES) for name in ("hard-best", "linear"))
    if hard and best:
        leads = verdict.lead(hard, best, "the hard one leads", "softening leads", "neither leads")
        yield (
            f"**The hard grounding** that the paper argues against: {hard} % of the values after Stage I, linear "
            f"cooling {best}; {leads}."
        )


def _collapse(results: Results) -> Iterator[str]:
    found = " ".join(judgements.collapse(results))
    shares = re.search(r"With ten walks (\d+ of \d+) collapse, as in the authors' code (\d+ of \d+)", found)
    if shares:
        yield (
            f"**SSL and NA below 10 % in the last epoch**: {shares[1]} cases with ten walks, {shares[2]} as in the "
            f"authors' code (Sudoku alone). {fall(results)}"
        )


def fall(results: Results) -> str:
    """How much formulas lose between the best epoch and the last, over the methods whose curves are on record."""
    methods = {"ssl": "SSL", "na": "NA", "log": "Log", "linear": "Linear"}
    lost = {}
    for method, name in methods.items():
        best, last = (epoch_figure(results, f"hwf/standard/{method}", "I", which) for which in (BEST, LAST))
        if best and last:
            lost[name] = best.mean - last.mean
    if not lost:
        return ""
    each = ", ".join(f"{name} {points:.0f}" for name, points in lost.items())
    return f"Points of calculation accuracy lost between the best epoch and the last: {each}."


def _mcmc(results: Results) -> Iterator[str]:
    found = judgements.crude(results)
    if found:
        leads = sum("the projection leads" in line for line in found)
        yield f"**The projection against a walk without one**, Sudoku: it leads in {leads} of {len(found)} comparisons."


def _log(results: Results) -> Iterator[str]:
    for line in judgements.logarithmic(results):
        yield "**Log after Stage II**: " + line.removeprefix("- Log against Exp: ")


def _paths(results: Results) -> Iterator[str]:
    runs = (("exp", "II"), ("sup", "SUP"), ("ssl", "II"))
    ours, labels, alike = (results.test(f"sdsp/recursive/{name}", stage, PATHS) for name, stage in runs)
    if ours and labels and alike:
        yield f"**Shortest paths**: {ours} % of the paths; with labels {labels}, SSL with Stage II {alike}."


def _proposition(results: Results) -> Iterator[str]:
    found = [
        line for line in (*bias.inequality(results), *bias.remark(results)) if "holds in" in line or "Verdict" in line
    ]
    if len(found) > 1:
        held, remark = found[0].split(": it ")[-1], found[-1].split("**")[1].removeprefix("Verdict: ")
        yield (
            f"**Proposition 1**: the inequality {held} Of the remark that the bias is wiped out: {remark} "
            "([appendix](../papers/li2023/APPENDIX.md))"
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

__all__ = ["fall", "lines"]
