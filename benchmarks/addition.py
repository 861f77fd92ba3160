"""MNIST addition: accuracy of the sum for numbers of 1, 2, 4 and 15 digits, beside the same network with labels.

    python benchmarks/addition.py --data-dir DIR [--seeds 3] [--jobs 1] [--rows lenet draws] [--digits 1 2 4 15]

All by LeNet-5, in ten epochs, on images as they are: about a minute a run on a CPU. ``lenet`` learns from the scan's
exact marginals, ``labels`` from labels, ``draws`` from the scan's exact draws instead of marginals, and ``guided`` with
a projection kernel on the same rule as a program, for where a rule is no scan.
"""

from __future__ import annotations

from cells import fill, parser

SHORT = "--network lenet --epochs 10 --no-augment"
ROWS = {
    "lenet": (SHORT, (1, 2, 4, 15)),
    "labels": (f"{SHORT} --objective sup", (1, 2, 4, 15)),
    "draws": (f"{SHORT} --no-marginals", (1, 2, 4, 15)),
    "guided": (f"{SHORT} --rule program --kernel guided --steps 4", (1, 2)),
}
FIGURES = ("sum_accuracy", "symbol_accuracy")


def main() -> None:
    """Run what is missing; seed by seed."""
    options = parser(str(__doc__), "addition")
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--digits", type=int, nargs="+", default=[1, 2, 4, 15])
    given = options.parse_args()
    cells = {
        f"{row}/{digits}/{seed}": f"--data mnist --digits {digits} {ROWS[row][0]} --seed {seed}"
        for seed in range(given.seeds)
        for row in given.rows
        for digits in given.digits
        if digits in ROWS[row][1]
    }
    fill(given, "addition", cells, FIGURES, "python benchmarks/addition.py --data-dir DIR")


if __name__ == "__main__":
    main()
