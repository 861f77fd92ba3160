"""The tables of docs/speed.md, from ``benchmarks/results/{step,inverse,memory,whole_run,growth}.json``.

``tables.py`` puts them into the document. A dash stands where nothing has been measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FILES = ("step", "inverse", "memory", "whole_run")
STEPS = {"formulas": "formulas", "sudoku": "Sudoku", "sdsp": "shortest paths"}
Page = dict[str, Any]


class Row(NamedTuple):
    """A line of the table."""

    title: str
    figure: str
    least: str
    aim: str
    cpu: str
    gpu: str


def speed(results: Path) -> str:
    """Every ratio beside what is asked of it."""
    step, inverse, memory, whole = (read(results, name) for name in FILES)
    rows = []
    for name in [*STEPS, *(key for key in step if key not in STEPS and key != "measured")]:
        asked = ("≤ 1.2", "≤ 1.05") if name == "formulas" else ("≤ 2", "≤ 1.25") if name in STEPS else ("", "")
        title = f"training step, {STEPS.get(name, name)}"
        rows.append(Row(title, "time / time with labels", *asked, *pair(step.get(name))))
    faster = "throughput / the paper's way"
    for name in ("table", "enumeration"):
        cells = {device: found[name] for device, found in inverse.get("formulas", {}).items() if name in found}
        asked = ("≥ 1,000", "≥ 10,000 CPU, ≥ 100,000 GPU") if name == "table" else ("", "")
        rows.append(Row(f"inverse projection, {name}", faster, *asked, *pair(cells)))
    solver = inverse.get("z3", {})
    workers = f"{solver['workers']} workers" if solver else "a worker per core"
    rows.append(Row(f"inverse by Z3, {workers}", faster, "≥ 4", "≥ 10", ratio(solver), "–"))
    rows.append(Row("inverse by Z3, one process", faster, "", "", ratio(solver.get("one_process")), "–"))
    for name, title in (("hwf", "whole HWF run to 95 %"), ("digits", "whole run to 95 %, embedded digits")):
        asked = ("≤ 600 CPU, ≤ 30 GPU", "≤ 240 CPU, ≤ 10 GPU") if name == "hwf" else ("", "")
        found = whole.get(name, {})
        rows.append(Row(title, "seconds, training / in all", *asked, run(found.get("cpu")), run(found.get("cuda"))))
    rows.append(Row("memory, formulas", "peak / peak with labels", "≤ 1.5", "≤ 1.1", *pair(memory.get("formulas"))))
    lines = ["| benchmark | figure | at least | aim | CPU | GPU |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", "Medians, with quartiles in brackets." + notes(inverse, whole, read(results, "whole_run_choice"))]
    lines += ["", *(provenance([step, inverse, memory, whole]) or ["Not measured yet."])]
    return "\n".join(lines)


def growth(results: Path, images: Path | None = None) -> str:
    """Fitted exponents, quality against size, and the pictures that exist."""
    page = read(results, "growth")
    parts = {"length": "formula length", "data": "training formulas", "batch": "batch", "vertices": "vertices"}
    lines = [
        "| time of | against | device | exponent | last three points | steepest step over linear |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for part, title in parts.items():
        for device, name, figures in series(page, part):
            if "exponent" in figures:
                points, worst = figures["points"], figures["worst_step"]
                sizes = f"{points[0]['size']:,} … {points[-1]['size']:,}"
                exponents = f"{figures['exponent']:.2f} | {figures['tail']:.2f}"
                steepest = f"{worst['over_linear']:.2f} ({worst['between']})"
                lines.append(f"| {name} | {title}, {sizes} | {device} | {exponents} | {steepest} |")
    lines += ["", *switches(page), *qualities(page)]
    for part in [*parts, "quality"]:
        if images is not None and part in page and (images / f"growth-{part}.png").exists():
            lines += ["", f"![Growth: {parts.get(part, 'chain quality')}](images/growth-{part}.png)"]
    lines += ["", *(provenance([page]) or ["Not measured yet."])]
    return "\n".join(lines)


def switches(page: Page) -> Iterator[str]:
    """What it costs to go from a table to enumeration at the last length that has both."""
    for device, found in sorted(page.get("length", {}).items()):
        for kernel in ("guided", "collapsed"):
            table, other = (found.get(f"{kernel}, {kind}", {}).get("points", []) for kind in ("table", "enumeration"))
            by_size = {p["size"]: p["seconds"]["median"] for p in other}
            if table and table[-1]["size"] in by_size:
                size, seconds = table[-1]["size"], table[-1]["seconds"]["median"]
                yield (
                    f"Switching from a table to enumeration at length {size} makes a {kernel} step on the {device} "
                    f"{by_size[size] / seconds:.1f} times as long. "
                )


def qualities(page: Page) -> list[str]:
    """Share of rightly grounded symbols per length, and per number of vertices what chains are worth."""
    lines: list[str] = []
    for found in first(page, "quality"):
        half, scratch = found["half-trained"]["points"], found["from scratch"]["points"]
        lines += [
            "",
            "| formula length | " + " | ".join(str(p["size"]) for p in half) + " |",
            "| --- |" + " --- |" * len(half),
        ]
        kinds = {
            "at_start": "chains at the start",
            "grounded": "chains after 50 rounds, half-trained network",
            "exact": "exact Q\\* of that network",
            "network": "that network's own reading",
        }
        rows = [(title, half, key) for key, title in kinds.items()]
        rows += [("chains after 200 gradient steps from scratch", scratch, "grounded")]
        rows += [("formulas for which a first state was found", half, "started")]
        for title, points, key in rows:
            lines.append(f"| {title} | " + " | ".join(f"{p[key]:.3f}" if key in p else "–" for p in points) + " |")
    for found in first(page, "vertices"):
        names = {"network": "noisy distances", "gibbs": "after 5 Gibbs sweeps", "nearest": "nearest feasible points"}
        lines += ["", "| vertices | " + " | ".join(names.values()) + " |", "| --- |" + " --- |" * len(names)]
        for p in found["quality"]["points"]:
            cells = [f"{p[n]['feasible']:.2f} / {p[n]['path_accuracy']:.2f} / {p[n]['spearman']:.2f}" for n in names]
            lines.append(f"| {p['size']} | " + " | ".join(cells) + " |")
        lines += ["", "Feasible states / shortest paths found / Spearman's correlation with the true distances."]
    return lines


def first(page: Page, part: str) -> list[dict[str, Any]]:
    """The first device's figures of a part, or nothing: chains are worth the same on all of them."""
    return [found for _, found in sorted(page.get(part, {}).items())][:1]


def series(page: Page, part: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for device, found in sorted(page.get(part, {}).items()):
        for name, figures in found.items():
            yield device, name, figures


def read(results: Path, name: str) -> Page:
    """A file's page; empty where there is none."""
    path = results / f"{name}.json"
    page: Page = json.loads(path.read_text()) if path.exists() else {}
    return page


def pair(figures: dict[str, Any] | None) -> tuple[str, str]:
    """The CPU's and the GPU's ratio."""
    return ratio((figures or {}).get("cpu")), ratio((figures or {}).get("cuda"))


def ratio(figure: dict[str, Any] | None) -> str:
    """``1.03 (1.02–1.05)``; a star marks a ratio across machines.

    >>> ratio({"ratio": 12345.6, "spread": {"low": 11111.1, "high": 13333.3}})
    '12,300 (11,100–13,300)'
    """
    if not figure or "ratio" not in figure:
        return "–"
    spread = figure.get("spread")
    return (
        number(figure["ratio"])
        + (f" ({number(spread['low'])}–{number(spread['high'])})" if spread else "")
        + " \\*" * ("baseline" in figure)
    )


def number(value: float) -> str:
    """Three digits that count, more only before the point."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def run(figure: dict[str, Any] | None) -> str:
    if not figure:
        return "–"
    seconds = figure["seconds"]
    missed = "" if figure["reached"] else f"; only {100 * figure['accuracy']:.1f} % reached"
    return f"{seconds['training']['median']:.1f} / {seconds['total']['median']:.1f}{missed}"


def notes(inverse: Page, whole: Page, choice: Page) -> str:
    found = [f for d in inverse.get("formulas", {}).values() for f in d.values() if "baseline" in f]
    text = f" \\* {found[0]['baseline']}." if found else ""
    if "paper" in inverse:
        text += f" The paper's way answered {number(inverse['paper']['throughput'])} queries a second."
    for device, figure in sorted(whole.get("hwf", {}).items()):
        text += f" HWF on the {device}: `{figure['command_line']}`, {len(figure['runs'])} seeds, at most "
        text += f"{figure['epochs']} epochs to 95 %"
        if "grammatical_accuracy" in figure:
            least = f"{100 * figure['grammatical_accuracy']:.1f} % at least"
            text += f" over all readings; the most probable formula is then right in {least}."
        else:  # before 0.3.0
            text += " over grammatical readings; over all readings nothing is on record."
        text += f" Its schedule and image size {chosen(choice, device, figure)}."
    return text


def chosen(choice: Page, device: str, figure: Page) -> str:
    """How the settings of a whole run were chosen: those that came out best, or others."""
    found = choice.get("hwf", {}).get(device, {})
    best = found.get("candidates", {}).get(found.get("choice"), {}).get("settings")
    recipe = figure["runs"][0].get("recipe") or {}
    own = recipe | recipe.get("problem", {})
    if best and own and all(own[name] == value for name, value in best.items()):
        return "were chosen by the time to 95 % of training formulas that were put away"
    return "were chosen by looking at this figure"


def provenance(pages: list[Page]) -> list[str]:
    """Which command measured what, where and at which commit."""
    lines = []
    for page in pages:
        for _, found in sorted(page.get("measured", {}).items()):
            about = found["environment"]
            machine = about["gpu"] or f"{about['cpus']} CPU cores"
            versions = f"torch {about['torch']}, commit {found['commit']}, seed {found['seed']}"
            lines.append(f"- `{found['command']}`: {machine}, {versions}")
    return lines
