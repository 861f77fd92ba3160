"""A checkpoint comes back bit for bit, and a crash while saving leaves one that loads."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from checkpoint_cases import FIRST, SECOND, files, same
from softground.errors import CheckpointError
from softground.runs import checkpoint
from softground.runs.checkpoint import load, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two checkpoints, so that there is a previous one."""
    save(tmp_path, *FIRST)
    save(tmp_path, *SECOND)
    return tmp_path


DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@st.composite
def tensor_sets(draw: st.DrawFn) -> dict[str, Tensor]:
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), unique=True, max_size=4))
    result = {}
    for name in names:
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        dtype = draw(st.sampled_from(DTYPES))
        bits = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
        values = torch.randint(0, 256, (*shape, 8), generator=bits, dtype=torch.uint8)
        width = 1 if dtype is torch.bool else torch.empty((), dtype=dtype).element_size()
        cut = values[..., :width].contiguous()
        result[name] = cut[..., 0] > 127 if dtype is torch.bool else cut.view(dtype)[..., 0]
    return result


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.just("$"), inner, max_size=3)
        | st.dictionaries(st.integers() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(tensors=tensor_sets(), meta=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_round_trip(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        save(Path(name), tensors, meta)
        found = load(Path(name))
    assert same(found, (tensors, meta))
    assert repr(found[1]) == repr(meta)


def test_awkward_tensors_come_back_as_independent_copies(tmp_path: Path) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "base": base,
        "same": base,
        "view": base[1],
        "transposed": base.T,
        "strided": base[:, ::2],
        "expanded": torch.ones(1).expand(5),
        "parameter": nn.Parameter(base),
        "scalar": torch.tensor(7),
        "truth": torch.tensor(True),
        "empty": torch.empty(0, 3, dtype=torch.int64),
        "channels": torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "generator": torch.Generator().manual_seed(3).get_state(),
    }
    save(tmp_path, tensors, {})
    found, _ = load(tmp_path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor.detach()), name
        found[name].fill_(1)
    assert torch.equal(base, torch.arange(12.0).reshape(3, 4))


def test_equal_states_give_equal_files(tmp_path: Path) -> None:
    tensors = {name: torch.rand(3) for name in "badc"}
    save(tmp_path / "a", tensors, {"x": 1, "y": 2})
    save(tmp_path / "b", tensors, {"x": 1, "y": 2})
    assert files(tmp_path / "a")[0].name == files(tmp_path / "b")[0].name


def test_nan_and_infinities_in_meta(tmp_path: Path) -> None:
    save(tmp_path, {}, {"best": -math.inf, "gamma": math.inf, "loss": math.nan, "tiny": 5e-324, "zero": -0.0})
    meta = load(tmp_path)[1]
    assert (meta["best"], meta["gamma"], meta["tiny"], str(meta["zero"])) == (-math.inf, math.inf, 5e-324, "-0.0")
    assert math.isnan(meta["loss"])


def test_only_the_last_two_are_kept_and_leftovers_are_removed(tmp_path: Path) -> None:
    old = f"checkpoint-00000004-{'0' * 64}.safetensors"
    for name in (f".{old}.tmp", old, "other.safetensors"):
        (tmp_path / name).write_bytes(b"left by a crash, or somebody else's")
    for epoch in range(5):
        save(tmp_path, {}, {"epoch": epoch})
    assert [path.name[:20] for path in files(tmp_path)] == ["checkpoint-00000008-", "checkpoint-00000009-"]
    assert {path.name for path in tmp_path.iterdir()} == {"other.safetensors", *(p.name for p in files(tmp_path))}
    assert (load(tmp_path)[1], load(tmp_path, previous=True)[1]) == ({"epoch": 4}, {"epoch": 3})


@pytest.mark.parametrize(
    ("tensors", "meta"),
    [
        pytest.param({}, {"x": object()}, id="object"),
        pytest.param({}, {"x": {1, 2}}, id="set"),
        pytest.param({}, {"x": torch.zeros(1)}, id="tensor in meta"),
        pytest.param({1: torch.zeros(1)}, {}, id="number as name"),
        pytest.param({"\ud800": torch.zeros(1)}, {}, id="surrogate in name"),
        pytest.param({"x": 3}, {}, id="number as tensor"),
        pytest.param({"x": torch.zeros(2).to_sparse()}, {}, id="sparse"),
        pytest.param({"x": torch.zeros(2, device="meta")}, {}, id="no values"),
        pytest.param({"x": torch.zeros(2, dtype=torch.complex128)}, {}, id="dtype"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_changes_nothing(folder: Path, tensors: Any, meta: Any) -> None:
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(CheckpointError):
        save(folder, tensors, meta)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert same(load(folder), SECOND)


def test_meta_that_contains_itself_is_refused(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(CheckpointError, match="meta"):
        save(tmp_path, {}, {"loop": loop})


class Crash(BaseException):
    """What a kill looks like: nothing in the library may catch it."""


@pytest.mark.parametrize("kind", [Crash, OSError])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", ["replace", "fsync", "open", "unlink"])
def test_a_crash_at_any_step_leaves_a_loadable_state(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, after: bool, kind: type[BaseException]
) -> None:
    third = ({"w": torch.ones(4)}, {"epoch": 3})
    real = getattr(os, call)
    crashes = 0
    for step in range(10):
        trial = folder / f"trial{step}"
        trial.mkdir()
        for path in folder.iterdir():
            if path.is_file():
                shutil.copy(path, trial)
        left = step

        def fail(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left >= 0:
                return real(*args, **options)
            if after and left == -1:
                real(*args, **options)
            raise kind("crash")

        try:
            with monkeypatch.context() as patched:
                patched.setattr(os, call, fail)
                save(trial, *third)
        except (Crash, CheckpointError):
            crashes += 1
        found = load(trial)
        assert same(found, SECOND) or same(found, third)
        previous = load(trial, previous=True)
        assert same(previous, FIRST if same(found, SECOND) else SECOND)
        save(trial, *third)
        assert same(load(trial), third)
    assert crashes or call == "unlink"


def test_a_crash_in_the_very_first_save_leaves_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", crash)
        with pytest.raises(Crash):
            save(tmp_path, *FIRST)
    assert not checkpoint.exists(tmp_path)
    save(tmp_path, *FIRST)
    assert same(load(tmp_path), FIRST)


def test_parts_are_checked_and_go_with_their_checkpoint(tmp_path: Path) -> None:
    names = []
    for epoch in range(3):
        number = checkpoint.upcoming(tmp_path)
        names.append(checkpoint.save_part(tmp_path, number, 1, {"chains": torch.full((3,), epoch)}))
        save(tmp_path, {"chains": torch.zeros(3)}, {"parts": names[-1:]})
    assert sorted(path.name for path in tmp_path.glob("part-*")) == sorted(names[1:])  # the last two checkpoints'
    for previous, epoch in ((False, 2), (True, 1)):
        (name,) = load(tmp_path, previous)[1]["parts"]
        assert checkpoint.load_part(tmp_path, name)["chains"].tolist() == [epoch] * 3
    path = tmp_path / names[-1]
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(CheckpointError, match=r"it is damaged or was changed.*previous=True"):
        checkpoint.load_part(tmp_path, names[-1])
    path.unlink()
    with pytest.raises(CheckpointError, match="the file is missing"):
        checkpoint.load_part(tmp_path, names[-1])


@pytest.mark.parametrize("name", ["../part-00000001-1-0.safetensors", f"/part-00000001-1-{'0' * 64}.safetensors", 7])
def test_a_part_elsewhere_is_not_read(name: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="names the part"):
        checkpoint.load_part(tmp_path, name)
