"""The examples that every runner reads: pairs of MNIST digits with their sum, and HWF's formulas of length 7.

    python benchmarks/peers/data.py --data-dir DIR --out FOLDER

``DIR`` holds MNIST's IDX files and, for the formulas, ``hwf.npz``. ``FOLDER`` gets ``pairs.npz`` (30,000 training and
5,000 test pairs, every MNIST image once, in an order that one seed decides) and ``formulas.npz`` (HWF's standard
split). Images are bytes, ink bright; ``harness.py`` turns them into float32 in 0 … 1. What the symbols are is stored
beside them, for measuring on the test set and for nothing else.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from softground.data import load_idx_digits
from softground.tasks.formulas.data import DIGITS, load

SEED = 0
PAIRS, FORMULAS = "pairs.npz", "formulas.npz"


def pairs(data_dir: Path, out: Path) -> Path:
    """Write ``pairs.npz``: ``*_images`` [pairs, 2, 28, 28], ``*_symbols`` [pairs, 2], ``*_answers`` [pairs]."""
    arrays = {}
    for part in ("train", "test"):
        digits = load_idx_digits(data_dir, part)
        order = np.random.default_rng(SEED).permutation(len(digits.labels)).reshape(-1, 2)
        arrays[f"{part}_images"] = digits.images[order]
        arrays[f"{part}_symbols"] = digits.labels[order].astype(np.int64)
        arrays[f"{part}_answers"] = arrays[f"{part}_symbols"].sum(1)
    return save(out / PAIRS, arrays)


def formulas(data_dir: Path, out: Path) -> Path:
    """Write ``formulas.npz``: images [formulas, 7, 45, 45], symbols 0 … 12 (1 … 9 + − × ÷), values as n/d."""
    found = load(
        "hwf",
        data_dir=data_dir,
        length=7,
        train_size=None,
        test_size=None,
        split="standard",
        image_size=None,
        seed=SEED,
    )
    arrays = {}
    for part, examples in (("train", found.train), ("test", found.test)):
        symbols = np.array(examples.symbols)
        symbols[:, 1::2] += len(DIGITS)  # from codes at a site to places in the whole alphabet
        arrays[f"{part}_images"] = examples.x[:, :, 0].numpy()
        arrays[f"{part}_symbols"] = symbols
        arrays[f"{part}_answers"] = np.array([(y.numerator, y.denominator) for y in examples.y])
    return save(out / FORMULAS, arrays)


def save(path: Path, arrays: dict[str, Any]) -> Path:
    """Write the file whole or not at all, so that an interrupted run leaves nothing half-written behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part.npz")
    np.savez(partial, allow_pickle=False, **arrays)
    partial.replace(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with MNIST's IDX files and hwf.npz")
    parser.add_argument("--out", type=Path, required=True, help="folder for pairs.npz and formulas.npz")
    given = parser.parse_args()
    print(pairs(given.data_dir, given.out))
    print(formulas(given.data_dir, given.out))


if __name__ == "__main__":
    main()
