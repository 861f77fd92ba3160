"""What could not be matched, and what came out otherwise: read off the figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import layout, published
from .sudoku import SIZES
from .summary import Figure, Results
from .tables import decimal, formula_figures

BASELINES = ("rl", "mapo", "ngs", "ssl", "ssl-code", "na", "na-code", "mcmc")


@dataclass(frozen=True)
class Comparison:
    """One number of the paper beside ours."""

    what: str
    method: str
    stage: str
    paper: float
    ours: Figure

    @property
    def text(self) -> str:
        """As a line of a list."""
        near = ", within a standard deviation" * (abs(self.ours.mean - self.paper) <= self.ours.sd)
        return f"{self.what}: {self.ours} here, {decimal(self.paper)} in the paper{near}."


def comparisons(results: Results) -> Iterator[Comparison]:
    """Every number of Tables 1, 2 and 3 that was measured."""
    for row in (*layout.HWF, *layout.COMBINATIONS):
        paper = published.HWF.get(row.key)
        figures = formula_figures(results, f"hwf/standard/{row.method}", row.stage)
        for metric, number, figure in zip(("symbol", "calculation"), paper or (), figures, strict=False):
            if figure is not None:
                yield Comparison(f"HWF, {_name(row)}, {metric} accuracy", row.method, row.stage, number, figure)
    for row in layout.SUDOKU:
        for size, number in zip(SIZES, published.SUDOKU.get(row.key, ()), strict=False):
            figure = results.test(f"sudoku/{size}/{row.method}", row.stage, "board_accuracy")
            if figure is not None:
                yield Comparison(f"Sudoku, {_name(row)}, {size} boards", row.method, row.stage, number, figure)


def _name(row: layout.Row) -> str:
    if row.group == layout.CODE:
        return f"{row.label} (as in the authors' code)"
    return f"{row.label} ({'Stage I + II' if row.stage == 'II' else 'Stage I'})" if row in layout.OURS else row.label


def unmatched(results: Results) -> list[str]:
    """Numbers of the paper's own method that ours do not reach."""
    below = [c for c in comparisons(results) if not _baseline(c) and c.ours.mean < c.paper]
    return [f"- {c.text}" for c in below]


def beyond_labels(results: Results) -> list[str]:
    """Numbers of the paper that the same network does not reach here even with labels: no sampler could."""
    lines = []
    for c in comparisons(results):
        labels = None if _baseline(c) else _labels(results, c)
        if labels is not None and labels.mean < c.paper:
            lines.append(f"- {c.what}: {decimal(c.paper)} in the paper, {labels} here with labels.")
    return lines


def _labels(results: Results, comparison: Comparison) -> Figure | None:
    """What SUP reaches where the comparison was made."""
    if comparison.what.startswith("HWF"):
        symbol, calculation = formula_figures(results, "hwf/standard/sup", "SUP")
        return symbol if "symbol" in comparison.what else calculation
    size = next(size for size in SIZES if comparison.what.endswith(f" {size} boards"))
    return results.test(f"sudoku/{size}/sup", "SUP", "board_accuracy")


def stronger_baselines(results: Results, margin: float = 1.0) -> list[str]:
    """Baselines that do better here than in the paper, by a point or more."""
    above = [c for c in comparisons(results) if _baseline(c) and c.ours.mean >= c.paper + margin]
    return [f"- {c.text}" for c in above]


def semantic_wins(results: Results) -> list[str]:
    """Where the exact semantic loss, which the paper calls intractable, beats the best of the paper's method here."""
    places = [("HWF, calculation accuracy", "hwf/standard", "calculation_accuracy")]
    places += [(f"Sudoku, {size} boards", f"sudoku/{size}", "board_accuracy") for size in SIZES]
    lines = []
    for what, table, metric in places:
        loss = results.test(f"{table}/semantic", "I", metric)
        ours = [results.test(f"{table}/{row.method}", row.stage, metric) for row in layout.OURS]
        best = max((f for f in ours if f is not None), key=lambda f: f.mean, default=None)
        if loss is not None and best is not None:
            verdict = _lead(loss, best, "it wins", "it does not win", "neither wins")
            lines.append(f"- {what}: {verdict}, {loss} against {best} for the best schedule after both stages.")
    return lines


def path_remarks(results: Results) -> list[str]:
    """The two statements about the SDSP figure, which has no numbers, in ours."""

    def best(methods: tuple[str, ...], stage: str) -> Figure | None:
        found = [results.test(f"sdsp/{method}", stage, "path_accuracy") for method in methods]
        return max((f for f in found if f is not None), key=lambda f: f.mean, default=None)

    ours, others = best(("log", "exp", "linear"), "II"), best(("rl", "mapo", "ssl", "na"), "I")
    labels = results.test("sdsp/sup", "SUP", "path_accuracy")
    if ours is None or others is None or labels is None:
        return []
    holds = _lead(ours, others, "holds", "does not hold", "cannot be told")
    return [
        "",
        f"'Our methods are better than competitors' {holds} here: {ours} for the best schedule after both stages, "
        f"{others} for the best competitor. 'Close to the direct supervision case': SUP finds {labels}.",
    ]


def _lead(one: Figure, other: Figure, ahead: str, behind: str, neither: str) -> str:
    """Which of two figures leads; a lead within a standard deviation is none."""
    lead = one.mean - other.mean
    return neither if abs(lead) <= max(one.sd, other.sd) else ahead if lead > 0 else behind


def _baseline(comparison: Comparison) -> bool:
    return comparison.method in BASELINES


__all__ = ["beyond_labels", "comparisons", "path_remarks", "semantic_wins", "stronger_baselines", "unmatched"]
