"""A checkpoint that is whole but not this run's, or not well meant, is refused before anything is built on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from learner_cases import adam, addition, examples, kernel, make_learner
from softground import Learner, Stage
from softground.errors import CheckpointError
from softground.runs import checkpoint
from softground.schedules import Exponential
from softground.training import SoftenedGrounding, ZeroDegree

Meta = dict[str, Any]
Tensors = dict[str, Tensor]


class Stop(Exception):
    """An interruption."""


def run(folder: Path, resume: bool = False, stop: int | None = None) -> Learner:
    """Two stages; stopped, if at all, in the middle of the first."""
    task = addition()
    grounding = SoftenedGrounding(kernel("guided", task), Exponential(1.0))
    stages = [Stage("I", grounding, 3, adam), Stage("II", ZeroDegree(), 1, adam)]
    seen: list[str] = []

    def observer(event: str, facts: Meta) -> None:
        seen.append(event)
        if len(seen) == stop:
            raise Stop

    return make_learner(task, stages).fit(examples(task, 64), out=folder, resume=resume, observer=observer)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        with pytest.raises(Stop):
            run(folder, stop=6)  # begin, then two batches and the end of each epoch
        yield folder


def lr(tensors: Tensors, meta: Meta) -> None:
    meta["optimizer"]["param_groups"][0]["lr"] = "fast"


def no_betas(tensors: Tensors, meta: Meta) -> None:
    del meta["optimizer"]["param_groups"][0]["betas"]


def chains(value: Tensor) -> Callable[[Tensors, Meta], None]:
    def change(tensors: Tensors, meta: Meta) -> None:
        tensors["objective/0/chains"] = value

    return change


def meta_with(**values: Any) -> Callable[[Tensors, Meta], None]:
    return lambda tensors, meta: meta.update(values)


def without(name: str) -> Callable[[Tensors, Meta], None]:
    def change(tensors: Tensors, meta: Meta) -> None:
        meta.pop(name, None)
        tensors.pop(name, None)

    return change


CHANGES: dict[str, tuple[Callable[[Tensors, Meta], None], str]] = {
    "stage": (meta_with(stage=7), "of stage 8, which this run does not have"),
    "negative stage": (meta_with(stage=-1), "which this run does not have"),
    "epoch": (meta_with(epoch=4), "after epoch 4 of stage 1"),
    "huge epoch": (meta_with(epoch=10**4000), "which this run does not have"),
    "seconds": (meta_with(seconds="long"), "does not fit this run's stages or network: .* 'long'"),
    "results": (meta_with(results={"I": {"answer_accuracy": "good"}}), "its results are not numbers"),
    "no records": (without("records"), "does not fit this run's stages or network: 'records'"),
    "no random state": (without("random/torch"), "does not fit this run's stages or network: 'torch'"),
    "chains of another length": (chains(torch.zeros(63, 3, dtype=torch.int64)), r"its chains are \[63, 3\]"),
    "chains of another width": (chains(torch.zeros(64, 4, dtype=torch.int64)), r"its chains are \[64, 4\]"),
    "chains of floats": (chains(torch.zeros(64, 3)), "its chains are .* numbers of torch.float32"),
    "chains of no symbols": (chains(torch.full((64, 3), 4)), "symbols that the space does not have"),
    "chains below zero": (chains(torch.full((64, 3), -1)), "symbols that the space does not have"),
    "chains of another rule": (chains(torch.zeros(64, 3, dtype=torch.int64)), "so the rule has changed"),
    "learning rate": (lr, "its lr is 'fast'"),
    "no betas": (no_betas, "stage I's optimiser or examples: 'betas'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_fit_is_named(stopped: Path, tmp_path: Path, name: str) -> None:
    change, words = CHANGES[name]
    folder = tmp_path / "run"
    shutil.copytree(stopped, folder)
    tensors, meta = checkpoint.load(folder)
    change(tensors, meta)
    checkpoint.save(folder, tensors, meta)
    with pytest.raises(CheckpointError, match=words) as caught:
        run(folder, resume=True)
    assert str(folder) in str(caught.value)
    assert "Resume with the settings" in str(caught.value)


def test_what_fits_is_resumed(stopped: Path, tmp_path: Path) -> None:
    shutil.copytree(stopped, tmp_path / "run")
    assert len(run(tmp_path / "run", resume=True).history_) == 4


@pytest.mark.parametrize("old", [b'"loss": ', b'"epoch": 0'])
def test_a_past_that_was_changed_is_noticed_and_left_alone(stopped: Path, tmp_path: Path, old: bytes) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stopped, folder)
    path = folder / "metrics.jsonl"
    path.write_bytes(path.read_bytes().replace(old, old[:-1] + b"1", 1))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: its first 1 records are not those.*Restore|restore"):
        run(folder, resume=True)
    assert path.read_bytes() == before


def test_settings_that_were_changed_are_noticed(stopped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stopped, folder)
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"version": "', '"version": "1', 1))
    with pytest.raises(CheckpointError, match=r"config\.json: its settings are not those"):
        run(folder, resume=True)
