"""Plots of the records, by matplotlib (the extra ``plots``)."""

from __future__ import annotations

import importlib.util
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from . import layout
from .proposition import LONG
from .summary import Results

CURVES = "reproduction-curves.png"
PATHS = "reproduction-paths.png"
METRIC = "path_accuracy_all"
DISTANCES = "reproduction-distances.png"
# The methods that the paper's curves show.
DRAWN = {"mapo": "MAPO", "ngs": "NGS", "ssl": "SSL", "na": "NA", "log": "Log", "linear": "Linear"}
PANELS = {
    "train_symbol_accuracy": "training, symbol accuracy",
    "feasible": "training, calculation accuracy",
    "test_symbol_accuracy": "test, symbol accuracy",
    "test_calculation_accuracy": "test, calculation accuracy",
}


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw what there are records for; the files written, none where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return []
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    plots = {CURVES: _curves, PATHS: _paths, DISTANCES: _distances}
    return [folder / name for name, plot in plots.items() if plot(results, folder / name)]


def _curves(results: Results, path: Path) -> bool:
    """Stage I over its epochs, mean over seeds; the paper's layout, training above test."""
    from matplotlib import pyplot

    found = {
        method: [
            r["result"]["curves"] for r in results.families.get(f"hwf/standard/{method}", []) if "curves" in r["result"]
        ]
        for method in DRAWN
    }
    if not any(found.values()):
        return False
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), dpi=110, sharex=True)
    for axis, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        for method, curves in found.items():
            rows = [_stage_one(curve, name) for curve in curves]
            if rows and all(rows):
                mean = [100 * statistics.fmean(values) for values in zip(*rows, strict=False)]
                axis.plot(range(1, len(mean) + 1), mean, label=DRAWN[method])
        axis.set_title(title, fontsize=10)
        axis.set_ylim(0, 100)
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("epochs that update the network")
    _save(figure, path)
    return True


def _stage_one(curves: dict[str, list[Any]], name: str) -> list[float]:
    pairs = zip(curves["stage"], curves[name], strict=True)
    return [value for stage, value in pairs if stage == "I" and value is not None]


def _paths(results: Results, path: Path) -> bool:
    """Paths found on the authors' graphs, as they count them: a bar a method."""
    from matplotlib import pyplot

    figures = {row: results.test(f"sdsp/recursive/{row.method}", row.stage, METRIC) for row in layout.SDSP["recursive"]}
    rows = [(row, figure) for row, figure in figures.items() if figure is not None]
    if not rows:
        return False
    labels = [
        row.label.replace("`", "")
        + (" (code)" if row.group == layout.CODE else "")
        + (" I" if row.group == layout.STAGE_ONE else "")
        + (" I + II" if row.group == layout.BOTH else "")
        for row, _ in rows
    ]
    figure, axis = pyplot.subplots(figsize=(8, 4.5), dpi=110)
    axis.barh(range(len(rows)), [f.mean for _, f in rows], xerr=[f.sd for _, f in rows], color="#4878a8")
    axis.set_yticks(range(len(rows)), labels, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("of all 30 paths (%)")
    _save(figure, path)
    return True


def _distances(results: Results, path: Path) -> bool:
    """Distance to Q* against γ after ten steps, and against T at γ = 1, a line a number of dropped sites."""
    from matplotlib import pyplot

    rows = [row for record in results.families.get("proposition", []) for row in record["result"]["rows"]]
    if not rows:
        return False
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), dpi=110, sharey=True)
    for kernel, style in (("metropolis", "-"), ("collapsed", "--")):
        for number, dropped in enumerate(sorted({row["dropped"] for row in rows})):
            mine = [row for row in rows if row["kernel"] == kernel and row["dropped"] == dropped]
            look = {"color": f"C{number}", "linestyle": style, "label": f"{kernel}, {dropped} dropped"}
            axes[0].semilogx(*_means(mine, "gamma", "steps", 10), **look)
            axes[1].semilogx(*_means([r for r in mine if r["steps"] < LONG], "steps", "gamma", 1.0), **look)
    axes[0].set_xlabel("γ, after T = 10 steps")
    axes[1].set_xlabel("T, at γ = 1")
    axes[0].set_ylabel("total variation to Q*")
    axes[1].legend(fontsize=7)
    _save(figure, path)
    return True


def _means(rows: list[dict[str, Any]], key: str, fixed: str, value: float) -> tuple[list[float], list[float]]:
    groups: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        if row[fixed] == value:
            groups[row[key]].append(row["distance"])
    x = sorted(groups)
    return x, [statistics.fmean(groups[k]) for k in x]


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


__all__ = ["CURVES", "DISTANCES", "PATHS", "draw"]
