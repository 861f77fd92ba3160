"""The formula table: paper's preset, LeNet-5 with our kernel, and our recommended network, each beside SUP.

    python benchmarks/hwf.py --data-dir DIR [--seeds 3] [--jobs 12] [--rows paper lenet best] [--splits standard writer]

DIR holds ``hwf.npz``.
"""

from __future__ import annotations

from cells import fill, parser

ROWS = {
    "paper": "--preset paper --schedule exp",
    "lenet": "--preset best --network lenet --epochs 100 --learning-rate 8e-3",
    "best": "--preset best",
}
SPLITS = ("standard", "writer")
ACCURACIES = ("symbol_accuracy", "calculation_accuracy")
FIGURES = (*ACCURACIES, *(f"after_stage_I/{name}" for name in ACCURACIES))


def cells(rows: list[str], splits: list[str], seeds: int) -> dict[str, str]:
    """Name → options of every run."""
    runs = {}
    for row in rows:
        for split in splits:
            for seed in range(seeds):
                common = f"--data hwf --split {split} --seed {seed}"
                runs[f"{row}/{split}/{seed}"] = f"{ROWS[row]} {common}"
                # The yardstick: the same network, optimiser and epochs with labels; the paper's setting has two stages.
                epochs = " --epochs 140" if row == "paper" else ""
                runs[f"{row}-sup/{split}/{seed}"] = f"{ROWS[row]}{epochs} {common} --objective sup"
    return runs


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "hwf")
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    given = options.parse_args()
    runs = cells(given.rows, given.splits, given.seeds)
    fill(given, "hwf", runs, FIGURES, "python benchmarks/hwf.py --data-dir DIR")


if __name__ == "__main__":
    main()
