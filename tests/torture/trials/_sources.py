"""A small right source for every loader of data, and what a right load of it looks like."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from softground.data.digits import Digits, load_idx_digits
from softground.data.images import read_symbols
from softground.tasks.addition import Addition
from softground.tasks.formulas.data import Split, load
from softground.tasks.formulas.data.alphabet import decode
from softground.tasks.formulas.data.own_images import NAMES
from softground.tasks.sudoku import boards

from ._damage import damaged_json
from ._evaluator import evaluate
from ._formats import damaged_gzip, damaged_idx, damaged_image, damaged_npz, idx

ALPHABET = [*"123456789", "+", "-", "*", "/"]
TEXTS = {"train": ["1+2*3", "9/4-1", "8*7+6", "5-5/3"], "test": ["3/9+1", "7-8*2"]}
WRITERS = 5
SITES = 3  # of the pictures


@dataclass(frozen=True)
class Loader:
    """``make`` writes a source into an empty folder and returns the files to damage; ``load`` loads and judges it."""

    name: str
    make: Callable[[Path], list[Path]]
    load: Callable[[Path], None]
    special: Callable[[bytes, random.Random], bytes]  # damage that knows the format


def make_archive(folder: Path) -> list[Path]:
    """``hwf.npz``: 13 symbols by a few writers."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(13), WRITERS).astype(np.int8)
    arrays: dict[str, Any] = {
        "images": rng.integers(0, 256, (len(labels), 8, 8), dtype=np.uint8),
        "symbol_labels": labels,
        "alphabet": np.array(ALPHABET),
        "image_writer": np.repeat([f"w{n}" for n in range(WRITERS)], 13),
    }
    for side, texts in TEXTS.items():
        symbols = np.array([[ALPHABET.index(symbol) for symbol in text] for text in texts])
        arrays[f"{side}_index"] = symbols + 13 * rng.integers(0, WRITERS, symbols.shape)
        arrays[f"{side}_expr"] = np.array(texts)
        arrays[f"{side}_res"] = np.array([_value(text) for text in texts])
    np.savez_compressed(folder / "hwf.npz", **arrays)
    return [folder / "hwf.npz"]


def make_original(folder: Path) -> list[Path]:
    """The lists as first published, beside images."""
    for side, texts in TEXTS.items():
        entries = [
            {"id": f"{side}_{at}", "expr": t, "res": _value(t), "img_paths": [f"{ALPHABET.index(s)}.png" for s in t]}
            for at, t in enumerate(texts)
        ]
        (folder / f"expr_{side}.json").write_text(json.dumps(entries))
    (folder / "symbol_images").mkdir()
    for label in range(13):
        _draw(label).save(folder / "symbol_images" / f"{label}.png")
    return [folder / "expr_train.json", folder / "expr_test.json"]


def make_original_images(folder: Path) -> list[Path]:
    """The same, with the images to damage."""
    make_original(folder)
    return [folder / "symbol_images" / f"{label}.png" for label in (0, 1, 11)]


def make_folder(folder: Path) -> list[Path]:
    """A user's own images, of several kinds."""
    kinds = ("png", "jpg", "bmp", "gif")
    for label, name in enumerate(NAMES):
        (folder / name).mkdir()
        for number in range(3):
            _draw(label, number).save(folder / name / f"{number}.{kinds[(label + number) % 4]}")
    return sorted((folder / "1").iterdir()) + sorted((folder / "plus").iterdir())


def make_pictures(folder: Path) -> list[Path]:
    """Files for ``softground predict``: grey, transparent and with a palette."""
    paths = [folder / f"{number}.png" for number in range(SITES)]
    for number, (path, mode) in enumerate(zip(paths, ("L", "RGBA", "P"), strict=True)):
        _draw(number).convert(mode).save(path)
    return paths


def make_idx(folder: Path) -> list[Path]:
    """MNIST's four files, plain."""
    return _write_idx(folder, "")


def make_gzip(folder: Path) -> list[Path]:
    """MNIST's four files, gzipped."""
    return _write_idx(folder, ".gz")


def _write_idx(folder: Path, suffix: str) -> list[Path]:
    rng, paths = np.random.default_rng(0), []
    for stem in ("train", "t10k"):
        images = rng.integers(0, 256, (40, 8, 8), dtype=np.uint8)
        labels = np.arange(40, dtype=np.uint8) % 10
        for name, array in ((f"{stem}-images-idx3-ubyte", images), (f"{stem}-labels-idx1-ubyte", labels)):
            content = struct.pack(">4B", 0, 0, 8, array.ndim) + idx(array)
            paths.append(folder / f"{name}{suffix}")
            paths[-1].write_bytes(gzip.compress(content, mtime=0) if suffix else content)
    return paths


def _value(text: str) -> float:
    pair = evaluate([int(c) if c.isdigit() else c for c in text])
    assert pair is not None
    return pair[0] / pair[1]


def _draw(label: int, number: int = 0) -> Image.Image:
    grey = np.full((12, 12), 255, np.uint8)
    grey[3 + number, : label % 9 + 2] = 0
    grey[10, label // 2] = 0
    return Image.fromarray(grey)


def load_standard(folder: Path) -> None:
    """Formulas of length 5."""
    _judge_formulas(load("hwf", data_dir=folder, length=5))


def load_writers(folder: Path) -> None:
    """Formulas shown in other hands."""
    _judge_formulas(load("hwf", data_dir=folder, length=5, split="writer", image_size=6))


def load_folder(folder: Path) -> None:
    """Formulas of a user's images."""
    _judge_formulas(load("folder", data_dir=folder, length=3, train_size=9, test_size=5, image_size=10))


def load_pictures(folder: Path) -> None:
    """Pictures as inputs."""
    names = [folder / f"{number}.png" for number in range(SITES)]
    x = read_symbols(names, SITES, (1, 8, 8), strip=False)
    assert x.shape == (1, SITES, 1, 8, 8), f"pictures of shape {tuple(x.shape)}"
    assert read_symbols(names[:1], SITES, (1, 8, 8), strip=True).shape == x.shape


def load_digits(folder: Path) -> None:
    """Digits, and the boards and sums that are made of them."""
    for part in ("train", "test"):
        _judge_digits(load_idx_digits(folder, part))
    shown = boards.load("mnist", folder, 4, 2, 2, 0)
    assert len(shown.train.x) == len(shown.test.x) == 2
    sums = Addition(data="mnist", data_dir=folder, digits=2).load(0)
    for part_ in (sums.train, sums.test):
        assert part_.symbols is not None
        rows = part_.symbols.tolist()
        assert [10 * (r[0] + r[2]) + r[1] + r[3] for r in rows] == list(part_.y), "sums that are none"


def _judge_digits(digits: Digits) -> None:
    assert digits.images.dtype == digits.labels.dtype == np.uint8
    assert digits.images.ndim == 3
    assert digits.images.shape[:1] == digits.labels.shape
    assert digits.images[:1].size > 0, "images without pixels"
    assert digits.labels.max() <= 9, "labels that are no digits"


def _judge_formulas(data: Split) -> None:
    for part in (data.train, data.test):
        assert part.x.ndim == 5, f"images of shape {tuple(part.x.shape)}"
        assert part.x.numel() > 0, "images without pixels"
        assert part.symbols is not None
        values = [evaluate(decode(row)) for row in part.symbols.tolist()]
        assert values == [(y.numerator, y.denominator) for y in part.y], "values that are none of the formulas'"


LOADERS = (
    Loader("hwf.npz", make_archive, load_standard, damaged_npz),
    Loader("hwf.npz by writer", make_archive, load_writers, damaged_npz),
    Loader("original lists", make_original, load_standard, damaged_json),
    Loader("original images", make_original_images, load_standard, damaged_image),
    Loader("folder", make_folder, load_folder, damaged_image),
    Loader("pictures", make_pictures, load_pictures, damaged_image),
    Loader("IDX", make_idx, load_digits, damaged_idx),
    Loader("IDX gzipped", make_gzip, load_digits, damaged_gzip),
)

__all__ = ["LOADERS", "Loader"]
