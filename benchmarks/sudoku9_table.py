"""The table of 9×9 Sudoku, from benchmarks/results/sudoku9.json."""

from __future__ import annotations

import statistics
from pathlib import Path

from choice_table import said
from provenance import machine, origin, read_page

ROWS = {
    "boards": "1,000 boards, no label (`train sudoku --size 9`)",
    "named": "the same and one labelled image of each digit (`--anchors 1`)",
    "labels": "with labels (`--objective sup`)",
    "small": "the boards alone, the small network (`--network strided`)",
}
COLUMNS = {
    "board_accuracy": "boards valid",
    "relabelled_board_accuracy": "boards right",
    "constrained_relabelled_board_accuracy": "boards right, constrained",
    "puzzles_uncorrected_relabelled_puzzle_accuracy": "puzzles solved as read",
    "puzzles_relabelled_puzzle_accuracy": "puzzles solved",
}
TRIALS = "come from short trials on fewer boards, distortions from training images that were put away"


def table(path: Path) -> str:
    """Boards and puzzles in percent, and seconds."""
    if not path.exists():
        return "Not measured yet: `python benchmarks/sudoku9.py --data-dir DIR` does."
    page = read_page(path)
    lines = [
        "In %, mean ± sd over seeds, on MNIST: 1,000 test boards and 1,000 puzzles with about 30 givens. *Right* and "
        "*solved* are up to the one renaming of the digits that agrees best with the truth over all boards or puzzles. "
        "*Constrained* is the most probable valid board. *Rule* is the time that the rule takes over the network's.",
        "",
        f"| learnt from | {' | '.join(COLUMNS.values())} | seconds | rule | seeds |",
        "| --- |" + " --- |" * (len(COLUMNS) + 3),
    ]
    for row, name in ROWS.items():
        if (found := page["table"].get(row)) is None:
            continue
        runs = [run for key, run in page["runs"].items() if key.startswith(f"{row}/")]
        spread = [f" ± {found[c]['sd']:.2f}" if len(runs) > 1 else "" for c in COLUMNS]
        cells = [f"{found[c]['mean']:.2f}{sd}" for c, sd in zip(COLUMNS, spread, strict=True)]
        seconds = ", ".join(f"{run['wall_seconds']:.0f} ({run['jobs']})" for run in runs)
        cells.append(f"{seconds} on {', '.join(sorted(set(map(machine, runs))))}")
        cells += [f"{statistics.mean(run['rule_over_network'] for run in runs):.2f}", str(found["seeds"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Settings {said('sudoku, 9x9', TRIALS)}. Seconds of every seed; in brackets, how many runs of all kinds "
        "shared the machine meanwhile. "
        f"Measured by `{page['command']}` {origin(page['runs'].values())}.",
    ]
    return "\n".join(lines)
