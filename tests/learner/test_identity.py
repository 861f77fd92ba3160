"""A run is resumed as what it was: every difference in settings, data or rule is named, whatever made it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from learner_cases import addition, classifier, examples, kernel, make_learner, weights
from softground import Examples, Learner, Program, Stage, Task
from softground.data import RandomAffine
from softground.errors import CheckpointError
from softground.learner import identity, one_cycle
from softground.learner.datasets import Batches
from softground.learner.run_state import chains_of, network_of
from softground.runs import RunFolder
from softground.schedules import Constant, Exponential
from softground.training import SoftenedGrounding


class Stop(Exception):
    """An interruption."""


def stop_after_the_first_epoch(event: str, facts: dict[str, Any]) -> None:
    if event == "epoch":
        raise Stop


def adam(rate: float) -> Callable[[Any], torch.optim.Optimizer]:
    return lambda parameters: torch.optim.Adam(parameters, lr=rate)


def noise(scale: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    return lambda x, generator: x + scale * torch.randn(x.shape, generator=generator)


def like(rule: Callable[..., Any]) -> Task:
    """The same symbols under another rule."""
    task = addition()
    return Task(task.space, Program(rule, task.space, vectorised=True))


def run(folder: Path, resume: bool = False, **other: Any) -> Learner:
    """A run of two epochs, stopped after the first unless it is resumed; ``other`` is what is different."""
    task = other.get("task") or addition()
    walk = kernel(other.get("kernel", "guided"), task)
    grounding = SoftenedGrounding(walk, other.get("schedule", Exponential(1.0)), other.get("steps", 1))
    rate = other.get("learning_rate", one_cycle())
    optimizer, kept = adam(other.get("rate", 0.02)), other.get("keep", "last")
    stage = Stage(
        "I", grounding, other.get("epochs", 2), optimizer, rate, kept, batch_size=other.get("stage_batch_size")
    )
    learner = make_learner(
        task,
        [stage],
        other.get("network") or classifier(),
        batch_size=other.get("batch_size", 32),
        seed=other.get("seed", 0),
        evaluate_every=other.get("evaluate_every", 1),
        augment=other.get("augment", noise(0.1)),
        recipe=other.get("recipe", {"preset": "best"}),
    )
    observer = None if resume else stop_after_the_first_epoch
    return learner.fit(other.get("data") or examples(addition(), 48), out=folder, resume=resume, observer=observer)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Stop):
        run(folder)
    return folder


def changed(**parts: Any) -> Examples:
    data = examples(addition(), 48)
    return Examples(parts.get("x", data.x), parts.get("y", data.y), parts.get("symbols", data.symbols))


def turned(data: Examples) -> Examples:
    """Its first two images in each other's place."""
    x = data.x.clone()
    x[[0, 1]] = x[[1, 0]]
    return changed(x=x)


DATA = examples(addition(), 48)
DIFFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "γ": ({"schedule": Exponential(0.5)}, "stages.I.objective.schedule.start was 1.0, is 0.5"),
    "schedule": ({"schedule": Constant(1.0)}, "stages.I.objective.schedule was Exponential, is Constant"),
    "steps": ({"steps": 3}, "stages.I.objective.steps was 1, is 3"),
    "kernel": ({"kernel": "collapsed"}, "stages.I.objective.kernel was Guided, is Collapsed"),
    "rate": ({"rate": 2.0}, "stages.I.optimizer.lr was 0.02, is 2.0"),
    "rate, by one in a million": ({"rate": 0.02 + 2e-8}, "stages.I.optimizer.lr was 0.02, is 0.02000002"),
    "cycle": ({"learning_rate": one_cycle(0.5)}, "stages.I.learning_rate.warm was 0.2, is 0.5"),
    "factor": ({"learning_rate": lambda p: 1 - p / 2}, "stages.I.learning_rate was OneCycle, is <lambda>"),
    "epochs": ({"epochs": 3}, "stages.I.epochs was 2, is 3"),
    "kept": ({"keep": "best"}, "stages.I.keep was last, is best"),
    "the stage's batch size": ({"stage_batch_size": 16}, "stages.I.batch_size was not set, is 16"),
    "batch size": ({"batch_size": 16}, "batch_size was 32, is 16"),
    "seed": ({"seed": 3}, "seed was 0, is 3"),
    "evaluations": ({"evaluate_every": 2}, "evaluate_every was 1, is 2"),
    "no augmentation": ({"augment": None}, "augment was noise.<locals>.<lambda>, is not set"),
    "other augmentation": ({"augment": RandomAffine()}, "augment was noise.<locals>.<lambda>, is RandomAffine"),
    "network": ({"network": nn.Linear(4, 4)}, "network was Sequential, is Linear"),
    "wider network": (
        {"network": nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))},
        "network.parameters was 148, is 76",
    ),
    "inverse": ({"task": addition(tabulated=False)}, "inverse was Table, is Enumeration"),
    "preset": ({"recipe": {"preset": "paper"}}, "recipe.preset was best, is paper"),
    "no recipe": ({"recipe": None}, "recipe was {'preset': 'best'}, is not set"),
    "swapped images": ({"data": turned(DATA)}, "the training inputs have changed"),
    "answers": ({"data": changed(y=[*DATA.y[:-1], 9])}, "the training answers have changed"),
    "symbols": ({"data": changed(symbols=DATA.symbols.flip(1))}, "the true symbols have changed"),
    "no symbols": ({"data": Examples(DATA.x, DATA.y)}, "the true symbols have changed"),
    "fewer": ({"data": examples(addition(), 40)}, "the training examples were 48, are 40"),
    "rule": ({"task": like(lambda a, b, c: a + b + c + (a == 3) * (b == 3))}, "the rule has changed"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_kind_of_difference_is_named(name: str, stopped: Path) -> None:
    other, words = DIFFERENCES[name]
    before = {path.name: path.read_bytes() for path in stopped.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError) as caught:
        run(stopped, resume=True, **other)
    message = str(caught.value)
    assert words in message
    assert f"The run in {stopped} is not this one: " in message
    assert "Resume with the settings and data the run was started with, or start a new run." in message
    assert {path.name: path.read_bytes() for path in stopped.rglob("*") if path.is_file()} == before


def test_all_differences_are_named_at_once_and_nothing_else_is(stopped: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        run(stopped, resume=True, seed=1, rate=0.5, kernel="exact", data=turned(DATA))
    message = str(caught.value)
    clauses = message[message.index("one: ") + 5 : message.index(". Resume")].split("; ")
    assert clauses == [
        "seed was 0, is 1",
        "stages.I.objective.kernel was Guided, is Exact",
        "stages.I.optimizer.lr was 0.02, is 0.5",
        "the training inputs have changed",
    ]


def test_the_same_run_resumes_wherever_it_was_moved(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    learner = run(tmp_path / "there", resume=True)
    assert [record["epoch"] for record in learner.history_] == [0, 1]


def test_another_version_alone_goes_on_and_is_named_where_something_else_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = identity.environment() | {"softground": "0.0.7"}
    with monkeypatch.context() as patch:
        patch.setattr(identity, "environment", lambda: old)
        with pytest.raises(Stop):
            run(tmp_path / "run")
    with pytest.raises(
        CheckpointError, match=r"seed was 0, is 5; \(the run was started by softground 0\.0\.7, this is"
    ):
        run(tmp_path / "run", resume=True, seed=5)
    assert len(run(tmp_path / "run", resume=True).history_) == 2


def test_a_folder_of_the_previous_layout_is_refused_by_its_version(stopped: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"schema": 1, "task": "task", "seed": 0, "batch_size": 32}))
    with pytest.raises(CheckpointError, match=r"softground 0\.1\.0 wrote this run folder.*Use softground 0\.1\.0"):
        run(tmp_path, resume=True)


def test_other_threads_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run")
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads + 3)
    with pytest.warns(UserWarning, match=f"used {threads} threads, and this process uses {threads + 3}"):
        run(tmp_path / "run", resume=True)


def test_a_config_says_what_the_run_is(stopped: Path) -> None:
    config = RunFolder.open(stopped).read_config()
    assert list(config) == [
        "format",
        "version",
        "task",
        "recipe",
        "place",
        "settings",
        "choice",
        "chosen",
        "data",
        "validation",
        "rule",
        "environment",
    ]
    assert config["data"]["examples"] == 48
    assert config["settings"]["stages"]["I"]["objective"]["schedule"]["class"] == "Exponential"
    assert config["settings"]["stages"]["I"]["objective"]["kernel"]["inverse"]["class"] == "Table"


class Lazily(Dataset[Any]):
    """A data set that is read item by item; it may add noise of its own."""

    def __init__(self, noise: float = 0.0, swapped: bool = False) -> None:
        self.held, self.noise = turned(DATA) if swapped else DATA, noise
        self.chance = torch.Generator().manual_seed(0)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        return self.held.x[index] + self.noise * torch.randn(3, 4, generator=self.chance), self.held.y[index]


def test_a_data_set_read_item_by_item_is_known_by_its_ends(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", data=Lazily())
    assert RunFolder.open(tmp_path / "run").read_config()["data"]["read"].startswith("item by item")
    with pytest.raises(CheckpointError, match="the training inputs have changed"):
        run(tmp_path / "run", resume=True, data=Lazily(swapped=True))
    run(tmp_path / "run", resume=True, data=Lazily())


def test_a_data_set_that_draws_is_not_known_by_its_inputs(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", data=Lazily(noise=0.1))
    assert RunFolder.open(tmp_path / "run").read_config()["data"]["inputs"] is None
    run(tmp_path / "run", resume=True, data=Lazily(noise=0.1))


def test_a_rule_without_known_symbols_is_known_by_its_chains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Examples(DATA.x, DATA.y)
    with pytest.raises(Stop):
        run(tmp_path / "run", data=data)
    monkeypatch.setattr(identity, "rule_digest", lambda task, data: RunFolder(tmp_path / "run").read_config()["rule"])
    with pytest.raises(CheckpointError, match="its chains do not explain the answers, so the rule has changed"):
        run(tmp_path / "run", resume=True, data=data, task=like(lambda a, b, c: a + b + 2 * c))


def test_answers_are_the_same_however_they_are_written() -> None:
    assert identity._digest([7, 7, 8]) == identity._digest([7.0, np.int64(7), np.float32(8)])
    assert len({identity._digest(answers) for answers in ([7, 8], [8, 7], [7], ["7"], [7.5], [None])}) == 6


def test_a_rule_that_fails_elsewhere_has_no_digest() -> None:
    def partial(a: int, b: int, c: int) -> int:
        if (a, b) == (0, 1):
            raise RuntimeError("never proposed")
        return a + b + c

    space = addition().space
    assert (
        identity.rule_digest(Task(space, Program(partial, space), object()), Batches(DATA, torch.device("cpu"))) is None
    )  # type: ignore[arg-type]


def test_the_network_and_the_chains_of_a_run(stopped: Path) -> None:
    folder = RunFolder.open(stopped)
    network = classifier()
    network.load_state_dict(network_of(folder))
    assert not torch.equal(weights(network)["0.weight"], weights(classifier())["0.weight"])
    assert torch.equal(network_of(folder, previous=True)["0.weight"], weights(classifier())["0.weight"])
    chains = chains_of(folder)
    assert chains is not None
    assert chains.sum(1).tolist() == DATA.y


def test_torchs_own_generator_is_left_as_it_was(tmp_path: Path) -> None:
    data, learner = examples(addition(), 48), make_learner(addition(), net=classifier(dropout=0.5))
    torch.manual_seed(5)
    before = torch.get_rng_state()
    learner.fit(data, out=tmp_path / "run")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_newest_checkpoint_that_is_gone_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run")
    run(tmp_path / "run", resume=True)
    max((tmp_path / "run").glob("checkpoint-*")).unlink()
    warning = "the newest checkpoint is missing. The one before it is used instead, which was saved after epoch 1 of"
    with pytest.warns(UserWarning, match=warning):
        network_of(RunFolder.open(tmp_path / "run"))
    with pytest.warns(UserWarning, match=warning):
        learner = run(tmp_path / "run", resume=True)
    assert [record["epoch"] for record in learner.history_] == [0, 1]


@pytest.mark.parametrize(("then", "now"), [(1e-7, 2e-7), (0.3, 0.1 + 0.2), (1, 1 + 1e-9)])
def test_numbers_that_hardly_differ_differ(then: float, now: float) -> None:
    nested = ({"recipe": {"stages": [{"rate": rate}]}} for rate in (then, now))
    assert list(identity._differences(*nested, "")) == [f"recipe.stages.0.rate was {then}, is {now}"]
    assert not list(identity._differences({"rate": then}, {"rate": then}, ""))
