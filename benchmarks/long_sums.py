"""Sums of 1,024 MNIST digits, in the published setting: 6,000 rows to train on, 1,000 to test on, images recur.

    python benchmarks/long_sums.py --data-dir DIR [--seeds 3] [--device cuda]

DIR holds MNIST's files. Every run is ``softground train sums --digits 1024 OPTIONS`` with the options below: the preset
in bfloat16, ten epochs. An epoch shows six million images. Runs on record in ``--out`` are not repeated.
"""

from __future__ import annotations

from cells import fill, parser

ROWS = {
    "1024": "--data mnist --digits 1024 --repeat --train-size 6000 --test-size 1000 --precision bf16-mixed --epochs 10"
}
FIGURES = ["symbol_accuracy", "sum_accuracy"]


def main() -> None:
    """Run what is missing."""
    given = parser(str(__doc__), "long_sums").parse_args()
    cells = {f"{row}/{seed}": f"{own} --seed {seed}" for row, own in ROWS.items() for seed in range(given.seeds)}
    fill(given, "sums", cells, FIGURES, "python benchmarks/long_sums.py --data-dir DIR")


if __name__ == "__main__":
    main()
