"""HWF as one archive, with either split, on a small made-up set."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.errors import DataError
from softground.tasks.formulas.data import hwf, load

ALPHABET = [*"123456789", "+", "-", "*", "/"]
TRAIN = ["1+2*3", "9/4-1", "8*7+6", "5-5/3", "2*2-4"]
TEST = ["3/9+1", "7-8*2"]
RESULTS = {"1+2*3": 7, "9/4-1": 1.25, "8*7+6": 62, "5-5/3": 5 - 5 / 3, "2*2-4": 0, "3/9+1": 4 / 3, "7-8*2": -9}
WRITERS = [f"w{number}" for number in range(20)]


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    """An archive of 13 symbols by 20 writers and one unknown hand, black ink on white."""
    rng = np.random.default_rng(seed)
    labels = np.tile(np.arange(13), 22).astype(np.int8)
    images = np.where(rng.random((len(labels), 9, 9)) < 0.2, rng.integers(0, 200, (len(labels), 9, 9)), 255)
    found: dict[str, np.ndarray] = {
        "images": images.astype(np.uint8),
        "symbol_labels": labels,
        "alphabet": np.array(ALPHABET),
        "image_writer": np.repeat([*WRITERS, "", "Unknown"], 13),
    }
    for side, texts in (("train", TRAIN), ("test", TEST)):
        symbols = np.array([[ALPHABET.index(symbol) for symbol in text] for text in texts])
        found[f"{side}_index"] = symbols + 13 * rng.integers(0, 22, symbols.shape)
        found[f"{side}_expr"] = np.array(texts)
        found[f"{side}_res"] = np.array([RESULTS[text] for text in texts], dtype=np.float64)
    return found


def pack(root: Path, **changes: np.ndarray | None) -> Path:
    found: dict[str, Any] = {**arrays(), **changes}
    np.savez(root / "hwf.npz", **{name: array for name, array in found.items() if array is not None})
    return root


def test_archive(tmp_path: Path) -> None:
    source = arrays()
    data = load("hwf", data_dir=pack(tmp_path), length=5)
    assert data.train.x.shape == (5, 5, 1, 9, 9)
    assert data.train.x.dtype == torch.uint8
    assert np.array_equal(data.train.x[:, :, 0].numpy(), 255 - source["images"][source["train_index"]])
    assert data.train.y == [Fraction(7), Fraction(5, 4), Fraction(62), Fraction(10, 3), Fraction(0)]
    assert all(type(answer) is Fraction for answer in data.test.y)
    assert data.train.symbols is not None
    assert data.train.symbols[1].tolist() == [8, 3, 3, 1, 0]
    assert data.note.startswith("HWF, reconstructed from CROHME strokes")


def test_standard_split_ignores_the_seed(tmp_path: Path) -> None:
    first, other = (load("hwf", data_dir=pack(tmp_path), length=5, seed=seed) for seed in (0, 1))
    assert torch.equal(first.train.x, other.train.x)
    assert torch.equal(first.test.x, other.test.x)


def test_sizes_take_the_first_formulas(tmp_path: Path) -> None:
    data = load("hwf", data_dir=pack(tmp_path), length=5, train_size=2, test_size=1, image_size=6)
    assert data.train.x.shape == (2, 5, 1, 6, 6)
    assert data.test.y == [Fraction(4, 3)]


def test_note_counts_shared_images(tmp_path: Path) -> None:
    found = arrays()
    found["train_index"] = found["train_index"] % 13
    apart = load(
        "hwf",
        data_dir=pack(tmp_path, train_index=found["train_index"], test_index=found["test_index"] % 13 + 13),
        length=5,
    )
    assert "0% of whose test slots" in apart.note
    shared = load(
        "hwf", data_dir=pack(tmp_path, train_index=found["train_index"], test_index=found["test_index"] % 13), length=5
    )
    assert "100% of whose test slots" in shared.note


def test_writer_split(tmp_path: Path) -> None:
    source, root = arrays(), pack(tmp_path)
    found = hwf.read_archive(root / "hwf.npz", 5, (None, None))
    sides = hwf.divide(found, source["image_writer"], source["symbol_labels"].astype(np.int64))
    trained, tested = (set(source["image_writer"][indices]) for indices in sides)
    assert trained.isdisjoint(tested)
    assert trained | tested == set(WRITERS)
    assert len(tested) == 4

    data = load("hwf", data_dir=root, length=5, split="writer")
    standard = load("hwf", data_dir=root, length=5)
    place = {(255 - image).tobytes(): at for at, image in enumerate(source["images"])}
    for part, usual, allowed in ((data.train, standard.train, sides[0]), (data.test, standard.test, sides[1])):
        assert part.symbols is not None
        assert usual.symbols is not None
        assert torch.equal(part.symbols, usual.symbols)
        assert part.y == usual.y
        shown = np.array([[place[image.numpy().tobytes()] for image in row[:, 0]] for row in part.x])
        assert set(shown.ravel()) <= set(allowed)
        expected = part.symbols.numpy() + np.array([0, 9, 0, 9, 0])
        assert np.array_equal(source["symbol_labels"][shown], expected)
    assert "writers" in data.note


def test_writer_split_depends_on_the_seed_only_in_its_draws(tmp_path: Path) -> None:
    root = pack(tmp_path)
    first, again, other = (load("hwf", data_dir=root, length=5, split="writer", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.train.x, again.train.x)
    assert not torch.equal(first.train.x, other.train.x)
    pictures = [{image.tobytes() for image in part.x.flatten(0, 2).numpy()} for part in (first.train, other.test)]
    assert pictures[0].isdisjoint(pictures[1])


def test_held_out_pictures_seen_in_training_are_dropped(tmp_path: Path) -> None:
    source = arrays()
    held = hwf.held_out_writers(source["image_writer"][:260], source["symbol_labels"][:260].astype(np.int64))
    hidden = np.flatnonzero(source["image_writer"] == held[0])[0]
    copied = next(at for at in range(260) if source["image_writer"][at] not in held)
    source["images"][hidden] = source["images"][copied]
    found = hwf.read_archive(pack(tmp_path, images=source["images"]) / "hwf.npz", 5, (None, None))
    sides = hwf.divide(found, source["image_writer"], source["symbol_labels"].astype(np.int64))
    assert hidden not in sides[1]
    assert copied in sides[0]


def test_too_few_writers(tmp_path: Path) -> None:
    root = pack(tmp_path, image_writer=np.full(13 * 22, "one"))
    with pytest.raises(DataError, match="held-out writers left no image"):
        load("hwf", data_dir=root, length=5, split="writer")


def test_writer_split_without_writers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^{tmp_path}: .*does not say"):
        load("hwf", data_dir=pack(tmp_path, image_writer=None), length=5, split="writer")


def test_sizes_are_checked(tmp_path: Path) -> None:
    root = pack(tmp_path)
    with pytest.raises(DataError, match=r"train_size=6 was given, and .* has only 5 train formulas of length 5"):
        load("hwf", data_dir=root, length=5, train_size=6)
    with pytest.raises(DataError, match="test_size=3"):
        load("hwf", data_dir=root, length=5, test_size=3)
    with pytest.raises(DataError, match=r"No train formula of length 7 in .*; lengths found: 5"):
        load("hwf", data_dir=root)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"neither hwf\.npz nor expr_train\.json"):
        load("hwf", data_dir=tmp_path)


def patched(raw: bytes, offset: int, value: int) -> bytes:
    """The archive with another byte in the record of its first entry."""
    at = raw.find(b"PK\x01\x02") + offset
    return raw[:at] + bytes([value]) + raw[at + 1 :]


def single_array(_: bytes) -> bytes:
    np.save(file := io.BytesIO(), np.zeros(3))
    return file.getvalue()


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "broken": lambda raw: b"PK\x03\x04 broken",
    "no archive": lambda raw: b"no archive at all",
    "cut off": lambda raw: raw[:-200],
    "zeros inside": lambda raw: raw[:2000] + bytes(100) + raw[2100:],
    "a single array": single_array,
    "encrypted": lambda raw: patched(raw, 8, 1),
    "flagged": lambda raw: patched(raw, 8, 32),
    "unknown method": lambda raw: patched(raw, 10, 99),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_corrupted_archive(tmp_path: Path, how: str) -> None:
    path = pack(tmp_path) / "hwf.npz"
    path.write_bytes(DAMAGED[how](path.read_bytes()))
    with pytest.raises(DataError, match=r"hwf\.npz is not a usable HWF archive .*fetch it again"):
        load("hwf", data_dir=tmp_path, length=5)


def test_what_is_not_known_stays_packed(tmp_path: Path) -> None:
    root = pack(tmp_path, extra=np.array([{}], dtype=object))
    assert len(load("hwf", data_dir=root, length=5).train) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": None}, "no images in it"),
        ({"alphabet": np.array([{}] * 13, dtype=object)}, "not a usable HWF archive"),
        ({"train_expr": None, "test_res": None}, "no train_expr, test_res in it"),
        ({"images": np.zeros((286, 9, 9))}, "images float64"),
        ({"symbol_labels": np.zeros(4, np.int8)}, "with 4 labels"),
        ({"symbol_labels": np.full(286, 13, np.int8)}, "labels outside the alphabet"),
        ({"alphabet": np.array([*"123456789", "+", "-", "*", "("])}, "labels outside the alphabet"),
        ({"image_writer": np.array(["a"])}, "1 writers for 286 images"),
        ({"train_res": np.zeros(2)}, "train lists of 5, 2 and 5 rows"),
        ({"test_index": np.full((2, 5), 999)}, "test_index points outside"),
        ({"test_index": np.full((2, 3), 1)}, "test_index points outside"),
        ({"test_index": np.zeros((2, 5), int)}, r"test formula 0, '3/9\+1', points to images of other symbols"),
        ({"train_res": np.array([7, 1.25, 62.1, 5 - 5 / 3, 0])}, r"train formula 2: '8\*7\+6' is 62 .* claims 62\.1"),
        ({"train_res": np.array([np.nan, 1.25, 62, 5 - 5 / 3, 0])}, "claims nan"),
        ({"test_expr": np.array(["3/0+1", "7-8*2"])}, r"'3/0\+1' is not a formula"),
        ({"images": np.zeros((286, 0, 9), np.uint8)}, r"images uint8\[286, 0, 9\]"),
        ({"symbol_labels": np.array(3)}, r"symbol_labels is int64\[\]"),
        ({"symbol_labels": np.zeros(286, bool)}, "symbol_labels is bool"),
        ({"alphabet": np.array("x")}, "alphabet is <U1"),
        ({"train_res": np.zeros((5, 2))}, "train_res is float64"),
        ({"train_expr": np.zeros(5)}, "train_expr is float64"),
        ({"test_index": np.zeros((2, 5))}, "test_index is float64"),
        ({"image_writer": np.full(286, "\ud800")}, "UnicodeEncodeError"),
        ({"image_writer": np.full(286, 0x110000, np.uint32).view("U1")}, "UnicodeDecodeError|SystemError"),
    ],
)
def test_unusable_archives(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("hwf", data_dir=pack(tmp_path, **changes), length=5)


def test_rounded_results_are_accepted(tmp_path: Path) -> None:
    rounded = np.array([round(RESULTS[text], 3) for text in TRAIN])
    assert load("hwf", data_dir=pack(tmp_path, train_res=rounded), length=5).train.y[3] == Fraction(10, 3)


def rewritten(root: Path, name: str, header: str) -> Path:
    """The archive with another header before an array."""
    path = pack(root) / "hwf.npz"
    with zipfile.ZipFile(path) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    text = header.encode()
    entries[f"{name}.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data)
    return root


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "(" * 5000,
        "{'descr': '|u1', 'fortran_order': 1L, 'shape': 'x' ",
    ],
)
def test_a_header_that_is_none(tmp_path: Path, header: str) -> None:
    with pytest.raises(DataError, match="not a usable HWF archive"):
        load("hwf", data_dir=rewritten(tmp_path, "images", header), length=5)


def test_no_more_is_unpacked_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = pack(tmp_path)
    monkeypatch.setattr(hwf, "UNPACKED_LIMIT", 10_000)
    with pytest.raises(DataError, match=r"it unpacks into \d\d,\d{3} bytes; at most 10,000 are read"):
        load("hwf", data_dir=root, length=5)


@pytest.mark.parametrize("split", ["standard", "writer"])
def test_lengths_that_are_not_published_are_made_of_the_images_of_those_that_are(tmp_path: Path, split: Any) -> None:
    source = arrays()
    source |= {f"test_{part}": source[f"train_{part}"] for part in ("index", "expr", "res")}  # which show all symbols
    many = {"lengths": (1, 5), "shares": (20, 5), "train_size": 25, "test_size": 25}
    data = load("hwf", data_dir=pack(tmp_path, **source), split=split, **many)  # type: ignore[arg-type]
    alone = load("hwf", data_dir=tmp_path, length=5, split=split)
    assert torch.equal(data.train.parts[5].x, alone.train.x)  # what is published stays as it is
    assert [len(part) for part in data.train.parts.values()] == [20, 5]
    assert [len(part) for part in data.test.parts.values()] == [20, 5]
    pictures = {image.tobytes(): at for at, image in enumerate(255 - source["images"])}
    for side, part in (("train", data.train.parts[1]), ("test", data.test.parts[1])):
        shown = [pictures[image.numpy().tobytes()] for image in part.x[:, 0, 0]]
        assert [source["symbol_labels"][at] for at in shown] == part.symbols[:, 0].tolist()
        assert part.y == [int(digit) + 1 for digit in part.symbols[:, 0]]
        if split == "standard":
            assert set(shown) <= set(source[f"{side}_index"].flatten().tolist())
    if split == "writer":
        hands = [
            {source["image_writer"][pictures[image.numpy().tobytes()]] for image in side.parts[1].x[:, 0, 0]}
            for side in (data.train, data.test)
        ]
        assert not hands[0] & hands[1]
    with pytest.raises(DataError, match="No train formula of length 1"):
        load("hwf", data_dir=tmp_path, lengths=(1, 3))


def test_longer_formulas_are_made_of_the_images_of_the_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.tasks.formulas.data.hwf.PUBLISHED", 5)  # as in this copy
    source = arrays()
    source |= {f"test_{part}": source[f"train_{part}"] for part in ("index", "expr", "res")}
    data = load("hwf", data_dir=pack(tmp_path, **source), length=11, train_size=7)
    assert (tuple(data.train.symbols.shape), len(data.test)) == ((7, 11), 1000)
    pictures = {image.tobytes(): at for at, image in enumerate(255 - source["images"])}
    labels = data.train.symbols + 9 * (torch.arange(11) % 2)
    for site in range(11):
        shown = [pictures[image.numpy().tobytes()] for image in data.train.x[:, site, 0]]
        assert [source["symbol_labels"][at] for at in shown] == labels[:, site].tolist()
