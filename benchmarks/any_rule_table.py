"""The table of rules of one's own, from ``benchmarks/results/any_rule.json``."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from provenance import origin, read_page

LINES = {
    "mixed": (
        "three digits: their sum, or that it is below 20, or that a 7 is among them (10³ states)",
        ("z3", "cpmpy", "own"),
    ),
    "grid": ("3×4 grid of digits: sums of rows and columns (10¹² states)", ("cpmpy", "parts")),
    "large": ("4×5 grid of digits: the same (10²⁰ states)", ("cpmpy", "parts")),
    "killer": ("Killer Sudoku 4×4, 300 boards", ("cpmpy",)),
}
WORDS = {"z3": "Z3", "cpmpy": "CPMpy", "own": "own constraint", "parts": "`sg.All`", "labels": "with labels"}


def table(page: Path) -> str:
    """What was measured, with labels beside."""
    if not page.exists():
        return "Not measured yet."
    found = read_page(page)
    rows, runs = found["table"], found["runs"]
    head = "| rule | written in | way | symbols, % | answers, % | symbols with labels, % | seconds |"
    lines = [head, "| --- | --- | --- | --- | --- | --- | --- |"]
    for problem, (words, ways) in LINES.items():
        labels = rows.get(f"{problem}/labels")
        for way in ways:
            if (key := f"{problem}/{way}") in rows:
                own = [run for name, run in runs.items() if name.rsplit("/", 1)[0] == key]
                taken = ", ".join(sorted({run["choice"]["rung"] for run in own}))
                spent = sorted(run["wall_seconds"] for run in own)
                beside = _shown(labels, "symbol_accuracy") if labels else "–"
                figures = (_shown(rows[key], name) for name in ("symbol_accuracy", "answer_accuracy"))
                seconds = f"{spent[0]:.0f} to {spent[-1]:.0f}"
                lines.append(f"| {words} | {WORDS[way]} | {taken} | {' | '.join(figures)} | {beside} | {seconds} |")
    seeds = sorted({row["seeds"] for row in rows.values()})
    lines += _dials(runs) + _handed_over(rows)
    said = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    told = (
        f"The library chose the sampler in every row. Accuracy on held-out scikit-learn digits, mean ± sd over {said}, "
        "20 epochs. *Answers* counts whole examples. Seconds are of whole runs on a shared machine."
    )
    return "\n".join([told, "", *lines, "", f"Measured by `{found['command']}` {origin(runs.values())}."])


def _handed_over(rows: dict[str, Any]) -> list[str]:
    """What may follow when parts have taught most."""
    own = {
        way: _shown(rows[key], "symbol_accuracy")
        for way in ("parts", "zero", "chains")
        if (key := f"few/{way}") in rows
    }
    if len(own) < 3:
        return []
    return [
        "",
        f"Parts are not followed by another stage. From 60 grids of 3×4, after 20 epochs of parts, ten more epochs of "
        f"parts read {own['parts']} % of the digits, ten of Stage II {own['zero']} %, ten of chains on the whole rule "
        f"{own['chains']} %.",
    ]


def _dials(runs: dict[str, Any]) -> list[str]:
    """Readings of instruments: their error from totals, and over that from labels with the same seed."""
    pairs = [(runs[name], runs.get(name.replace("total", "labels"))) for name in runs if "instruments/total" in name]
    errors = [(own["error"], labels["error"]) for own, labels in pairs if labels is not None]
    if len(errors) < 2:
        return []
    total, labels, ratio = (
        f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
        for values in (*zip(*errors, strict=True), [a / b for a, b in errors])
    )
    said = (
        f"error {total} when trained on totals, {labels} when trained on labels, a ratio of {ratio} ({len(errors)} "
        "seeds)."
    )
    return ["", f"Three instruments of which only the total is known (`Equations`): {said}"]


def _shown(row: dict[str, Any], name: str) -> str:
    return f"{row[name]['mean']:.2f} ± {row[name]['sd']:.2f}"
