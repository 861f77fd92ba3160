r"""What could not be matched, and what came out otherwise: read off the figures.

The paper gives one run's number. Whether it could be one more run of ours is judged by the 95 % prediction interval of
n seeds, :math:`\bar x \pm t_{n-1} s \sqrt{1 + 1/n}`, as far as it lies in 0 … 100; whether one of our figures leads
another, by the 95 % interval of the difference of their means, :math:`\pm t_\nu \sqrt{s^2/n + r^2/m}`, with Welch's
degrees of freedom ν, since the spreads of two methods differ.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scipy.stats import binomtest
from scipy.stats import t as student

from . import layout, published
from .epochs import BEST, epoch_figure
from .sudoku import SIZES
from .summary import Figure, Results
from .tables import decimal, formula_figures

BASELINES = ("rl", "mapo", "ngs", "ssl", "ssl-code", "na", "na-code", "mcmc", "mcmc-code")
CODE = "-code"  # ends the name of a method that runs as in the authors' code


@dataclass(frozen=True)
class Comparison:
    """One number of the paper beside ours."""

    what: str
    family: str  # of its cells
    stage: str
    paper: float
    ours: Figure

    @property
    def method(self) -> str:
        """As in a row."""
        return self.family.rsplit("/", 1)[1]

    @property
    def inside(self) -> bool | None:
        """Whether the paper's number is in the prediction interval of ours; one seed has none."""
        return None if self.ours.seeds < 2 else abs(self.ours.mean - self.paper) <= prediction(self.ours)

    @property
    def text(self) -> str:
        """As a line of a list."""
        judged = "" if self.inside is None else f"; {'inside' if self.inside else 'outside'} {between(self.ours)}"
        return f"{self.what}: {self.ours} here, {decimal(self.paper)} in the paper{judged}."


def prediction(figure: Figure) -> float:
    """Half the width of the 95 % prediction interval for one more run; two seeds at least."""
    n = figure.seeds
    return float(student.ppf(0.975, n - 1)) * figure.sd * math.sqrt(1 + 1 / n)


def between(figure: Figure) -> str:
    """That interval in words, as far as a share can lie in it."""
    half = prediction(figure)
    return f"{max(0.0, figure.mean - half):.1f} … {min(100.0, figure.mean + half):.1f}"


def lead(one: Figure, other: Figure, ahead: str, behind: str, neither: str) -> str:
    """Which of two figures leads; a difference inside its 95 % interval is no lead, nor is one of a single seed."""
    if min(one.seeds, other.seeds) < 2:
        return neither
    parts = [figure.sd**2 / figure.seeds for figure in (one, other)]
    weighed = sum(part**2 / (figure.seeds - 1) for part, figure in zip(parts, (one, other), strict=True))
    room = float(student.ppf(0.975, sum(parts) ** 2 / weighed)) * math.sqrt(sum(parts)) if weighed else 0.0
    difference = one.mean - other.mean
    return neither if abs(difference) <= room else ahead if difference > 0 else behind


def comparisons(results: Results) -> Iterator[Comparison]:
    """Every number of Tables 1, 2 and 3 that was measured."""
    for row in (*layout.HWF, *layout.COMBINATIONS):
        paper = published.HWF.get(row.key)
        family = f"hwf/standard/{row.method}"
        figures = formula_figures(results, family, row.stage)
        for metric, number, figure in zip(("symbol", "calculation"), paper or (), figures, strict=False):
            if figure is not None:
                yield Comparison(f"HWF, {layout.name(row)}, {metric} accuracy", family, row.stage, number, figure)
    for row in (*layout.SUDOKU, *layout.SUDOKU_CODE):
        for size, number in zip(SIZES, published.SUDOKU.get(row.key, ()), strict=False):
            family, what = f"sudoku/{size}/{row.method}", f"Sudoku, {layout.name(row)}, {size} boards"
            figure = results.test(family, row.stage, "board_accuracy")
            if figure is not None:
                yield Comparison(what, family, row.stage, number, figure)


def outside(results: Results) -> list[str]:
    """Numbers of the paper's own method outside the interval of ours, in both directions."""
    own = [c for c in _own(results) if c.inside is False and not c.method.endswith(CODE)]
    own.sort(key=lambda c: c.paper - c.ours.mean)
    return [f"- {c.text[:-1]}: {c.ours.mean - c.paper:+.1f} points." for c in own]


def unmatched(results: Results) -> list[str]:
    """Every number of the paper's own method, beside ours."""
    return [f"- {c.text}" for c in _own(results)]


def shortfall(results: Results) -> list[str]:
    """All of these numbers together, Sudoku's: how many are lower, and by how much on average."""
    found = [c for c in _own(results) if c.what.startswith("Sudoku")]
    code = [c for c in found if c.method.endswith(CODE)]
    best = [replace(c, ours=f) for c in code if (f := epoch_figure(results, c.family, c.stage, BEST)) is not None]
    plain = [c for c in found if c not in code]
    few = [c for c in plain if c.what.endswith(f" {SIZES[0]} boards")]
    groups = {
        f"Sudoku, {SIZES[0]} boards (at least 1,000 gradient steps here, 109 in the authors' code)": few,
        f"Sudoku, {SIZES[1]} to {SIZES[-1]} boards": [c for c in plain if c not in few],
        "As in the authors' code": code,
        "The best epoch there, chosen on test data": best,
    }
    return [line for title, group in groups.items() if group for line in ("", f"{title}: {_together(group)}.")]


def _together(found: Sequence[Comparison]) -> str:
    parts = []
    for stage, name in (("I", "after Stage I"), ("II", "after both stages")):
        differences = [c.ours.mean - c.paper for c in found if c.stage == stage]
        if differences:
            lower = sum(d < 0 for d in differences)
            mean = statistics.fmean(differences)
            off = f"{abs(mean):.1f} points {'lower' if mean < 0 else 'higher'}"
            chance = binomtest(lower, len(differences)).pvalue
            parts.append(
                f"{name} {lower} of {len(differences)} are lower, on average {off} (sign test, p = {chance:.3f})"
            )
    return "; ".join(parts)


def beyond_labels(results: Results) -> list[str]:
    """Numbers of the paper above what the same network reaches here with labels and without Stage II."""
    lines = []
    for c in (c for c in _own(results) if not c.method.endswith(CODE)):
        labels = _labels(results, c)
        if labels is not None and labels.mean < c.paper:
            lines.append(f"- {c.what}: {decimal(c.paper)} in the paper, {labels} here with labels.")
    return lines


def above_labels(results: Results) -> list[str]:
    """Rows above SUP on Sudoku by the same network, LeNet-5: what SUP reaches is no limit."""
    lines = []
    for size in SIZES:
        labels = results.test(f"sudoku/{size}/sup", "SUP", "board_accuracy")
        rows = [row for row in layout.SUDOKU if row.method not in ("sup", *layout.CONVOLUTIONAL)]
        figures = {row: results.test(f"sudoku/{size}/{row.method}", row.stage, "board_accuracy") for row in rows}
        above = [
            f"{layout.name(r)} {f}" for r, f in figures.items() if f is not None and labels and f.mean > labels.mean
        ]
        if above:
            lines.append(f"- {size} boards, SUP {labels}: {', '.join(above)}.")
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
    above = [c for c in comparisons(results) if c.method in BASELINES and c.ours.mean >= c.paper + margin]
    return [f"- {c.text}" for c in above]


def exact_wins(results: Results) -> list[str]:
    """Where exact sums, which the paper calls intractable, beat the best of the paper's method here: by the semantic
    loss, and by the exact kernel in the walk's place, after the stage that serves it best."""
    places = [("HWF, calculation accuracy", "hwf/standard", "calculation_accuracy")]
    places += [(f"Sudoku, {size} boards", f"sudoku/{size}", "board_accuracy") for size in SIZES]
    lines = []
    for what, table, metric in places:
        best = _highest([results.test(f"{table}/{row.method}", row.stage, metric) for row in layout.OURS])
        for name, keys in (
            ("the semantic loss", [("semantic", "I")]),
            ("the exact kernel, cooled as Exp", [("exact", "I"), ("exact", "II")]),
        ):
            exact = _highest([results.test(f"{table}/{method}", stage, metric) for method, stage in keys])
            if exact is not None and best is not None:
                verdict = lead(exact, best, "it wins", "it does not win", "neither wins")
                lines.append(f"- {what}, {name}: {verdict}, {exact} against {best} for the best schedule.")
    return lines


def _highest(figures: Sequence[Figure | None]) -> Figure | None:
    return max((f for f in figures if f is not None), key=lambda f: f.mean, default=None)


def _own(results: Results) -> Iterator[Comparison]:
    """The numbers of the paper's own method."""
    return (c for c in comparisons(results) if c.method not in BASELINES)


__all__ = [
    "above_labels",
    "between",
    "beyond_labels",
    "comparisons",
    "exact_wins",
    "lead",
    "outside",
    "prediction",
    "shortfall",
    "stronger_baselines",
    "unmatched",
]
