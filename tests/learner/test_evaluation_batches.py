"""Evaluation in batches is evaluation: no example lost, none counted twice, nothing changed by looking."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from learner_cases import addition, classifier, equal, examples, make_learner, weights
from softground import Examples
from softground.learner import evaluation
from softground.learner.datasets import Batches
from softground.metrics import calibration_error, collapse, macro_f1

CPU = torch.device("cpu")


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 512, 600])
def test_figures_do_not_depend_on_the_batches(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task, net = addition(), classifier().eval()
    data = examples(task, count, noise=0.8)
    assert data.symbols is not None
    learner = make_learner(task, None, net)
    belief = task.space.belief(net(data.x).detach())
    predicted, sure = belief.mode(), belief.marginals().max(-1).values
    every = task.space.states(torch.arange(task.space.size))
    fits = every.sum(1) == torch.tensor(data.y)[:, None]
    log_p = torch.stack([belief.log_prob(z.expand(count, -1)) for z in every], 1).masked_fill(~fits, -torch.inf)
    expected = {
        "answer_accuracy": (predicted.sum(1) == torch.tensor(data.y)).double().mean().item(),
        "symbol_accuracy": (predicted == data.symbols).double().mean().item(),
        "constrained_symbol_accuracy": (every[log_p.argmax(1)] == data.symbols).double().mean().item(),
        "symbol_f1": macro_f1(predicted, data.symbols),
        "symbol_f1_all": macro_f1(predicted, data.symbols, 4),
        "symbol_collapse": collapse(predicted, data.symbols),
        "symbol_collapse_all": collapse(predicted, data.symbols, 4),
        "symbol_ece": calibration_error(sure, predicted == data.symbols),
    }
    for size in (256, 7, 1000):
        monkeypatch.setattr(evaluation, "BATCH", size)
        assert learner.evaluate(data) == pytest.approx(expected, rel=1e-6)
        assert torch.equal(learner.predict_codes(data.x), predicted)


def test_batches_walk_through_every_position_in_order() -> None:
    for count in (1, 5, 6, 7):
        batches = Batches(examples(addition(), count), CPU)
        cuts = batches.in_order(3)
        assert torch.cat(cuts).tolist() == list(range(count))
        assert all(1 <= len(cut) <= 3 for cut in cuts)
        seen = [x for _, x in batches.walk(cuts)]
        assert torch.equal(torch.cat(seen), examples(addition(), count).x)


def test_figures_of_symbols_are_reported_only_where_symbols_are_known() -> None:
    task = addition()
    data = examples(task, 20)
    assert {"answer_accuracy", "symbol_accuracy", "symbol_f1"} <= set(make_learner(task).evaluate(data))
    assert set(make_learner(task).evaluate(Examples(data.x, data.y))) == {"answer_accuracy"}


def test_an_answer_never_seen_in_training_is_simply_wrong() -> None:
    task = addition()
    data = examples(task, 20)
    assert make_learner(task).evaluate(Examples(data.x, [1234] * 20)) == {"answer_accuracy": 0.0}


def test_looking_changes_nothing_of_the_training(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With and without a test set: the same network, dropout and batch statistics included."""
    task, results = addition(), []
    for test in (None, examples(task, 300, seed=1)):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 16), Sitewise(), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
        make_learner(task, None, net).fit(examples(task), test)
        results.append(weights(net))
    assert equal(*results)


class Sitewise(nn.Module):
    """Batch normalisation over examples and sites."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed: torch.Tensor = self.norm(x.flatten(0, 1))
        return normed.view_as(x)
