"""A damaged, forged or foreign checkpoint is refused, with a message that says what to do."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from checkpoint_cases import FIRST, SECOND, current_file, disguise, expect_damage, files, header, same
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
        assert "SHA-256" in expect_damage(folder)
    path.write_bytes(data + b"\0")
    assert "SHA-256" in expect_damage(folder)


def test_a_checkpoint_that_is_gone_leaves_the_one_before_as_the_current(folder: Path) -> None:
    current_file(folder).unlink()
    assert same(load(folder), FIRST)
    with pytest.raises(CheckpointError, match="no previous checkpoint"):
        load(folder, previous=True)


def test_files_in_each_others_place_are_noticed(folder: Path) -> None:
    one, two = files(folder)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    for previous in (False, True):
        with pytest.raises(CheckpointError, match=r"SHA-256.*No other checkpoint in this folder is intact"):
            load(folder, previous)


def test_a_checkpoint_larger_than_the_memory_is_not_read(folder: Path) -> None:
    os.truncate(current_file(folder), 2**40)  # of which the disk holds nothing
    assert "larger than" in expect_damage(folder)


def test_meta_that_could_not_be_read_again_is_not_written(folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"a header of .* bytes; at most .* store bulky values as tensors"):
        save(folder, {}, {"text": "x" * 2**24})
    assert same(load(folder), SECOND)


def test_a_flipped_bit_anywhere_is_noticed(folder: Path) -> None:
    path = current_file(folder)
    data = path.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert "SHA-256" in expect_damage(folder)


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
        (2**63).to_bytes(8, "little") + b"{}",
        header('{"a":"' + " " * 2**24 + '"}'),
    ],
    ids=lambda data: repr(data)[:60],
)
def test_forged_files_are_refused(folder: Path, data: bytes) -> None:
    disguise(folder, data)
    assert "not a softground checkpoint" in expect_damage(folder)


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
    files(folder)[0].write_bytes(b"")
    with pytest.raises(CheckpointError, match="current checkpoint is intact: use previous=False"):
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
