"""The trial of numbers that are not finite can fail, and what it relies on in the learner."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from softground.errors import LearnerError, NonFiniteOutput
from softground.learner.loop import Loop
from softground.learner.outputs import FiniteOutputs, gradients, not_finite, saved_tensors
from softground.learner.stage import Stage, make_optimizer
from softground.training import ZeroDegree
from torture.trial import Tally, Unavailable
from torture.trials import nonfinite, nonfinite_gpu
from torture.trials._hurt import Place


def tried(name: str, at: Place, folder: Path, monkeypatch: pytest.MonkeyPatch, evaluated: bool = True) -> Tally:
    """The trial on the one case of a fault at a place."""
    every = nonfinite.every_case()
    some = [case for case in every if (case.fault.name, case.at, case.evaluated) == (name, at, evaluated)]
    monkeypatch.setattr(nonfinite, "every_case", lambda: iter(some[:1]))
    nonfinite.run(tally := Tally(), 1, 0, folder)
    assert tally.tried == 1
    return tally


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("a gradient of NaN", "'^Stage exact, epoch 1 of 2, (batch 1 of 3:)' is not in the message"),
        ("an infinite loss", "nothing was noticed"),
    ],
)
def test_a_loss_that_nobody_watches_is_blamed_on_the_wrong_batch_or_not_seen(
    fault: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FiniteOutputs, "learn", lambda self, loss, network, norm: None)
    tally = tried(fault, Place(0, 0, 0), tmp_path, monkeypatch)
    assert tally.survived == 0
    assert found in tally.failures[0]


def test_a_buffer_that_nobody_looks_at_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "_check_state", lambda self, stage, epoch: None)
    tally = tried("inputs times 1e25", Place(3, 1, 2), tmp_path, monkeypatch, evaluated=False)
    assert tally.survived == 0
    assert "nothing was noticed" in tally.failures[0]


def test_every_stage_and_every_place_is_hurt() -> None:
    cases = list(nonfinite.every_case())
    places = {(case.subject, case.at.stage, case.at.epoch, case.at.batch) for case in cases}
    assert places == {
        (s, i, e, b) for s, n in (("classes", 4), ("reals", 2)) for i in range(n) for e in range(2) for b in range(4)
    }
    assert len(cases) == nonfinite.TRIAL.full


def test_a_learning_rate_that_no_optimiser_can_hold_is_refused() -> None:
    stage = Stage("I", ZeroDegree(), 1, lambda parameters: torch.optim.SGD(parameters, lr=math.inf))
    with pytest.raises(LearnerError, match=r"Stage I's learning rate is inf; expected a finite number"):
        make_optimizer(stage, nn.Linear(1, 1).parameters())


def test_a_step_is_refused_before_it_is_taken() -> None:
    network, watch = nn.Linear(2, 1), FiniteOutputs()
    watch.begin(4, lambda rows: rows, torch.arange(3))
    watch.watch(output := network(torch.ones(3, 2)))
    output.sum().backward()
    watch.learn(output.sum(), network)
    with pytest.raises(NonFiniteOutput, match=r"The loss is -inf, though"):
        watch.learn(torch.tensor(-math.inf), network)
    with pytest.raises(NonFiniteOutput, match=r"The loss is 1e\+20: its square"):
        watch.learn(torch.tensor(1e20), network)
    with pytest.raises(NonFiniteOutput, match=r"The loss is 2: its square, or that of its gradient"):
        watch.learn(torch.tensor(2.0), network, norm=torch.tensor(math.inf))
    network.bias.grad = torch.tensor([math.inf])
    with pytest.raises(NonFiniteOutput, match=r"The loss is 2, but its gradient .* the network's bias\. Lower"):
        watch.learn(torch.tensor(2.0), network)
    assert watch.step == 4


def test_sparse_gradients_are_watched_too() -> None:
    network = nn.Embedding(5, 2, sparse=True)
    network(torch.tensor([1, 1])).sum().backward()
    assert gradients(network)["weight"].tolist() == [[2.0, 2.0]]
    FiniteOutputs().learn(torch.tensor(0.0), network)
    (network(torch.tensor([1])) * math.nan).sum().backward()
    with pytest.raises(NonFiniteOutput, match="the network's weight"):
        FiniteOutputs().learn(torch.tensor(0.0), network)


def test_everything_that_would_be_saved_is_looked_at() -> None:
    memory = {"chains": torch.tensor([[0.0, math.inf]])}
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.rand(4, 2)).sum().backward()
    optimizer.step()
    network[1].running_var[1] = math.inf  # type: ignore[union-attr, index]
    optimizer.state[network[0].bias]["exp_avg_sq"][0] = math.nan
    names = not_finite(saved_tensors(network, optimizer, [memory]))
    assert names == ["network's 1.running_var", "optimiser's exp_avg_sq of parameter 1", "examples' chains"]


def test_on_a_gpu_the_trial_needs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Unavailable, match="torch sees no GPU"):
        nonfinite_gpu.run(Tally(), 1, 0, tmp_path)
