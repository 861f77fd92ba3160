"""How cost and quality grow: with formula length, data-set size, batch size, and the vertices of a graph.

    python benchmarks/growth.py [--quick] [--devices cpu cuda] [--parts length quality data batch vertices] [--no-plots]

Times are medians with quartiles. Exponents are slopes of a least-squares line through log time against log size, over
all points and over the last three (``tail``), where fixed costs weigh less. ``worst_step`` is the largest growth of
time between two neighbouring sizes over the growth of the size: a cliff would stand out in it. Pictures go to
``docs/images/growth-*.png``. What each part does is said in
``growth_formulas.py``, ``growth_quality.py`` and ``growth_paths.py``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import growth_formulas
import growth_paths
import growth_quality
from measure import ROOT, destination, options, record

Part = Callable[[str, bool, int], dict[str, Any]]
PARTS: dict[str, Part] = {
    "length": growth_formulas.length,
    "quality": growth_quality.quality,
    "data": growth_formulas.data,
    "batch": growth_formulas.batch,
    "vertices": growth_paths.vertices,
}


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent of a power law through the points, by least squares in the logarithms.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    xs, ys = [math.log(s) for s in sizes], [math.log(t) for t in times]
    middle = sum(xs) / len(xs)
    return sum((x - middle) * y for x, y in zip(xs, ys, strict=True)) / sum((x - middle) ** 2 for x in xs)


def fitted(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Exponents, and the steepest step between neighbours, of ``[{"size", "seconds": {"median"}}]``."""
    if len(points) < 2:
        return {}
    sizes, times = [p["size"] for p in points], [p["seconds"]["median"] for p in points]
    pairs = list(zip(sizes, times, strict=True))
    steps = {f"{a} to {b}": (u / t) / (b / a) for (a, t), (b, u) in pairwise(pairs)}
    worst = max(steps, key=lambda name: steps[name])
    return {
        "exponent": slope(sizes, times),
        "tail": slope(sizes[-3:], times[-3:]),
        "worst_step": {"between": worst, "over_linear": steps[worst]},
    }


def with_fits(series: dict[str, Any]) -> dict[str, Any]:
    """Every series of timed points with its exponents."""
    done = {}
    for name, points in series.items():
        timed = isinstance(points, list) and points and all("seconds" in p for p in points)
        done[name] = {"points": points} | (fitted(points) if timed else {}) if isinstance(points, list) else points
    return done


def main() -> None:
    given = arguments().parse_args()
    folder = destination(given)
    page: dict[str, Any] = {}
    for device in given.devices:
        for name in given.parts:
            found = with_fits(PARTS[name](device, given.quick, given.seed))
            page = record("growth", {name: {device: found}}, seed=given.seed, device=device, folder=folder)
            for series, figures in found.items():
                fit = {k: v for k, v in figures.items() if k != "points"} if isinstance(figures, dict) else figures
                print(f"{device} {name}, {series}: {json.dumps(fit)}", flush=True)
    if given.plots and folder and page:
        import growth_plots

        pictures = growth_plots.draw(page, given.pictures)
        print("Pictures:", ", ".join(str(p) for p in pictures))


def arguments() -> argparse.ArgumentParser:
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--plots", action=argparse.BooleanOptionalAction, default=True, help="draw pictures")
    parser.add_argument("--pictures", type=Path, default=ROOT / "docs" / "images", help="folder of the pictures")
    return parser


if __name__ == "__main__":
    main()
