"""What was chosen on validation data, as a table and as half a sentence; from ``benchmarks/results/choose.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from candidates import GROUPS
from choose import complete
from provenance import origin, read_page

from softground.data.examples import APART

PAGE = Path(__file__).resolve().parent / "results" / "choose.json"
BY_TEST = "were chosen by looking at test figures"
TITLES = {
    "hwf": "formulas, `--preset best`",
    "hwf, several lengths": "formulas of 1, 3, 5 and 7 symbols, `--preset best`",
    "evenodd, ten labels": "EvenOdd, one label per digit, `--preset best`",
    "evenodd, two labels": "EvenOdd, a 0 and a 1 labelled, `--preset best`",
    "half": "Half, `--preset best`",
    "kandlogic, three labels": "Kand-Logic, three labels, `--preset best`",
    "validity, four labels": "Sudoku's validity, four labels, `--preset best`",
    "sudoku": "Sudoku, 500 boards, `--preset best`",
    "sudoku, 9x9": "9×9 Sudoku, 1,000 boards, `--preset best`",
    "sudoku, semantic loss": "Sudoku, 500 boards, `--preset paper --objective semantic`",
    "hwf, semantic loss": "formulas, `--preset paper --objective semantic`",
    "sdsp": "shortest paths, `--preset best`",
    "sdsp, gibbs": "shortest paths, `--network mlp --relabel --kernel gibbs`",
    "sums, 100 digits": "sums of 100 digits, `--preset best`",
    "sums, 1,024 digits": "sums of 1,024 digits, `--preset best`",
    "addition": "addition of one digit, `--preset best`",
}
SHARED = ("evenodd, ten labels", "evenodd, two labels", "half")  # drawn with replacement


def groups() -> dict[str, Any]:
    """What was chosen, group by group, where every candidate was tried."""
    found: dict[str, Any] = read_page(PAGE)["groups"] if PAGE.exists() else {}
    return {name: found[name] for name in TITLES if name in found and complete(GROUPS[name], found[name]["candidates"])}


def said(name: str, otherwise: str = BY_TEST) -> str:
    """How a group's settings were chosen; a sentence says of what."""
    return "were chosen on validation data" if name in groups() else otherwise


def table() -> str:
    """Every candidate's validation figure in percent, seed by seed, the choice in bold."""
    found = groups()
    if not found:
        return "Not measured yet."
    lines = ["| preset or row | candidate | validation figure, % | seconds |", "| --- | --- | --- | --- |"]
    for name, group in found.items():
        for label, own in group["candidates"].items():
            values = ", ".join(f"{100 * run['validation'][group['figure']]:.2f}" for run in own["runs"])
            shown = f"**{label}**" if label == group["choice"] else label
            lines.append(f"| {TITLES[name]} | {shown} | {100 * own['mean']:.2f} ({values}) | {own['seconds']:.0f} |")
    runs = [run for group in found.values() for own in group["candidates"].values() for run in own["runs"]]
    commands = ", ".join(f"`{command}`" for command in sorted({run["command"] for run in runs}))
    lines += [
        "",
        "*preset* is the preset as it was then. Mean over seeds, in brackets each seed. "
        f"Measured by {commands} {origin(runs)}.{shared(found)}",
    ]
    return "\n".join(lines)


def shared(found: dict[str, Any]) -> str:
    """A sentence on groups whose runs are older than images put away for validation."""
    old = [
        TITLES[name].split(",")[0]
        for name in SHARED
        if name in found
        and any(APART not in run["note"] for own in found[name]["candidates"].values() for run in own["runs"])
    ]
    names = " and ".join(dict.fromkeys(old))
    return f" About a fifth of the validation images of {names} were training images too." if old else ""
