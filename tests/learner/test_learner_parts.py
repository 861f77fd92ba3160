"""Any module, any optimiser, any objective: what the learner takes from its user."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from learner_cases import adam, addition, assert_same_run, classifier, equal, examples, make_learner, weights
from softground import Learner, SoftgroundError, Stage, grounding_stages
from softground.learner import one_cycle
from softground.training import Batch, Moment, Teacher

OPTIMISERS = {
    "SGD with momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.02),
    "NAdam": lambda p: torch.optim.NAdam(p, 0.02),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
    "two groups": lambda p: torch.optim.Adam([{"params": q, "lr": 0.01 * (1 + i % 2)} for i, q in enumerate(p)]),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_any_optimiser_serves_and_comes_back_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    task = addition()

    def run(folder: Path, resume: bool = False, stop: bool = False) -> None:
        stage = Stage("I", grounding_stages(task)[0].objective, 3, OPTIMISERS[name], one_cycle())
        observer = stop_after_the_first_epoch if stop else None
        make_learner(task, [stage]).fit(examples(task, 64), out=folder, resume=resume, observer=observer)

    run(tmp_path / "whole")
    with pytest.raises(Stop):
        run(tmp_path / "parts", stop=True)
    run(tmp_path / "parts", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


class Stop(Exception):
    pass


def stop_after_the_first_epoch(event: str, facts: dict[str, Any]) -> None:
    if event == "epoch":
        raise Stop


class Heads(nn.Module):
    """A head per site over a whole-input body, with batch normalisation; nothing of it is ours."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(32, 4) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x)
        return torch.stack([head(hidden) for head in self.heads], 1)


def test_any_module_serves_and_keeps_its_own_mode() -> None:
    task = addition()
    torch.manual_seed(0)
    net = Heads()
    learner = make_learner(task, grounding_stages(task, epochs=4, optimizer=adam), net)
    learner.fit(examples(task), examples(task, 40, seed=1))
    assert learner.history_[-1]["loss"] < learner.history_[0]["loss"]
    for mode in (True, False):
        net.train(mode)
        state = weights(net)
        learner.evaluate(examples(task, 40, 1))
        learner.predict(examples(task, 40, 1).x)
        assert net.training is mode
        assert equal(state, weights(net))  # batch statistics do not move


def test_a_teacher_of_ones_own_needs_only_to_teach() -> None:
    class Uninterested(Teacher):
        def teach(self, batch: Batch) -> torch.Tensor:
            batch.figures["size"] = torch.full((len(batch.index),), 2.0)
            return batch.reading.mode()  # type: ignore[no-any-return]

        def numbers(self, moment: Moment) -> dict[str, float]:
            return {"knob": 0.5 * moment.epoch}

    task = addition()
    learner = make_learner(task, [Stage("mine", Uninterested(), 2, adam)]).fit(examples(task, 40))
    assert [r["knob"] for r in learner.history_] == [0.0, 0.5]
    assert [r["size"] for r in learner.history_] == [2.0, 2.0]


@pytest.mark.parametrize("rate", [one_cycle, 0.1, "fast"])
def test_a_stages_learning_rate_is_a_function_of_progress(rate: Any) -> None:
    """``one_cycle`` without its brackets used to end in a TypeError deep in the loop."""
    with pytest.raises(SoftgroundError, match="function from progress"):
        Stage("I", grounding_stages(addition())[0].objective, 1, adam, learning_rate=rate)


def test_numpys_whole_numbers_are_numbers() -> None:
    stages = [replace(stage, epochs=np.int64(1), batch_size=np.int64(8)) for stage in grounding_stages(addition())]
    learner = Learner(addition(), classifier(), stages, batch_size=np.int64(16), device="cpu")
    assert len(learner.fit(examples(addition(), 64)).history_) == 1


def test_a_learner_that_was_not_fitted_says_so() -> None:
    learner = Learner(addition(), classifier(), device="cpu")
    with pytest.warns(UserWarning, match="has not been fitted"):
        learner.predict(examples(addition()).x)
