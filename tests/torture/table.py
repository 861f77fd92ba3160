"""The table of ``docs/torture.md``, from the JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .trials import trials

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "torture.json"
PAGE = ROOT / "docs" / "torture.md"
BEGIN, END = "<!-- trials -->\n", "<!-- end of trials -->"


def table(page: dict[str, Any]) -> str:
    """One row per trial, in the words of the trial; the record holds commands, commits, machines and all figures."""
    known, lines = trials(), ["| fault | expected | survived |", "| --- | --- | --- |"]
    for key, record in sorted(page.items(), key=lambda item: item[1]["row"]):
        what, must_hold = (
            (known[key].what, known[key].must_hold) if key in known else (record["what"], record["must_hold"])
        )
        survived = f"{record['survived']:,} of {record['tried']:,}"
        survived = f"not run: {record['not_run']}" if "not_run" in record else survived
        lines.append(f"| {what} | {must_hold} | {survived} |")
    return "\n".join(lines) + "\n"


def write(page: dict[str, Any]) -> None:
    """Put the table between the page's two marks."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + table(page) + END + after)


__all__ = ["PAGE", "RESULTS", "table", "write"]
