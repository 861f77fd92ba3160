"""Data as people have them: a few labels, wrong and impossible answers, negative examples; labels or clean data beside.

    python benchmarks/your_data.py --data-dir DIR [--seeds 3] [--jobs 12] [--device cuda] [--only sums boards]

DIR holds MNIST's files. ``your_data_cell.py`` says how the data are made and where the settings come from; every run is
one such process. Runs on record in ``--out`` are not repeated.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from cells import ended, fill, parser

CELL = Path(__file__).resolve().parent / "your_data_cell.py"
ROWS = {
    "modular": {"anchors": "--anchors 5", "labels": "--anchors 5 --objective sup"},
    "sums": {
        "clean": "",
        "labels": "--objective sup",
        "20 ignored": "--wrong 0.2",
        **{f"{share} given": f"--wrong 0.{share // 10} --noise 0.{share // 10}" for share in (10, 20, 30)},
        **{f"{share} learnt": f"--wrong 0.{share // 10} --noise learn" for share in (10, 20, 30)},
    },
    "product": {"clean": "", "labels": "--objective sup", "10 dropped": "--infeasible 0.1 --unexplained drop"},
    "boards": {"complement": "", "labels": "--objective sup"},
}
FIGURES = ("symbol_accuracy", "answer_accuracy", "board_accuracy", "relabelled_symbol_accuracy", "recall", "precision")


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's record; None where it failed or did not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "record.json"
        command = [sys.executable, str(CELL), *shlex.split(options), "--device", device, "--out", str(out)]
        if not ended(name, command, limit):
            return None
        record: dict[str, Any] = json.loads(out.read_text())
        return record


def main() -> None:
    """Run what is missing; the longest first."""
    options = parser(str(__doc__), "your_data")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--try", dest="extra", default="", help="options of every run, such as '--epochs 1'")
    given = options.parse_args()
    cells = {
        f"{problem}/{row}/{seed}": " ".join(filter(None, [problem, own, given.extra, f"--seed {seed}"]))
        for problem in given.only
        for row, own in ROWS[problem].items()
        for seed in range(given.seeds)
    }
    fill(given, "", cells, FIGURES, "python benchmarks/your_data.py --data-dir DIR", measure)


if __name__ == "__main__":
    main()
