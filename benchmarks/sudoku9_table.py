"""The table of 9×9 Sudoku, from benchmarks/results/sudoku9.json."""

from __future__ import annotations

import statistics
from pathlib import Path

from choice_table import said
from provenance import machine, read_page

ROWS = {
    "boards": "1,000 boards, no label",
    "named": "the same and one labelled image of each digit (`--anchors 1`)",
    "labels": "the same boards with labels",
    "small": "boards, no label, small network (`--network strided`)",
}
COLUMNS = {
    "board_accuracy": "boards valid",
    "relabelled_board_accuracy": "boards correct",
    "constrained_relabelled_board_accuracy": "correct, constrained",
    "puzzles_uncorrected_relabelled_puzzle_accuracy": "puzzles solved as read",
    "puzzles_relabelled_puzzle_accuracy": "puzzles solved",
}
TRIALS = "come from short trials on fewer boards, distortions from held-out training images"


def table(path: Path) -> str:
    """Boards and puzzles in percent, and seconds."""
    if not path.exists():
        return "Not measured yet: `python benchmarks/sudoku9.py --data-dir DIR` does."
    page = read_page(path)
    lines = [
        "In %, mean ± sd over seeds, on 1,000 MNIST test boards and 1,000 puzzles with about 30 givens. *Correct* "
        "and *solved* allow one renaming of the digits for all boards. *Constrained*: the most probable valid board. "
        "Median minutes, on shared machines.",
        "",
        f"| trained on | {' | '.join(COLUMNS.values())} | minutes | machine | seeds |",
        "| --- |" + " --- |" * (len(COLUMNS) + 3),
    ]
    for row, name in ROWS.items():
        if (found := page["table"].get(row)) is None:
            continue
        runs = [run for key, run in page["runs"].items() if key.startswith(f"{row}/")]
        spread = [f" ± {found[c]['sd']:.2f}" if len(runs) > 1 else "" for c in COLUMNS]
        cells = [f"{found[c]['mean']:.2f}{sd}" for c, sd in zip(COLUMNS, spread, strict=True)]
        minutes = f"{statistics.median(run['wall_seconds'] for run in runs) / 60:.1f}"
        cells += [minutes, ", ".join(sorted(set(map(machine, runs)))), str(found["seeds"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"Settings {said('sudoku, 9x9', TRIALS)}. Measured by `{page['command']}`."]
    return "\n".join(lines)
