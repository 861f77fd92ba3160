"""Examples that are followed through a run: the run is the same, and so is the gallery of a run that was resumed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from learner_cases import adam, addition, assert_same_run, classifier, examples, kernel, make_learner
from softground import Learner, Stage
from softground.errors import CheckpointError
from softground.report.watch import GALLERY, read_gallery
from softground.schedules import Exponential
from softground.training import SoftenedGrounding, ZeroDegree


class Stop(Exception):
    """An interruption."""


class Jittery(Dataset[Any]):
    """A data set that draws from torch's global generator whenever an example is read."""

    def __init__(self, count: int) -> None:
        self.held = examples(addition(), count)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, Any]:
        return self.held.x[index] + 0.1 * torch.randn(3, 4), self.held.y[index]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def run(path: Path, stop: int | None = None, resume: bool = False, **settings: Any) -> Learner:
    """Two stages; the second has no chains. ``stop`` interrupts at an event, after the gallery heard of it."""
    task = addition(tabulated=False)
    grounding = SoftenedGrounding(kernel("guided", task), Exponential(1.0, 0.7), steps=2)
    stages = [Stage("I", grounding, 2, adam, keep="best"), Stage("II", ZeroDegree(), 2, adam)]
    learner = make_learner(task, stages, classifier(dropout=0.3), batch_size=16)
    train = settings.get("train") or examples(task, 40)
    events: list[str] = []

    def interrupt(event: str, facts: dict[str, Any]) -> None:
        events.append(event)
        if len(events) == stop:
            raise Stop

    previous = settings.get("previous", False)
    return learner.fit(
        train, examples(task, 20, seed=1), out=path, resume=resume, previous=previous, observer=interrupt
    )


def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.report.reporter.Watch", lambda *parts: None)


@pytest.mark.parametrize("make", [lambda: None, lambda: Jittery(40)], ids=["tensors", "a data set that draws"])
def test_a_run_is_the_same_with_it_and_without(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "with", train=make())
    unwatched(monkeypatch)
    run(tmp_path / "without", train=make())
    assert_same_run(tmp_path / "with", tmp_path / "without")
    assert not (tmp_path / "without" / GALLERY).exists()


def test_a_line_for_each_epoch_has_the_chains_and_the_networks_reading(tmp_path: Path) -> None:
    learner = run(tmp_path / "run")
    records = read_gallery(tmp_path / "run" / GALLERY)
    assert [(r["epochs"], r["stage"]) for r in records] == [(0, None), (1, "I"), (2, "I"), (3, "II"), (4, "II")]
    assert all(r["examples"] == [0, 1, 2, 3, 4, 5] for r in records)
    assert [r["grounded"] is None for r in records] == [True, False, False, True, True]
    assert [len(r.get("inputs", [])) for r in records] == [6, 0, 0, 0, 0]
    chains = learner.loop.parts[0].memory[0]["chains"][:6]
    assert records[2]["grounded"] == [[str(s) for s in z] for z in learner.task.space.decode(chains)]
    data = examples(learner.task, 40)
    assert all(sum(map(int, z)) == y for z, y in zip(records[1]["grounded"], data.y, strict=False))
    assert records[-1]["predicted"] == [[str(s) for s in z] for z in learner.predict(data.x[:6])]


# begin, then per epoch 3 batches and its end, and the end of each stage
EVENTS = 1 + 2 * (2 * 4 + 1)


@pytest.mark.parametrize("event", range(1, EVENTS + 1))
def test_a_run_stopped_at_any_event_and_resumed_leaves_the_same_gallery(event: int, tmp_path: Path) -> None:
    run(tmp_path / "whole")
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=event)
    run(tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    assert (tmp_path / "run" / GALLERY).read_bytes() == (tmp_path / "whole" / GALLERY).read_bytes()


def test_resuming_from_the_previous_checkpoint_drops_what_it_repeats(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = (tmp_path / "run" / GALLERY).read_bytes()
    run(tmp_path / "run", resume=True, previous=True)
    assert (tmp_path / "run" / GALLERY).read_bytes() == before


def test_a_damaged_gallery_loses_its_damage_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=6)  # in the second epoch
    path = tmp_path / "run" / GALLERY
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"epochs": \xff\n[1]\n{"epochs": "x"}\n' + lines[1] + b'{"epochs": 2, "pred')
    run(tmp_path / "run", resume=True)
    assert [r["epochs"] for r in read_gallery(path)] == [0, 1, 2, 3, 4]
    assert [json.loads(line)["epochs"] for line in path.read_bytes().splitlines()] == [0, 1, 2, 3, 4]


def test_a_run_without_a_gallery_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        unwatched(patch)
        with pytest.raises(Stop):
            run(tmp_path / "run", stop=6)
    run(tmp_path / "run", resume=True)
    assert [r["epochs"] for r in read_gallery(tmp_path / "run" / GALLERY)] == [2, 3, 4]


def test_a_gallery_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=6)
    (tmp_path / "run" / GALLERY).unlink()
    (tmp_path / "run" / GALLERY).mkdir()
    with pytest.raises(CheckpointError, match=r"gallery\.jsonl: it is not a regular file\. Make it readable"):
        run(tmp_path / "run", resume=True)
