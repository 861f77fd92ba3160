"""The tables of docs/speed.md, from ``benchmarks/results/{step,inverse,memory,whole_run}.json``.

``tables.py`` puts them into the document. A dash stands where nothing has been measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from provenance import read_page

FILES = ("step", "inverse", "memory", "whole_run")
STEPS = {"formulas": "formulas", "sudoku": "Sudoku", "sdsp": "shortest paths"}
Page = dict[str, Any]


class Row(NamedTuple):
    """A line of the table."""

    title: str
    figure: str
    cpu: str
    gpu: str


def speed(results: Path) -> str:
    """Every measured ratio."""
    step, inverse, memory, whole = (read(results, name) for name in FILES)
    rows = []
    for name in [*STEPS, *(key for key in step if key not in STEPS and key != "measured")]:
        title = f"training step, {STEPS.get(name, name)}"
        rows.append(Row(title, "time / time with labels", *pair(step.get(name))))
    faster = "throughput / the paper's way"
    for name in ("table", "enumeration"):
        cells = {device: found[name] for device, found in inverse.get("formulas", {}).items() if name in found}
        rows.append(Row(f"inverse projection, {name}", faster, *pair(cells)))
    solver = inverse.get("z3", {})
    workers = f"{solver['workers']} workers" if solver else "a worker per core"
    rows.append(Row(f"inverse by Z3, {workers}", faster, ratio(solver), "–"))
    rows.append(Row("inverse by Z3, one process", faster, ratio(solver.get("one_process")), "–"))
    for name, title in (("hwf", "whole HWF run to 95 %"), ("digits", "whole run to 95 %, embedded digits")):
        found = whole.get(name, {})
        rows.append(Row(title, "seconds, training / in all", run(found.get("cpu")), run(found.get("cuda"))))
    rows.append(Row("memory, formulas", "peak / peak with labels", *pair(memory.get("formulas"))))
    lines = ["| benchmark | figure | CPU | GPU |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows if {row.cpu, row.gpu} != {"–"}]
    lines += ["", "Medians, with quartiles in brackets." + notes(inverse, whole, read(results, "whole_run_choice"))]
    lines += ["", *(provenance([step, inverse, memory, whole]) or ["Not measured yet."])]
    return "\n".join(lines)


def read(results: Path, name: str) -> Page:
    """A file's page; empty where there is none."""
    path = results / f"{name}.json"
    page: Page = read_page(path) if path.exists() else {}
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
        text += f" The paper's way answered {number(inverse['paper']['throughput'])} queries per second."
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
        return "were chosen on held-out training formulas, by the time to 95 %"
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
