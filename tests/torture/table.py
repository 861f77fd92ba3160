"""The table of ``docs/torture.md``, from the JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.provenance import origin

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "torture.json"
PAGE = ROOT / "docs" / "torture.md"
COMMAND = "python -m torture"
BEGIN, END = "<!-- trials -->\n", "<!-- end of trials -->"


def table(page: dict[str, Any]) -> str:
    """One row a trial."""
    lines = ["| what | must hold | tried | survived | beside |", "| --- | --- | --- | --- | --- |"]
    for record in sorted(page.values(), key=lambda record: record["row"]):
        counts = "not run | –" if "not_run" in record else f"{record['tried']:,} | {record['survived']:,}"
        beside = record.get("not_run") or "; ".join(f"{name}: {_shown(v)}" for name, v in record["notes"].items())
        lines.append(f"| {record['what']} | {record['must_hold']} | {counts} | {beside} |")
    tried = [record for record in page.values() if "not_run" not in record]
    if tried:
        commands = ", ".join(f"`{command}`" for command in sorted({r.get("command", COMMAND) for r in tried}))
        lines += ["", f"By {commands} {origin(tried)}."]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def write(page: dict[str, Any]) -> None:
    """Put the table between the page's two marks."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + table(page) + END + after)


__all__ = ["PAGE", "RESULTS", "table", "write"]
