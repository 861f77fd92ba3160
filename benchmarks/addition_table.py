"""The table of MNIST addition, from benchmarks/results/addition.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from choice_table import said
from provenance import origin, read_page

DIGITS = (1, 2, 4, 15)
ROWS = {
    "lenet": "exact marginals of the scan",
    "labels": "with labels",
    "draws": "exact draws instead of marginals (`--no-marginals`)",
    "guided": "no scan: projection, guided kernel (`--rule program --kernel guided --steps 4`)",
}
LOST = 0.5  # of the symbols: a run below it did not find the digits


def table(path: Path) -> str:
    """Accuracy of the sum per number of digits."""
    if not path.exists():
        return "Not measured yet: `python benchmarks/addition.py --data-dir DIR` does, by LeNet-5 on a CPU."
    page = read_page(path)
    found = page["table"]
    lines = [
        "Sums that are right on the test set, in %, mean ± sd over seeds (three unless noted), in the field's standard "
        "setting (every image used once): LeNet-5, ten epochs, images as they are (`--network lenet --epochs 10 "
        "--no-augment`). The rest is `--preset best`, whose settings for one digit and the convolutional network "
        f"{said('addition')}; the three options here were set beforehand by what a CPU does in a minute or two, not "
        "chosen. So it says how ways to learn compare, not what can be reached.",
        "",
        "| LeNet-5 from sums, by | " + " | ".join(f"{n} digit{'s' * (n > 1)}" for n in DIGITS) + " |",
        "| --- |" + " --- |" * len(DIGITS),
    ]
    for key, name in ROWS.items():
        cells = []
        for digits in DIGITS:
            row = found.get(f"{key}/{digits}")
            figure = row and row["sum_accuracy"]
            note = "" if not row or row["seeds"] == 3 else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"
            spread = f" ± {figure['sd']:.1f}" if figure and row["seeds"] > 1 else ""
            cells.append(f"{figure['mean']:.1f}{spread}{note}" if figure else "–")
        if any(cell != "–" for cell in cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    lost = [
        f"{ROWS[key]}, {digits} digit{'s' * (digits != '1')}, {count} of {len(runs)}"
        for (key, digits), runs in _groups(page).items()
        if (count := sum(run["symbol_accuracy"] < LOST for run in runs))
    ]
    if lost:
        lines += ["", f"Runs that did not find the digits, counted in the means: {'; '.join(lost)}."]
    return "\n".join([*lines, "", f"Measured by `{page['command']}` {origin(page['runs'].values())}."])


def _groups(page: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, run in page["runs"].items():
        key, digits, _ = name.split("/")
        groups.setdefault((key, digits), []).append(run)
    return groups
