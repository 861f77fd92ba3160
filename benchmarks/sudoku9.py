"""9×9 Sudoku from unlabelled boards: valid boards, constrained readings, and puzzles as images; labels beside.

    python benchmarks/sudoku9.py --data-dir DIR [--seeds 3] [--jobs 3] [--device cuda] [--only boards labels]

DIR holds MNIST's files. Every run is ``softground train sudoku --size 9 OPTIONS`` on 1,000 boards, judged on 1,000
test boards, and then ``softground solve`` on 1,000 puzzles with about 30 givens, made of test images. *boards* is the
preset as it is; *labels* the same network, optimiser and epochs with labels; *named* has one labelled image of each
digit, so that digits need no renaming; *small* has the network for CPUs. Settings of the preset come from short trials
on fewer boards; ``choose.py`` can hold them against others on validation data. ``rule_over_network`` is the time that
the rule takes in an epoch over the network's; times are those of a machine on which ``--jobs`` runs went on at once.
Runs on record in ``--out`` are not repeated.
"""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cells import ended, fill, parser

ROWS = {"boards": "", "labels": "--objective sup", "named": "--anchors 1", "small": "--network strided"}
DEFAULT = ("boards", "labels", "named")
BOARDS = ("board_accuracy", "relabelled_board_accuracy", "relabelled_symbol_accuracy")
FIGURES = [*BOARDS, *(f"constrained_{name}" for name in BOARDS)]
FIGURES += [f"puzzles/{name}" for name in ("relabelled_puzzle_accuracy", "puzzle_accuracy", "corrected", "given_up")]
FIGURES += ["puzzles/uncorrected_relabelled_puzzle_accuracy"]


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's summary and its puzzles; None where it failed or did not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "run")
        program = [sys.executable, "-m", "softground"]
        words = ["--size", "9", "--data", "mnist", "--device", device, "--quiet", "--out", out, *shlex.split(options)]
        if not ended(name, [*program, "train", task, *words], limit):
            return None
        asked = subprocess.run([*program, "solve", out, "--device", device, "--json"], capture_output=True, text=True)
        if asked.returncode:
            print(f"{name}: no puzzles\n{asked.stderr[-2000:]}", flush=True)
            return None
        summary: dict[str, Any] = json.loads((Path(out) / "summary.json").read_text())
        records = [json.loads(line)["seconds"] for line in (Path(out) / "metrics.jsonl").read_text().splitlines()]
        config = json.loads((Path(out) / "config.json").read_text())
        return summary | {
            "recipe": config["recipe"],
            "puzzles": json.loads(asked.stdout),
            "epoch_seconds": round(statistics.median(r["network"] + r["sampling"] for r in records), 3),
            "rule_over_network": round(statistics.median(r["sampling"] / r["network"] for r in records), 3),
        }


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "sudoku9")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=list(DEFAULT))
    options.add_argument("--try", dest="more", default="", help="options for every run, such as '--epochs 1'")
    given = options.parse_args()
    cells = {
        f"{row}/{seed}": " ".join(filter(None, [ROWS[row], given.more, f"--seed {seed}"]))
        for row in given.only
        for seed in range(given.seeds)
    }
    fill(given, "sudoku", cells, FIGURES, "python benchmarks/sudoku9.py --data-dir DIR", measure)


if __name__ == "__main__":
    main()
