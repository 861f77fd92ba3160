"""Sums of 1,024 MNIST digits, in the published setting: 6,000 rows to train on, 1,000 to test on, images recur.

    python benchmarks/long_sums.py --data-dir DIR [--seeds 3] [--device cuda]

DIR holds MNIST's files. Every run is ``softground train sums --digits 1024 OPTIONS`` with the options below; a thousand
of the 6,000 rows are put away to validate on. An epoch shows five million images. *preset* is for a GPU: the preset in
bfloat16, four epochs. *strided* is for a CPU: a small network, images as they are, three epochs in batches of 8, an
hour on one core. *no prior*: the same without the prior on how often digits are used. Runs on record in ``--out`` are
not repeated.
"""

from __future__ import annotations

from cells import fill, parser

PUBLISHED = "--data mnist --digits 1024 --repeat --train-size 6000 --validation 0.1667 --test-size 1000"
SMALL = f"{PUBLISHED} --network strided --no-augment --batch-size 8 --learning-rate 3e-3 --epochs 3"
ROWS = {
    "preset": f"{PUBLISHED} --precision bf16-mixed --epochs 4",
    "strided": SMALL,
    "strided, no prior": f"{SMALL} --usage none",
}
FIGURES = ["symbol_accuracy", "sum_accuracy", "validation_symbol_accuracy", "constrained_symbol_accuracy"]


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "long_sums")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=["preset"])
    given = options.parse_args()
    cells = {f"{row}/{seed}": f"{ROWS[row]} --seed {seed}" for row in given.only for seed in range(given.seeds)}
    fill(given, "sums", cells, FIGURES, "python benchmarks/long_sums.py --data-dir DIR")


if __name__ == "__main__":
    main()
