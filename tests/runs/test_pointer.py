"""The pointer to the checkpoints, damaged or forged, and what it and a header may ask for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch

from checkpoint_cases import FIRST, SECOND, current_file, disguise, expect_damage, header, rewrite, same
from softground.errors import CheckpointError
from softground.runs import checkpoint
from softground.runs.checkpoint import load, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two checkpoints, so that there is a previous one."""
    save(tmp_path, *FIRST)
    save(tmp_path, *SECOND)
    return tmp_path


@pytest.mark.parametrize("damage", ["cut", "gone", "swapped entries", "the spare in its place", "newer"])
def test_a_damaged_pointer_costs_one_checkpoint_and_not_the_run(folder: Path, damage: str) -> None:
    path = folder / "checkpoint.json"
    match damage:
        case "cut":
            path.write_bytes(path.read_bytes()[:-20])
        case "gone":
            path.unlink()
        case "swapped entries":
            rewrite(folder, lambda p: p.update(current=p["previous"], previous=p["current"]))
        case "the spare in its place":
            shutil.copy(folder / "checkpoint-previous.json", path)
        case "newer":
            rewrite(folder, lambda p: p.update(schema=3))
    assert checkpoint.exists(folder)
    with pytest.raises(CheckpointError, match="The pointer is damaged, but the previous checkpoint is intact"):
        load(folder)
    assert same(load(folder, previous=True), FIRST)
    if damage == "newer":
        return
    third = ({"w": torch.ones(1)}, {"epoch": 3})
    save(folder, *third)
    assert same(load(folder), third)
    assert same(load(folder, previous=True), FIRST)


def test_a_foreign_pointer_leaves_the_own_previous(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    save(other, {"w": torch.ones(3)}, {"epoch": 1})
    save(other, {"w": torch.ones(4)}, {"epoch": 2})
    shutil.copy(other / "checkpoint.json", folder)
    with pytest.raises(CheckpointError, match="previous checkpoint is intact"):
        load(folder)
    assert same(load(folder, previous=True), FIRST)


def test_without_any_pointer_there_is_no_checkpoint(folder: Path) -> None:
    for name in ("checkpoint.json", "checkpoint-previous.json"):
        (folder / name).unlink()
    assert not checkpoint.exists(folder)
    with pytest.raises(CheckpointError, match="no checkpoint in this folder"):
        load(folder)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param((2**63).to_bytes(8, "little") + b"{}", id="header of 2**63 bytes"),
        pytest.param(header('{"a":"' + " " * 2**24 + '"}'), id="header of 16 MiB"),
        pytest.param(header('{"__metadata__":{"softground":"' + "[]," * 2**20 + '"}}'), id="a million values"),
    ],
)
def test_a_header_out_of_bounds_is_refused(folder: Path, data: bytes) -> None:
    disguise(folder, data)
    assert "a header of" in expect_damage(folder)


def test_a_checkpoint_larger_than_the_memory_is_not_read(folder: Path) -> None:
    path = current_file(folder)
    os.truncate(path, 2**40)  # of which the disk holds nothing
    rewrite(folder, lambda p: p["current"].update(size=2**40))
    assert "more than this machine's memory" in expect_damage(folder)


def test_meta_that_could_not_be_read_again_is_not_written(folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"the meta is too large.*Store bulky values as tensors"):
        save(folder, {}, {"list": [0] * 2**20})
    assert same(load(folder), SECOND)
