"""The table of MNIST addition, from benchmarks/results/addition.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from provenance import machine, read_page

DIGITS = (1, 2, 4, 15)
ROWS = {
    "lenet": "exact sum, by the scan (default)",
    "labels": "the same recipe with labels",
    "draws": "exact samples instead of the sum (`--no-marginals`)",
    "guided": "MCMC: projection, guided kernel (`--rule program --kernel guided --steps 4`)",
}
LOST = 0.5  # of the symbols: a run below it did not find the digits


def table(path: Path) -> str:
    """Accuracy of the sum per number of digits."""
    if not path.exists():
        return "Not measured yet: `python benchmarks/addition.py --data-dir DIR` does, by LeNet-5 on a CPU."
    page = read_page(path)
    found = page["table"]
    most = max(row["seeds"] for row in found.values())
    lines = [
        f"Sums read correctly, in %, mean ± sd of {most} seeds unless noted: LeNet-5, every image used once, ten "
        "epochs, no distortion (`--network lenet --epochs 10 --no-augment`), untuned. The table compares ways to "
        "learn. **To read as much as possible, use `--preset best`** (convolutional network, distorted images, more "
        "epochs; not measured here).",
        "",
        "| LeNet-5 | " + " | ".join(f"{n} digit{'s' * (n > 1)}" for n in DIGITS) + " |",
        "| --- |" + " --- |" * len(DIGITS),
    ]
    for key, name in ROWS.items():
        cells = []
        for digits in DIGITS:
            row = found.get(f"{key}/{digits}")
            figure = row and row["sum_accuracy"]
            note = "" if not row or row["seeds"] == most else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"
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
        lines += ["", f"Runs that did not learn the digits: {'; '.join(lost)}."]
    machines = ", ".join(sorted(set(map(machine, page["runs"].values()))))
    return "\n".join([*lines, "", f"Measured by `{page['command']}` on {machines}."])


def _groups(page: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, run in page["runs"].items():
        key, digits, _ = name.split("/")
        groups.setdefault((key, digits), []).append(run)
    return groups
