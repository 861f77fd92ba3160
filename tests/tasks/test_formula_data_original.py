"""HWF in its original layout, lists beside a folder of images, on a small made-up set."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from softground.errors import DataError
from softground.tasks.formulas.data import load

ALPHABET = [*"123456789", "+", "-", "*", "/"]
TRAIN = ["1+2*3", "9/4-1", "8*7+6", "5-5/3", "2*2-4"]
TEST = ["3/9+1", "7-8*2"]
RESULTS = {"1+2*3": 7, "9/4-1": 1.25, "8*7+6": 62, "5-5/3": 5 - 5 / 3, "2*2-4": 0, "3/9+1": 4 / 3, "7-8*2": -9}


def entries(texts: list[str], results: Mapping[str, object] = RESULTS) -> list[dict[str, Any]]:
    return [
        {
            "id": f"f_{at}",
            "img_paths": [f"{ALPHABET.index(symbol)}/{at}.png" for symbol in text],
            "expr": text,
            "res": results[text],
        }
        for at, text in enumerate(texts)
    ]


def unpack(root: Path, images: str = "Handwritten_Math_Symbols", short: bool = True) -> Path:
    """The original layout, with a formula of length 1 that must be left out."""
    extra = [{"id": "short", "img_paths": ["4/0.png"], "expr": "5", "res": 5}] if short else []
    for side, texts in (("train", TRAIN), ("test", TEST)):
        (root / f"expr_{side}.json").write_text(json.dumps(extra + entries(texts)))
    for label in range(13):
        (root / images / str(label)).mkdir(parents=True)
        for at in range(len(TRAIN)):
            grey = np.full((9, 9), 255, np.uint8)
            grey[4, : label % 9 + 1] = at
            grey[label // 2, 8] = 0
            Image.fromarray(grey).save(root / images / str(label) / f"{at}.png")
    return root


@pytest.mark.parametrize("images", ["Handwritten_Math_Symbols", "symbol_images", "."])
def test_original_layout(tmp_path: Path, images: str) -> None:
    data = load("hwf", data_dir=unpack(tmp_path, images), length=5)
    assert data.train.x.shape == (5, 5, 1, 9, 9)
    assert data.train.x.max() == 255
    assert data.train.x.float().mean() < 128
    assert data.train.y[3] == Fraction(10, 3)
    assert data.test.symbols is not None
    assert data.test.symbols.tolist() == [[2, 3, 8, 0, 0], [6, 1, 7, 2, 1]]
    assert "published layout" in data.note


def test_original_layout_of_jpegs(tmp_path: Path) -> None:
    (tmp_path / "symbol_images").mkdir()
    for name in ("a.jpg", "b.jpg"):
        Image.fromarray(np.full((45, 45), 255, np.uint8)).save(tmp_path / "symbol_images" / name)
    for side, name, digit in (("train", "a.jpg", 3), ("test", "b.jpg", 4)):
        entry = {"id": "x", "img_paths": [name], "expr": str(digit), "res": digit}
        (tmp_path / f"expr_{side}.json").write_text(json.dumps([entry]))
    data = load("hwf", data_dir=tmp_path, length=1)
    assert data.train.x.shape == (1, 1, 1, 45, 45)
    assert (data.train.y, data.test.y) == ([Fraction(3)], [Fraction(4)])


def test_original_layout_has_no_writers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Use hwf\.npz with image_writer"):
        load("hwf", data_dir=unpack(tmp_path), length=5, split="writer")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "expr_test.json is not valid JSON"),
        ("{}", "holds a dict, but a list"),
        ("[]", "lengths found: none at all"),
        ('[{"expr": "1+2+3"}]', "entry 0: a formula needs"),
        ('[{"expr": "1+2+3", "res": 6, "img_paths": ["0/0.png"]}]', "entry 0: a formula needs"),
        (json.dumps(entries(["3/9+1"], {"3/9+1": 5})), r"expr_test\.json, test formula 0: '3/9\+1' is 4/3 .* claims 5"),
        (json.dumps(entries(["3/9+1"], {"3/9+1": "x"})), "claims 'x'"),
        (json.dumps(entries(["3/9+1"], {"3/9+1": 10**400})), "claims 1000.*000;"),
        ("[" * 100_000, "expr_test.json is not valid JSON"),
        (json.dumps(entries(["3/9+1"])).replace("2/0.png", "n" * 300), "n{300} cannot be read as an image"),
        (None, "expr_test.json does not exist"),
    ],
)
def test_unusable_lists(tmp_path: Path, content: str | None, message: str) -> None:
    path = unpack(tmp_path) / "expr_test.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DataError, match=message):
        load("hwf", data_dir=tmp_path, length=5)


def test_missing_images(tmp_path: Path) -> None:
    folder = unpack(tmp_path) / "Handwritten_Math_Symbols"
    (folder / "3" / "1.png").unlink()
    with pytest.raises(DataError, match=r"3/1\.png does not exist"):
        load("hwf", data_dir=tmp_path, length=5)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"not found in any of .*symbol_images"):
        load("hwf", data_dir=tmp_path, length=5)


def test_images_of_two_sizes(tmp_path: Path) -> None:
    folder = unpack(tmp_path) / "Handwritten_Math_Symbols"
    Image.new("L", (5, 6)).save(folder / "3" / "1.png")
    with pytest.raises(DataError, match=r"3/1\.png is 5x6 pixels but .* is 9x9"):
        load("hwf", data_dir=tmp_path, length=5)


def test_sizes_are_checked(tmp_path: Path) -> None:
    root = unpack(tmp_path)
    with pytest.raises(DataError, match=r"train_size=6 was given, and .* has only 5 train formulas of length 5"):
        load("hwf", data_dir=root, length=5, train_size=6)
    with pytest.raises(DataError, match="test_size=3"):
        load("hwf", data_dir=root, length=5, test_size=3)
    with pytest.raises(DataError, match=r"No train formula of length 7 in .*; lengths found: 1, 5"):
        load("hwf", data_dir=root)


def test_a_list_without_end_is_not_read(tmp_path: Path) -> None:
    path = unpack(tmp_path) / "expr_train.json"
    os.truncate(path, 2**40)
    with pytest.raises(DataError, match=r"expr_train\.json cannot be read"):
        load("hwf", data_dir=tmp_path, length=5)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    image = unpack(tmp_path) / "Handwritten_Math_Symbols" / "3" / "1.png"
    image.unlink()
    os.mkfifo(image)
    with pytest.raises(DataError, match=r"3/1\.png does not exist"):
        load("hwf", data_dir=tmp_path, length=5)
