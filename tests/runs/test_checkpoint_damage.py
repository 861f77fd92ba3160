"""A damaged, forged or foreign checkpoint is refused, with a message that says what to do."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from checkpoint_cases import FIRST, SECOND, current_file, disguise, expect_damage, header, pointer, rewrite, same
from softground.errors import CheckpointError
from softground.runs.checkpoint import load, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two checkpoints, so that there is a previous one."""
    save(tmp_path, *FIRST)
    save(tmp_path, *SECOND)
    return tmp_path


class Unpicklable:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was executed",))


def test_truncation_anywhere_is_noticed(folder: Path) -> None:
    path = current_file(folder)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert "cut short" in expect_damage(folder)
    path.write_bytes(data + b"\0")
    assert "larger" in expect_damage(folder)
    path.unlink()
    assert "missing" in expect_damage(folder)


def test_a_flipped_bit_anywhere_is_noticed(folder: Path) -> None:
    path = current_file(folder)
    data = path.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert "SHA-256" in expect_damage(folder)


def test_a_flipped_bit_in_the_pointer_never_gives_wrong_content(folder: Path) -> None:
    path = folder / "checkpoint.json"
    data = path.read_bytes()
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            for previous, expected in ((False, SECOND), (True, FIRST)):
                try:
                    assert same(load(folder, previous), expected)
                except CheckpointError as error:
                    assert str(folder) in str(error)  # noqa: PT017


def test_a_truncated_pointer_is_refused(folder: Path) -> None:
    path = folder / "checkpoint.json"
    data = path.read_bytes()
    for length in range(len(data) - 1):  # the last byte is only a newline
        path.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match="pointer is damaged"):
            load(folder)


def test_a_pickle_is_never_executed(folder: Path) -> None:
    payload = pickle.dumps({"w": Unpicklable()})
    current_file(folder).write_bytes(payload)
    expect_damage(folder)
    disguise(folder, payload)
    assert "not a softground checkpoint" in expect_damage(folder)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        header("{}"),
        header('{"__metadata__":{}}'),
        header('{"__metadata__":{"softground":"[]"}}'),
        header('{"__metadata__":{"softground":"{\\"a\\": NaN}"}}'),
        header('{"__metadata__":{"softground":"{\\"$\\": \\"what\\"}"}}'),
        header('{"__metadata__":{"softground":"{\\"$\\": \\"tuple\\"}"}}'),
        header('{"__metadata__":{"softground":"{\\"$\\": \\"tuple\\", \\"items\\": []}"}}'),
        header('{"__metadata__":{"softground":"{\\"$\\": \\"float\\", \\"value\\": \\"x\\"}"}}'),
        header('{"__metadata__":{"softground":"{\\"$\\": \\"dict\\", \\"items\\": [[[], 1]]}"}}'),
        header('{"__metadata__":{"softground":"' + "[" * 50_000 + '"}}'),
        header('{"w":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'),
    ],
    ids=lambda data: repr(data)[:60],
)
def test_forged_files_are_refused(folder: Path, data: bytes) -> None:
    disguise(folder, data)
    assert "not a softground checkpoint" in expect_damage(folder)


@pytest.mark.parametrize(
    "name",
    ["../secret", "/etc/passwd", "sub/x.safetensors", "..", "", "a\\b", "checkpoint-1.safetensors\n", "\0", 3, None],
    ids=repr,
)
def test_a_pointer_cannot_lead_out_of_the_folder(folder: Path, name: object) -> None:
    shutil.copy(current_file(folder), folder.parent / "secret")
    rewrite(folder, lambda p: p["current"].update(file=name))
    with pytest.raises(CheckpointError, match="inside this folder"):
        load(folder)


@pytest.mark.parametrize("size", [10**30, 2**62, -1, 1.5, True, "9", None], ids=repr)
def test_absurd_sizes_are_refused(folder: Path, size: object) -> None:
    rewrite(folder, lambda p: p["current"].update(size=size))
    with pytest.raises(CheckpointError):
        load(folder)


def test_a_newer_schema_asks_for_an_upgrade_and_is_not_overwritten(folder: Path) -> None:
    rewrite(folder, lambda p: p.update(schema=99, extra="unknown"))
    before = (folder / "checkpoint.json").read_bytes()
    with pytest.raises(CheckpointError, match=r"schema 99.*Upgrade"):
        load(folder)
    with pytest.raises(CheckpointError, match="Upgrade"):
        save(folder, {}, {})
    assert (folder / "checkpoint.json").read_bytes() == before


@pytest.mark.parametrize("schema", [0, -1, "1", None, True, 1.5], ids=repr)
def test_an_unknown_schema_is_refused(folder: Path, schema: object) -> None:
    rewrite(folder, lambda p: p.update(schema=schema))
    with pytest.raises(CheckpointError, match="schema"):
        load(folder)


def test_an_oversized_or_deep_pointer_is_refused(folder: Path) -> None:
    path = folder / "checkpoint.json"
    path.write_bytes(path.read_bytes() + b" " * 2**20)
    with pytest.raises(CheckpointError, match="larger than"):
        load(folder)
    path.write_text("[" * 200_000)
    with pytest.raises(CheckpointError, match="JSON"):
        load(folder)


def test_pipes_and_folders_are_not_read(folder: Path) -> None:
    path = current_file(folder)
    path.unlink()
    path.mkdir()
    assert "not a regular file" in expect_damage(folder)
    if hasattr(os, "mkfifo"):
        path.rmdir()
        os.mkfifo(path)
        assert "not a regular file" in expect_damage(folder)


def test_no_checkpoint_and_no_previous_one(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent"):
        with pytest.raises(CheckpointError, match="no checkpoint in this folder"):
            load(place)
    save(tmp_path, *FIRST)
    with pytest.raises(CheckpointError, match="no previous checkpoint"):
        load(tmp_path, previous=True)
    current_file(tmp_path).write_bytes(b"")
    with pytest.raises(CheckpointError, match="backup"):
        load(tmp_path)


def test_a_damaged_previous_points_to_the_current(folder: Path) -> None:
    (folder / pointer(folder)["previous"]["file"]).write_bytes(b"")
    with pytest.raises(CheckpointError, match="current checkpoint is intact"):
        load(folder, previous=True)


def test_a_damaged_current_does_not_push_out_the_good_previous(folder: Path) -> None:
    current_file(folder).write_bytes(b"damaged")
    third = ({"w": torch.ones(1)}, {"epoch": 3})
    save(folder, *third)
    assert same(load(folder), third)
    assert same(load(folder, previous=True), FIRST)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be used"):
        save(tmp_path / "file", {}, {})
