"""Sums of 1,024 MNIST digits, in the published setting: 6,000 rows to train on, 1,000 to test on, images recur.

    python benchmarks/long_sums.py --data-dir DIR [--seeds 3] [--device cuda]

DIR holds MNIST's files. Every run is ``softground train sums --digits 1024 OPTIONS`` with the options below. *mnist*
is the published setting, a sixth of the rows put away to validate on, with the preset for long rows: the small
network, images as they are, twelve epochs of five million images, for a GPU. *mnist, larger network* has distortions,
bfloat16 and eight epochs. The others are for a CPU: three epochs in batches of 8. *digits* are scikit-learn's. *no
prior*: the same without the prior on how often digits are used. Runs on record in ``--out`` are not repeated.
"""

from __future__ import annotations

from cells import fill, parser

LONG, HELD = "--digits 1024 --repeat", "--validation 0.1667"
PRESET = "--network strided --no-augment --epochs 12"
SHORT = "--network strided --no-augment --batch-size 8 --epochs 3 --learning-rate 3e-3"
PUBLISHED = f"{LONG} {HELD} --data mnist --train-size 6000 --test-size 1000"
FEW = f"{LONG} {HELD} --data digits --train-size 2400 --test-size 100"
ROWS = {
    "mnist": f"{PUBLISHED} {PRESET}",
    "mnist, larger network": f"{PUBLISHED} --network convnet --augment --epochs 8 --precision bf16-mixed",
    "digits": f"{FEW} {SHORT}",
    "digits, no prior": f"{FEW} {SHORT} --usage none",
}
FIGURES = ["symbol_accuracy", "sum_accuracy", "validation_symbol_accuracy", "constrained_symbol_accuracy"]


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "long_sums")
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=["mnist"])
    given = options.parse_args()
    cells = {f"{row}/{seed}": f"{ROWS[row]} --seed {seed}" for row in given.only for seed in range(given.seeds)}
    fill(given, "sums", cells, FIGURES, "python benchmarks/long_sums.py --data-dir DIR")


if __name__ == "__main__":
    main()
