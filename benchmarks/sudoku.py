"""Measure visual Sudoku: every figure in the documentation about it comes from this script.

    python benchmarks/sudoku.py --data-dir DIR [--only best] [--sizes 50 100] [--seeds 0 1 2] [--workers 2]

Each run is what ``softground train sudoku --data mnist --data-dir DIR`` does with the options recorded beside it, in
``benchmarks/results/sudoku.json``. All settings but ``convnet`` use LeNet-5. The paper's preset is measured by
``python -m papers.li2023 sudoku``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies import Study, parser, perform

FIGURES = ("board_accuracy", "relabelled_board_accuracy", "relabelled_symbol_accuracy")
SIZES = (50, 100, 300, 500)
# What the options of each setting are, beside the training size, the seed and where the data lie.
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {},
    "best, labels": {"objective": "sup"},
    "convnet": {"network": "convnet"},
    "convnet, labels": {"network": "convnet", "objective": "sup"},
    "long": {"epochs": 300},
    "long convnet": {"network": "convnet", "epochs": 300},
    "plain": {"augment": False},
    "plain, labels": {"augment": False, "objective": "sup"},
}
LARGE: dict[str, dict[str, Any]] = {"9x9": {"size": 9}, "9x9, labels": {"size": 9, "objective": "sup"}}


def main() -> None:
    """Run what is missing, then print and store the table."""
    options = parser(str(__doc__), "sudoku", [*SETTINGS, *LARGE])
    options.add_argument("--data-dir", type=Path, required=True)
    options.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    given = options.parse_args()
    wanted = {
        f"{name} | {size} boards | seed {seed}": settings | {"train_size": size, "seed": seed}
        for name, settings in (SETTINGS | LARGE).items()
        if given.only is None or name in given.only
        for size in ([1000] if name in LARGE else given.sizes)
        for seed in given.seeds
    }
    shared = {"data": "mnist", "data_dir": given.data_dir}
    perform(Study("sudoku", FIGURES, shared, "--data mnist --data-dir DIR"), given, wanted)


if __name__ == "__main__":
    main()
