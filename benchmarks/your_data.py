"""Data as people have them: mixed lengths, a few labels, wrong and impossible answers, negative examples.

    python benchmarks/your_data.py --data-dir DIR [--seeds 3] [--jobs 12] [--device cuda] [--only addition boards]

DIR holds ``hwf.npz`` and MNIST's files. Labels, or clean data, are measured beside. Runs of mixed lengths are
``softground train hwf`` and ``… sums``, every other is one of ``your_data_cell.py``, which says how its data are made.
All have the settings of ``--preset best``, formulas in images of 32 pixels. Runs on record in ``--out`` are not
repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cells import fill, parser, recorded, train

CELL = Path(__file__).resolve().parent / "your_data_cell.py"
COMMANDS = ("hwf", "sums")  # what ``softground train`` makes
SMALLER = "--image-size 32 --precision bf16-mixed"  # chosen on validation data: choose.py, 'hwf, several lengths'
ROWS = {
    "hwf": {
        f"{lengths}{members}{labels}": f"--data hwf --lengths {lengths} {sizes} {SMALLER}{several}{objective}"
        for members, several in (("", ""), (", three networks", " --members 3"))
        for labels, objective in (("", ""), (", labels", " --objective sup"))
        for lengths, sizes in (
            ("1 3 5 7", "--shares 1 1 2 6 --train-size 10000 --test-size 2000"),  # 6,000 and 1,200 of length 7
            ("3 5 7", "--shares 1 2 6 --train-size 9000 --test-size 1800"),
        )
    },
    "sums": {"2 to 6": "--data mnist --digits 2 6", "2 to 6, labels": "--data mnist --digits 2 6 --objective sup"},
    "modular": {"anchors": "--anchors 5", "labels": "--anchors 5 --objective sup"},
    "addition": {
        "clean": "",
        **{f"{share} learnt": f"--wrong {share / 100} --noise learn" for share in (20, 10, 30)},
        **{f"{share} given": f"--wrong {share / 100} --noise {share / 100}" for share in (20, 10, 30)},
        "20 ignored": "--wrong 0.2",
        "labels": "--objective sup",
    },
    "product": {
        "clean": "",
        "clean 90": "--examples 18000",
        "labels": "--objective sup",
        "10 dropped": "--infeasible 0.1 --unexplained drop",
    },
    "boards": {"complement": "", "labels": "--objective sup"},
}
FIGURES = (
    "symbol_accuracy",
    "calculation_accuracy",
    "grammatical_calculation_accuracy",
    "sum_accuracy",
    "answer_accuracy",
    "board_accuracy",
)
FIGURES += ("relabelled_symbol_accuracy", "recall", "precision")


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's record; None where it failed or did not end in time."""
    problem, rest = options.split(maxsplit=1)
    if problem in COMMANDS:
        return train(name, problem, rest, device, limit)
    return recorded(CELL, name, options, device, limit)


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "your_data")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--try", dest="more", default="", help="options for every run, such as '--epochs 1'")
    given = options.parse_args()
    cells = {
        f"{problem}/{row}/{seed}": " ".join(filter(None, [problem, own, given.more, f"--seed {seed}"]))
        for problem in given.only
        for row, own in ROWS[problem].items()
        for seed in range(given.seeds)
    }
    fill(given, "", cells, FIGURES, "python benchmarks/your_data.py --data-dir DIR", measure)


if __name__ == "__main__":
    main()
