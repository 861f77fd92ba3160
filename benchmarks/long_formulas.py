"""Formulas of 11 to 35 symbols without any other option, and what each ingredient contributes.

    python benchmarks/long_formulas.py --data-dir DATA                     (everything: 48 runs)
    python benchmarks/long_formulas.py --data-dir DATA --only default      (lengths 11, 15, 25 and 35)
    python benchmarks/long_formulas.py --data-dir DATA --only images       (HWF's images, length 15, labels beside)
    python benchmarks/long_formulas.py --data-dir DATA --only ingredients  (25 and 35 symbols, one ingredient less)

Runs share a device well: ``--jobs 4``. DATA holds HWF's images; the embedded digits need none. What is already in
``results/long_formulas.json`` is not run again.
"""

from __future__ import annotations

from cells import fill, parser

FIGURES = ["symbol_accuracy", "calculation_accuracy", "training_feasible"]
PARTS = {
    "default": {f"digits {length}": f"--length {length}" for length in (11, 15, 25, 35)},
    "images": {"hwf 15": "--data hwf --length 15", "hwf 15, labels": "--data hwf --length 15 --objective sup"},
    "ingredients": {
        "25, two symbols anywhere": "--length 25 --window 1",
        "25, windows of 3": "--length 25 --window 3",
        "25, windows of 7": "--length 25 --window 7",
        "25, one try": "--length 25 --kernel guided",
        "25, T = 1": "--length 25 --steps 1",
        "25, no waiting": "--length 25 --wait 0 --epochs 120",
        "25, 500 formulas": "--length 25 --train-size 500 --epochs 240 --wait 1200",
        "35, 1,000 formulas": "--length 35 --train-size 1000 --epochs 120 --wait 600",
        "35, windows of 7": "--length 35 --window 7",
        "35, one try": "--length 35 --kernel guided",
    },
}


def main() -> None:
    options = parser(__doc__ or "", "long_formulas")
    options.add_argument("--only", choices=list(PARTS), help="one part of the table")
    given = options.parse_args()
    parts = [given.only] if given.only else list(PARTS)
    cells = {
        f"{name}/{seed}": f"{options} --seed {seed}"
        for seed in range(given.seeds)
        for part in parts
        for name, options in PARTS[part].items()
    }
    fill(given, "hwf", cells, FIGURES, "python benchmarks/long_formulas.py --data-dir DATA")


if __name__ == "__main__":
    main()
