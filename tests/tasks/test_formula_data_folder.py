"""A user's own images, one folder for each symbol."""

from __future__ import annotations

import os
import shutil
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from softground.errors import DataError
from softground.tasks.formulas.data import load, own_images

NAMES = [*"123456789", "plus", "minus", "times", "divide"]


def picture(label: int, number: int, size: tuple[int, int] = (14, 14)) -> np.ndarray:
    """Bright ink on black: a bar whose length tells the symbol and whose grey level tells the number."""
    height, width = size
    image = np.zeros((height, width), np.uint8)
    image[height // 4 : height // 2, 1 : 2 + label % 10] = 255 - 8 * number
    image[-3, 5] = 255 if label > 9 else 0
    return image


def write(root: Path, count: int = 6, *, dark: bool = False, suffix: str = ".png") -> Path:
    for label, name in enumerate(NAMES):
        (root / name).mkdir(parents=True)
        for number in range(count):
            image = picture(label, number)
            Image.fromarray(255 - image if dark else image).save(root / name / f"{number}{suffix}")
    return root


def test_layout_and_disjoint_sides(tmp_path: Path) -> None:
    data = load("folder", data_dir=write(tmp_path), train_size=50, test_size=20)
    assert data.train.x.shape == (50, 7, 1, 14, 14)
    assert data.test.x.shape == (20, 7, 1, 14, 14)
    assert data.train.x.dtype == torch.uint8
    sides = [{image.tobytes() for image in part.x.flatten(0, 2).numpy()} for part in (data.train, data.test)]
    assert sides[0].isdisjoint(sides[1])
    assert tmp_path.name in data.note


def test_symbols_match_images(tmp_path: Path) -> None:
    data = load("folder", data_dir=write(tmp_path), length=3, train_size=30, test_size=5)
    assert data.train.symbols is not None
    known = {picture(label, number).tobytes(): label for label in range(13) for number in range(6)}
    for row, codes in zip(data.train.x, data.train.symbols.tolist(), strict=True):
        labels = [known[image.numpy().tobytes()] for image in row[:, 0]]
        assert [label - 9 * (site % 2) for site, label in enumerate(labels)] == codes


def test_defaults_and_seeds(tmp_path: Path) -> None:
    root = write(tmp_path, 2)
    first, again, other = (load("folder", data_dir=str(root), seed=seed) for seed in (0, 0, 1))
    assert (len(first.train), len(first.test)) == (3000, 1000)
    assert torch.equal(first.train.x, again.train.x)
    assert first.test.y == again.test.y
    assert not torch.equal(first.train.x, other.train.x)


def test_the_split_is_four_fifths_to_one(tmp_path: Path) -> None:
    train, test = own_images.pools(write(tmp_path, 10), None)
    assert set(train.counts) == {8}
    assert set(test.counts) == {2}


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".gif", ".PNG"])
def test_dark_ink_is_inverted_and_bright_ink_is_kept(tmp_path: Path, suffix: str) -> None:
    bright, _ = own_images.pools(write(tmp_path / "bright", 3, suffix=suffix), None)
    dark, _ = own_images.pools(write(tmp_path / "dark", 3, dark=True, suffix=suffix), None)
    assert np.array_equal(bright.images, dark.images)
    assert bright.images[:, 0, 0].max() == 0
    assert bright.images.max() > 230


def test_polarity_is_decided_for_the_whole_set(tmp_path: Path) -> None:
    """A minus cropped so tightly that ink fills its border must not turn the other way."""
    root = write(tmp_path, 3, dark=True)
    tight = np.zeros((14, 14), np.uint8)
    tight[5:7, 5:7] = 255
    Image.fromarray(tight).save(root / "minus" / "0.png")
    train, _ = own_images.pools(root, None)
    shown = train.images[train.labels == NAMES.index("minus")][0]
    assert shown[0, 0] == 255
    assert shown[5, 5] == 0


def test_colour_and_jpeg_are_read_as_grey(tmp_path: Path) -> None:
    root = write(tmp_path, 3, dark=True)
    Image.fromarray(255 - picture(0, 9)).convert("RGB").save(root / "1" / "photo.jpeg", quality=95)
    train, test = own_images.pools(root, None)
    assert (train.counts + test.counts)[0] == 4


@pytest.mark.parametrize("ink", [0, 255])
def test_transparent_images_keep_their_ink(tmp_path: Path, ink: int) -> None:
    root = tmp_path / "clear"
    for label, name in enumerate(NAMES):
        (root / name).mkdir(parents=True)
        for number in range(2):
            alpha = picture(label, number)
            Image.merge("LA", [Image.new("L", (14, 14), ink), Image.fromarray(alpha)]).save(
                root / name / f"{number}.png"
            )
    train, _ = own_images.pools(root, None)
    assert np.array_equal(train.images[0], picture(0, 0))


def test_sixteen_bit_images_keep_their_contrast(tmp_path: Path) -> None:
    root = write(tmp_path, 2)
    deep = picture(0, 0).astype(np.uint16) * 257
    Image.fromarray(deep).save(root / "1" / "0.png")
    train, _ = own_images.pools(root, None)
    assert np.array_equal(train.images[0], picture(0, 0))


def test_sizes_must_agree_unless_resized(tmp_path: Path) -> None:
    root = write(tmp_path, 3)
    odd = root / "plus" / "1.png"
    Image.fromarray(picture(9, 1, (10, 20))).save(odd)
    with pytest.raises(DataError, match=r"plus/1\.png is 20x10 pixels but .*1/0\.png is 14x14: give image_size"):
        load("folder", data_dir=root)
    data = load("folder", data_dir=root, image_size=16, train_size=4, test_size=4)
    assert data.train.x.shape == (4, 7, 1, 16, 16)


def test_resizing_pads_instead_of_stretching(tmp_path: Path) -> None:
    root = write(tmp_path, 2, dark=True)
    for number in range(2):
        Image.fromarray(np.full((3, 24), 10 * number, np.uint8)).save(root / "minus" / f"{number}.png")
    train, _ = own_images.pools(root, 24)
    bar = train.images[train.labels == NAMES.index("minus")][0]
    assert bar[:8].max() == 0
    assert bar[-8:].max() == 0
    assert bar[11].min() == 255


def test_clutter_is_ignored(tmp_path: Path) -> None:
    root = write(tmp_path, 2)
    (root / ".cache").mkdir()
    (root / "__MACOSX").mkdir()
    (root / "README.txt").write_text("mine")
    (root / "1" / "Thumbs.db").write_bytes(b"x")
    (root / "1" / "._0.png").write_bytes(b"x")
    assert len(load("folder", data_dir=root, train_size=3, test_size=3).train) == 3


def test_repeated_pictures_do_not_leak(tmp_path: Path) -> None:
    root = write(tmp_path, 4)
    shutil.copy(root / "1" / "0.png", root / "1" / "4.png")
    train, test = own_images.pools(root, None)
    assert (train.counts + test.counts)[0] == 4
    assert {image.tobytes() for image in train.images}.isdisjoint(image.tobytes() for image in test.images)


SPOILED: dict[str, Callable[[Path], object]] = {
    "5 has 1 distinct image: at least 2": lambda root: shutil.copy(root / "5" / "0.png", root / "5" / "1.png"),
    r"5/0\.png and .*times/9\.png are the same picture": lambda root: shutil.copy(
        root / "5" / "0.png", root / "times" / "9.png"
    ),
    r"unknown folder 0\. Found: 0, 1, .*expected .* plus, minus, times, divide": lambda root: (root / "0").mkdir(),
    "no folder for divide": lambda root: shutil.rmtree(root / "divide"),
    "Found: no folder": lambda root: [shutil.rmtree(root / name) for name in NAMES],
    "7 has 1 distinct image": lambda root: (root / "7" / "1.png").unlink(),
    "7 has 0 distinct image": lambda root: [(root / "7" / f"{number}.png").unlink() for number in (0, 1)],
    r"8/1\.png cannot be read as an image.?": lambda root: (root / "8" / "1.png").write_bytes(b""),
    r"8/1\.png cannot be read as an image": lambda root: (root / "8" / "1.png").write_bytes(b"not an image"),
    r"8/0\.png cannot be read as an image": lambda root: os.truncate(root / "8" / "0.png", 50),
}


@pytest.mark.parametrize("message", SPOILED)
def test_folders_that_cannot_be_used(tmp_path: Path, message: str) -> None:
    root = write(tmp_path, 2)
    SPOILED[message](root)
    with pytest.raises(DataError, match=message):
        load("folder", data_dir=root)


@pytest.mark.parametrize("size", [(9500, 9500), (5000, 3), (0, 5), (2**31 - 1, 2**31 - 1)])
def test_pictures_that_unfold_into_far_too_much(tmp_path: Path, size: tuple[int, int]) -> None:
    root = write(tmp_path, 2)
    header = b"IHDR" + struct.pack(">LLBBBBB", *size, 8, 0, 0, 0, 0)
    chunk = struct.pack(">L", 13) + header + struct.pack(">L", zlib.crc32(header))
    (root / "8" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + bytes(4) + b"IDAT" + bytes(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=r"8/1\.png cannot be read as an image"):
            load("folder", data_dir=root)


def test_no_other_program_is_started_for_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow hands PostScript to Ghostscript; that is no format a symbol comes in."""
    root = write(tmp_path, 2)
    (root / "8" / "1.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    monkeypatch.setattr("subprocess.Popen", lambda *given, **named: pytest.fail("started"))
    with pytest.raises(DataError, match=r"8/1\.png cannot be read as an image"):
        load("folder", data_dir=root)
