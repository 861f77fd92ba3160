"""MNIST's IDX files: read right, or refused with a reason."""

from __future__ import annotations

import gzip
import os
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
        (idx(np.zeros(5, dtype=np.uint8)) + bytes(10**6), "far larger than the 5 bytes that it announces"),
        (idx(np.zeros((5, 0), dtype=np.uint8)), "announces 5 × 0 bytes; from 1 to"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), "bytes; from 1 to"),
        (struct.pack(">4B64I", 0, 0, 8, 64, *[1] * 64) + b"\0", "does not begin like an IDX file"),
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
    with pytest.raises(DataError, match="does not exist"):
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


def test_unzips_no_more_than_is_announced(tmp_path: Path) -> None:
    """A bomb: members of zeros without end behind a header of five bytes, then padding that gzip would look through."""
    path, start = tmp_path / "file.gz", gzip.compress(idx(np.zeros(5, dtype=np.uint8)))
    path.write_bytes(start + gzip.compress(bytes(2**20)) * 50)
    with pytest.raises(DataError, match="announces 5 bytes but holds 6 or more"):
        read_idx(path)
    path.write_bytes(start)
    os.truncate(path, 2**40)
    with pytest.raises(DataError, match="far larger than the 5 bytes"):
        read_idx(path)


def test_refuses_labels_that_are_no_digits(tmp_path: Path) -> None:
    folder(tmp_path, "")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.array([5, 10], dtype=np.uint8)))
    with pytest.raises(DataError, match="have the label 10; expected digits from 0 to 9"):
        load_idx_digits(tmp_path, "train")


@pytest.mark.parametrize("name", ["n" * 300, "~nobody-at-all/x", "a\0b"])
def test_refuses_a_folder_that_cannot_be(name: str) -> None:
    with pytest.raises(DataError, match="data_dir"):
        load_idx_digits(name, "train")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="there is no such file"):
        read_idx(tmp_path / "pipe")
