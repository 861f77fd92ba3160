"""Interrupt anywhere and resume: the same bits as never having stopped."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from learner_cases import adam, addition, assert_same_run, classifier, equal, examples, kernel, make_learner, weights
from softground import Learner, Stage
from softground.errors import CheckpointError
from softground.learner import one_cycle
from softground.runs import RunFolder
from softground.schedules import Exponential
from softground.training import SoftenedGrounding, ZeroDegree


class Stop(Exception):
    """An interruption."""


class StopAt:
    """An observer that interrupts the run at its n-th event."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.events: list[str] = []

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        self.events.append(f"{event} {facts.get('stage', '')}".strip())
        if len(self.events) == self.number:
            raise Stop


def jitter(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return x + 0.1 * torch.randn(x.shape, generator=generator)


def run(folder: Path, stop: int | None = None, resume: bool = False, init: int = 0, **settings: Any) -> Learner:
    """Two stages with all that has a memory: dropout, augmentation, chains, momentum, rates, the best network."""
    task = addition(tabulated=False)
    stages = [
        Stage(
            "I",
            SoftenedGrounding(kernel("guided", task), Exponential(1.0, 0.7, warmup=1), steps=2),
            3,
            adam,
            one_cycle(),
            keep="best",
        ),
        Stage("II", ZeroDegree(), 2, adam),
    ]
    previous, observer = settings.pop("previous", False), settings.pop("observer", StopAt(stop))
    learner = make_learner(task, stages, classifier(init, dropout=0.3), augment=jitter, evaluate_every=2, **settings)
    train, test = examples(task, 80), examples(task, 30, seed=1)
    return learner.fit(train, test, out=folder, resume=resume, previous=previous, observer=observer)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Durability is tests/runs/test_checkpoint.py's concern; here it would only take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Learner]:
    """The run that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return folder, run(folder)


# begin, then per stage its epochs of 3 batches and an 'epoch' event, then 'stage'; 'end'
EVENTS = 1 + (3 * 4 + 1) + (2 * 4 + 1) + 1


def test_a_run_whose_checkpoints_are_gone_does_not_begin_again(tmp_path: Path) -> None:
    """Its records are kept: they may be all that is left."""
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=5)
    for path in (tmp_path / "run").glob("checkpoint-*"):
        path.unlink()
    records = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    assert records
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        run(tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == records


def test_there_are_as_many_events_as_this_file_thinks(tmp_path: Path) -> None:
    observer = StopAt(None)
    run(tmp_path / "run", observer=observer)
    assert len(observer.events) == EVENTS
    assert observer.events.count("epoch I") == 3
    assert observer.events[-2:] == ["stage II", "end"]


@pytest.mark.parametrize("event", range(1, EVENTS + 1))
def test_a_run_stopped_at_any_event_ends_the_same(event: int, tmp_path: Path, whole: tuple[Path, Learner]) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=event)
    resumed = run(tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole[0])
    assert equal(weights(resumed.network), weights(whole[1].network))
    for stage in (0, 1):
        mine, theirs = (x.loop.parts[0].memory[stage] for x in (resumed, whole[1]))
        assert equal(mine, theirs)
    assert resumed.results_ == whole[1].results_
    assert [r["epoch"] for r in resumed.history_] == [0, 1, 2, 0, 1]


def test_a_run_stopped_again_and_again_ends_the_same(tmp_path: Path, whole: tuple[Path, Learner]) -> None:
    chance = random.Random(0)
    stops = 0
    while True:
        try:
            run(tmp_path / "run", stop=chance.randint(2, 6), resume=stops > 0)
            break
        except Stop:
            stops += 1
    assert stops > 3
    assert_same_run(tmp_path / "run", whole[0])


@pytest.mark.parametrize("method", ["append", "save_checkpoint"])
@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_crash_while_writing_is_no_different(
    method: str, call: int, done: bool, tmp_path: Path, whole: tuple[Path, Learner], monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = getattr(RunFolder, method), []

    def crash(self: RunFolder, *arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) < call or done:
            original(self, *arguments)
        if len(calls) == call:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, method, crash)
        with pytest.raises(Stop):
            run(tmp_path / "run")
    run(tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole[0])


def test_a_run_stopped_in_its_first_epoch_begins_with_the_same_weights(
    tmp_path: Path, whole: tuple[Path, Learner]
) -> None:
    """Even if the program that resumes it makes another network."""
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=2)
    run(tmp_path / "run", resume=True, init=99)
    assert_same_run(tmp_path / "run", whole[0])


def test_the_checkpoint_before_the_last_leads_to_the_same_end(tmp_path: Path, whole: tuple[Path, Learner]) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=10)
    current = max((tmp_path / "run").glob("checkpoint-*.safetensors"))
    current.write_bytes(current.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match="previous=True"):
        run(tmp_path / "run", resume=True)
    run(tmp_path / "run", resume=True, previous=True)
    assert_same_run(tmp_path / "run", whole[0])


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path, whole: tuple[Path, Learner]) -> None:
    run(tmp_path / "run")
    again = run(tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole[0])
    assert equal(weights(again.network), weights(whole[1].network))
    assert again.results_ == whole[1].results_
    assert again.history_ == RunFolder.open(tmp_path / "run").read_metrics()


def test_time_spent_before_an_interruption_counts(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=EVENTS - 2)
    _, meta = RunFolder.open(tmp_path / "run").load_checkpoint()
    assert run(tmp_path / "run", resume=True).seconds_ > meta["seconds"] > 0


@pytest.mark.parametrize(
    ("settings", "message"), [({"seed": 1}, "seed was 0, is 1"), ({"batch_size": 16}, "batch_size was 32, is 16")]
)
def test_other_settings_are_refused(settings: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop=8)
    with pytest.raises(CheckpointError, match=message):
        run(tmp_path / "run", resume=True, **settings)


def test_another_network_or_optimiser_is_refused(tmp_path: Path) -> None:
    task, data = addition(), examples(addition(), 40)

    def stage(optimizer: Any) -> list[Stage]:
        return [Stage("I", SoftenedGrounding(kernel("exact", task), Exponential(1.0)), 3, optimizer)]

    with pytest.raises(Stop):
        make_learner(task, stage(adam)).fit(data, out=tmp_path / "run", observer=StopAt(6))
    with pytest.raises(CheckpointError, match="network was Sequential, is Linear"):
        make_learner(task, stage(adam), torch.nn.Linear(4, 4)).fit(data, out=tmp_path / "run", resume=True)

    def two_groups(parameters: Any) -> torch.optim.Optimizer:
        first, *rest = parameters
        return torch.optim.Adam([{"params": [first]}, {"params": rest}], lr=0.02)

    with pytest.raises(CheckpointError, match="does not fit this run's stage I's optimiser"):
        make_learner(task, stage(two_groups)).fit(data, out=tmp_path / "run", resume=True)


def test_a_folder_that_was_never_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        run(tmp_path / "nowhere", resume=True)
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        run(tmp_path, resume=True)


def test_a_new_run_never_overwrites_another(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with pytest.raises(CheckpointError, match="not empty"):
        run(tmp_path / "run")


def test_nothing_is_pickled(tmp_path: Path) -> None:
    run(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir() if not path.name.startswith("checkpoint-")}
    made = {"config.json", "metrics.jsonl", "summary.json", "gallery.jsonl", "report.json", "report.html"}
    assert names - {"model", ".lock"} == made
    for path in (path for path in (tmp_path / "run").rglob("*") if path.is_file()):
        assert path.suffix in (".json", ".jsonl", ".safetensors", ".html") or path.name == ".lock"
        assert not path.read_bytes().startswith((b"PK", b"\x80"))  # torch.save's zip, and pickle
