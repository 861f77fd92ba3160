"""Formulas of 11 to 35 symbols without any other option, and what each ingredient contributes.

    python benchmarks/long_formulas.py --data-dir DATA                     (everything: 54 runs)
    python benchmarks/long_formulas.py --data-dir DATA --only default      (lengths 11, 15, 25 and 35)
    python benchmarks/long_formulas.py --data-dir DATA --only images       (HWF's images, length 15, labels beside)
    python benchmarks/long_formulas.py --data-dir DATA --only ingredients  (25 and 35 symbols, one ingredient less)

*ingredients* hold a tenth of the training formulas out, so that a choice between them looks at no test figure. They
wait for the network at most half as long again as it took with all ingredients: what has not learnt to read by then is
recorded as it stands. Few formulas are visited as often in all as many.

Runs share a device well: ``--jobs 4``. DATA holds HWF's images; the embedded digits need none. What is already in
``results/long_formulas.json`` is not run again.
"""

from __future__ import annotations

from cells import fill, parser

FIGURES = ["symbol_accuracy", "calculation_accuracy", "validation_calculation_accuracy", "training_feasible"]
HELD = "--validation 0.1"
SHORTER, LONGER = f"--wait 60 {HELD}", f"--wait 140 {HELD}"
PARTS = {
    "default": {f"digits {length}": f"--length {length}" for length in (11, 15, 25, 35)},
    "images": {"hwf 15": "--data hwf --length 15", "hwf 15, labels": "--data hwf --length 15 --objective sup"},
    "ingredients": {
        "25, as it is": f"--length 25 {SHORTER}",
        "25, two symbols anywhere": f"--length 25 --window 1 {SHORTER}",
        "25, windows of 3": f"--length 25 --window 3 {SHORTER}",
        "25, windows of 7": f"--length 25 --window 7 {SHORTER}",
        "25, one try": f"--length 25 --kernel guided --steps 0 --epochs 40 {SHORTER}",
        "25, T = 1": f"--length 25 --steps 1 {SHORTER}",
        "25, no waiting": f"--length 25 --wait 0 --epochs 100 {HELD}",
        "25, 500 formulas": f"--length 25 --train-size 556 --epochs 240 --wait 360 {HELD}",
        "35, as it is": f"--length 35 {LONGER}",
        "35, 1,000 formulas": f"--length 35 --train-size 1112 --epochs 108 --wait 378 {HELD}",
        "35, windows of 7": f"--length 35 --window 7 {LONGER}",
        "35, one try": f"--length 35 --kernel guided --steps 0 --epochs 40 {LONGER}",
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
