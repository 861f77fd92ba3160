"""MNIST addition: accuracy of the sum for numbers of 1, 2, 4, 15 and 100 digits, beside the same network with labels.

    python benchmarks/addition.py --data-dir DIR [--seeds 3] [--jobs 12] [--rows lenet convnet] [--digits 1 2 4 15 100]

``lenet`` and ``convnet`` learn from the scan's exact marginals; ``-plain`` is without distortions. ``draws`` are
LeNet-5 with the scan's exact draws instead, ``guided`` and ``collapsed`` with a projection kernel on the same rule as
a program, for where a rule is no scan. ``timing`` runs a few epochs alone, for the seconds of an epoch on a machine
that does nothing else.
"""

from __future__ import annotations

from cells import fill, parser

LENET = "--network lenet --epochs 50"
ROWS = {
    "lenet": (LENET, (1, 2, 4, 15, 100)),
    "lenet-plain": (f"{LENET} --no-augment", (1, 2, 4, 15, 100)),
    "convnet": ("--epochs 20", (1, 2, 4, 15, 100)),
    "convnet-plain": ("--epochs 20 --no-augment", (1, 2, 4, 15, 100)),
    "lenet-sup": (f"{LENET} --objective sup", (1, 2, 4, 15, 100)),
    "convnet-sup": ("--epochs 20 --objective sup", (1, 2, 4, 15, 100)),
    "draws": (f"{LENET} --no-marginals", (1, 2, 4, 15)),
    "guided": (f"{LENET} --rule program --kernel guided --steps 4", (1, 2, 4)),
    "collapsed": (f"{LENET} --rule program --kernel collapsed --steps 4", (1, 2, 4)),
    "timing": ("--network lenet --epochs 4", (15, 100)),
}
FIGURES = ("sum_accuracy", "symbol_accuracy")


def main() -> None:
    """Run what is missing; the longest numbers first, since they take longest."""
    options = parser(str(__doc__), "addition")
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--digits", type=int, nargs="+", default=[100, 15, 4, 2, 1])
    given = options.parse_args()
    warm = {100: " --warmup 1"}  # what the preset does for long numbers, said aloud
    cells = {
        f"{row}/{digits}/{seed}": f"--data mnist --digits {digits} {ROWS[row][0]}{warm.get(digits, '')} --seed {seed}"
        for row in given.rows
        for digits in given.digits
        if digits in ROWS[row][1]
        for seed in range(1 if row == "timing" else given.seeds)
    }
    fill(given, "addition", cells, FIGURES, "python benchmarks/addition.py --data-dir DIR")


if __name__ == "__main__":
    main()
