"""MNIST's IDX files: read right, or refused with a reason."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from softground.data import load_idx_digits, read_idx
from softground.errors import DataError
from sudoku_cases import HAS_MNIST, MNIST


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def folder(root: Path, suffix: str = ".gz", mark: str = "-") -> Path:
    for stem in ("train", "t10k"):
        for name, array in (
            (f"{stem}-images{mark}idx3-ubyte", np.arange(24, dtype=np.uint8).reshape(2, 3, 4)),
            (f"{stem}-labels{mark}idx1-ubyte", np.array([5, 7], dtype=np.uint8)),
        ):
            content = idx(array)
            (root / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    return root


@pytest.mark.parametrize(("suffix", "mark"), [(".gz", "-"), ("", "-"), ("", ".")])
def test_reads_plain_and_gzipped_files(tmp_path: Path, suffix: str, mark: str) -> None:
    digits = load_idx_digits(folder(tmp_path, suffix, mark), "test")
    assert digits.images.shape == (2, 3, 4)
    assert digits.images[1, 0].tolist() == [12, 13, 14, 15]
    assert digits.labels.tolist() == [5, 7]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin like an IDX file"),
        (b"\x89PNG and more", "does not begin like an IDX file"),
        (struct.pack(">4BI", 0, 0, 13, 1, 1) + b"\0\0\0\0", "does not begin like an IDX file"),  # floats
        (struct.pack(">4BI", 0, 0, 8, 3, 1), "ends inside its header"),
        (idx(np.zeros(5, dtype=np.uint8))[:-1], "announces 5 bytes but holds 4"),
        (idx(np.zeros(5, dtype=np.uint8)) + b"\0", "announces 5 bytes but holds 6"),
    ],
)
def test_refuses_malformed_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_idx(tmp_path / "file")


def test_refuses_a_broken_gzip_file(tmp_path: Path) -> None:
    whole = gzip.compress(idx(np.zeros(500, dtype=np.uint8)))
    for content in (b"not gzip", whole[:-9], whole[:20] + b"\xff\xff\xff\xff" + whole[24:]):
        (tmp_path / "file.gz").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read"):
            read_idx(tmp_path / "file.gz")


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        load_idx_digits(tmp_path / "nowhere", "train")
    with pytest.raises(DataError, match=r"holds no train-images-idx3-ubyte\.gz"):
        load_idx_digits(tmp_path, "train")


def test_refuses_files_that_do_not_fit_each_other(tmp_path: Path) -> None:
    folder(tmp_path, "")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(3, dtype=np.uint8)))
    with pytest.raises(DataError, match=r"\(2, 3, 4\) and \(3,\)"):
        load_idx_digits(tmp_path, "train")


@pytest.mark.skipif(not HAS_MNIST, reason="MNIST's IDX files are not here; set SOFTGROUND_DATA to their folder")
def test_the_real_mnist() -> None:
    digits = load_idx_digits(MNIST, "test")
    assert digits.images.shape == (10_000, 28, 28)
    assert np.bincount(digits.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
