"""The prototype head: distances to embedded anchors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import softground as sg
from learner_cases import Stop, adam, addition, assert_same_run, examples, stop_at
from softground.errors import LearnerError
from softground.networks.prototype import MOMENTUM, Prototypes, heads, prototype


def network(outputs: int = 4) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(0, 1), Prototypes(nn.Linear(4, 8), outputs, 8), nn.Unflatten(0, (-1, 3)))


def fit(net: nn.Module, symbols: list[int], out: Path | None = None, stop: int = 0, resume: bool = False) -> sg.Learner:
    task = addition()
    data = examples(task, 96)
    anchors = sg.Anchors(torch.eye(4)[symbols], symbols)
    stages = sg.grounding_stages(task, epochs=6, optimizer=adam)
    learner = sg.Learner(task, net, stages, batch_size=32, device="cpu")
    return learner.fit(
        data, examples(task, 32, seed=1), anchors=anchors, out=out, resume=resume, observer=stop_at(stop)
    )


def test_scores_are_squared_distances_to_the_means_of_anchors() -> None:
    head = Prototypes(nn.Identity(), 3, 2).train()
    head.anchored.copy_(torch.tensor([True, True, False]))
    x = torch.tensor([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [5.0, 5.0]], requires_grad=True)
    head.support = torch.tensor([0, 0, -1])
    scores = head(x)
    centres = torch.stack([torch.tensor([1.0, 0.0]), torch.zeros(2), head.free[2]])
    expected = -(x[:, None] - centres).square().sum(-1)
    assert torch.allclose(scores, expected, atol=1e-5)
    scores[0, 0].backward()  # (1 − mean of 0 and 2)², so that anchors have a gradient
    assert x.grad is not None
    assert torch.allclose(head.prototypes, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    assert head.seen.tolist() == [True, False, False]
    head(x + 1)
    assert torch.allclose(head.prototypes[0], torch.tensor([1.0 + MOMENTUM, MOMENTUM]))
    read = head.eval()(x)
    assert torch.allclose(read[:, 0], -(x - head.prototypes[0]).square().sum(-1), atol=1e-5)
    assert torch.allclose(head.prototypes[0], torch.tensor([1.0 + MOMENTUM, MOMENTUM]))  # reading changes nothing


def test_gradients_pass_through_the_anchors() -> None:
    head = Prototypes(nn.Identity(), 2, 2).train()
    head.anchored.fill_(True)
    x = torch.tensor([[1.0, 0.0], [0.0, 0.0], [3.0, 0.0]], requires_grad=True)
    head.support = torch.tensor([0, 1])
    head(x)[0, 1].backward()  # −(1 − 3)²
    assert x.grad is not None
    assert x.grad.tolist() == [[4.0, 0.0], [0.0, 0.0], [-4.0, 0.0]]


def test_it_learns_saves_and_resumes(tmp_path: Path) -> None:
    whole = fit(network(), [0, 1, 2], tmp_path / "whole")  # 3 has no anchor
    assert whole.results_["I"]["symbol_accuracy"] > 0.95
    (head,) = heads(whole.network)
    assert head.anchored.tolist() == [True, True, True, False]
    assert bool(head.seen[:3].all())
    with pytest.raises(Stop):
        fit(network(), [0, 1, 2], tmp_path / "run", stop=8)
    fit(network(), [0, 1, 2], tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "run")
    test = examples(addition(), 32, seed=1)
    assert sg.load(tmp_path / "run" / "model").predict(test.x) == whole.predict(test.x)


def test_it_needs_anchors_and_one_output_for_each_symbol() -> None:
    task = addition()
    with pytest.raises(LearnerError, match="without anchors"):
        sg.Learner(task, network(), device="cpu").fit(examples(task, 32), quiet=True)
    with pytest.raises(LearnerError, match="5 outputs was given for 4 symbols"):
        fit(network(5), [0, 1])


@pytest.mark.parametrize("side", [8, 28, 45])
def test_the_encoder_takes_images_of_any_size(side: int) -> None:
    head = prototype((1, side, side), 10)
    assert head.eval()(torch.rand(2, 1, side, side)).shape == (2, 10)
