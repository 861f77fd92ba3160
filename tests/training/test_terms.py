"""What a stage adds to its teacher's loss: the usage prior."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

import softground as sg
from learner_cases import adam, addition, examples
from lessons import Lesson
from softground.errors import LearnerError
from softground.spaces import Categorical
from softground.training import Moment, SemanticLoss, Teacher, TrainingSet, Usage

MIXED = Categorical([(1, 2, 3), "+-", (2, 3)])
HALF = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]


class Nothing(Teacher):
    """Teaches nothing, so that the loss is the terms'."""

    def teach(self, batch: sg.training.Batch) -> None:
        return None


def mixed_task(**given: Any) -> sg.Task:
    space = Categorical([(1, 2, 3), "+-", (2, 3)], **given)
    return sg.Task(space, sg.Program(lambda a, op, b: a + b if op == "+" else a - b, space))


@pytest.mark.parametrize("given", [{}, {"readings": "all"}, {"head": "site"}])
@pytest.mark.parametrize("prior", ["uniform", {1: 0.1, 2: 0.2, 3: 0.3, "+": 0.1, "-": 0.3}, [0.1, 0.2, 0.3, 0.1, 0.3]])
def test_the_usage_prior_is_a_divergence_of_mean_readings(prior: Any, given: dict[str, Any]) -> None:
    task = mixed_task(**given)
    space, symbols = task.space, [1, 2, 3, "+", "-"]
    output = torch.randn(4, 3, space.outputs, dtype=torch.float64).requires_grad_()
    term, belief = Usage(prior, weight=2.0), space.belief(output)
    lesson = Lesson(Nothing(), task, task.constraint.encode([3] * 4), terms=[term])
    found = lesson.loss(belief, moment=Moment(share=0.1))
    named, p = space.named, belief.marginals()
    used = {
        s: sum(p[b, i, c] for b in range(4) for i in range(3) for c in range(p.shape[2]) if named[i][c : c + 1] == (s,))
        / 12
        for s in symbols
    }
    pi = (
        dict.fromkeys(symbols, 0.2)
        if prior == "uniform"
        else dict(zip(symbols, [0.1, 0.2, 0.3, 0.1, 0.3], strict=True))
    )
    expected: Any = sum(used[s] * (used[s] / pi[s]).log() for s in symbols)
    assert torch.allclose(found.loss, 2 * expected, atol=1e-9)
    assert found.figures["usage_kl"].tolist() == pytest.approx([float(expected.detach())] * 4, abs=1e-9)
    one, two = (torch.autograd.grad(loss, output, retain_graph=True)[0] for loss in (found.loss, 2 * expected))
    assert torch.allclose(one, two, atol=1e-9)


def test_the_prior_falls_away() -> None:
    term = Usage(weight=2.0)
    assert [term.at(share) for share in (0.0, 0.5, 0.625, 0.75, 1.0)] == [2.0, 2.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("prior", "weight", "said"),
    [
        ("estimated", 1.0, "which is gone. Give the shares"),
        ("even", 1.0, "expected 'uniform'"),
        ([0.5, 0.6], 1.0, r"adds up to 1\.1"),
        ({1: 1.5, 2: -0.5}, 1.0, "at least 0"),
        ([], 1.0, "adds up to 0"),
        ("uniform", -1.0, "usage_weight=-1.0 was given"),
        ("uniform", math.nan, "usage_weight=nan was given"),
    ],
)
def test_priors_that_are_none_are_refused(prior: Any, weight: float, said: str) -> None:
    with pytest.raises(LearnerError, match=said):
        Usage(prior, weight)


def test_priors_for_other_symbols_are_refused() -> None:
    priors: list[Any] = [[0.5, 0.5], {1: 0.5, "×": 0.5}]
    for prior in priors:
        with pytest.raises(LearnerError, match=r"the symbols are \[1, 2, 3, '\+', '-'\]"):
            Usage(prior).begin(TrainingSet(mixed_task(), torch.zeros(1)))
    assert Usage({1: 1.0})._shares(MIXED).tolist() == [1, 0, 0, 0, 0]
    with pytest.raises(LearnerError, match=r"usage='often' was given; expected none, uniform"):
        Usage.named("often", 1.0)
    assert Usage.named("0.25,0.75", 1.0).prior == [0.25, 0.75]
    assert Usage([0.3333334] * 3).weight == 3.0  # they add up to 1 as nearly as people write it


def half(count: int, seed: int) -> tuple[sg.Task, sg.Examples]:
    """MNIST-Half with noisy one-hot vectors for images: three maps of the digits explain all that occurs."""
    space = Categorical([range(5)] * 2)
    chance = torch.Generator().manual_seed(seed)
    digits = torch.tensor(HALF)[torch.randint(len(HALF), (count,), generator=chance)]
    x = torch.eye(5)[digits] + 0.1 * torch.randn(count, 2, 5, generator=chance)
    return sg.Task(space, sg.Program(lambda a, b: a + b, space)), sg.Examples(x, digits.sum(1).tolist(), digits)


def trained(*terms: sg.training.Term) -> float:
    task, data = half(700, 0)
    with sg.seeded(0):
        net = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 5))
    stage = sg.Stage("I", SemanticLoss(), 10, adam, terms=terms)
    learner = sg.Learner(task, net, [stage], device="cpu").fit(data, quiet=True)
    return float((learner.predict_codes(data.x) == data.symbols).double().mean())


def test_the_usage_prior_tells_shortcuts_from_readings() -> None:
    frequencies = [sum(pair.count(digit) for pair in HALF) / 14 for digit in range(5)]
    assert trained() < 0.5  # a shortcut, which explains every answer
    assert trained(Usage(frequencies)) > 0.99


def test_terms_are_added_and_recorded() -> None:
    task = addition()
    data = examples(task, 64)

    def run(*terms: sg.training.Term) -> sg.Learner:
        torch.manual_seed(0)
        net = nn.Linear(4, 4)
        stages = sg.grounding_stages(task, epochs=1, optimizer=lambda p: torch.optim.SGD(p, lr=0.0), terms=terms)
        return sg.Learner(task, net, stages, batch_size=64, device="cpu").fit(data, quiet=True)

    plain, both = run(), run(Usage(weight=3.0))
    one, two = plain.history_[0], both.history_[0]
    assert two["loss"] == pytest.approx(one["loss"] + 3.0 * two["usage_kl"], abs=1e-6)
    assert two["usage_kl"] > 0
    assert "usage_kl" not in one


def test_the_estimator_adds_terms_to_its_first_stage() -> None:
    task, data = half(280, 0)
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
    model = sg.SoftGrounder(task, network=net, epochs=1, terms=[Usage()])
    assert "usage_kl" in model.fit(data.x, data.y).learner_.history_[0]
    stages = model.set_params(stages=lambda task: sg.grounding_stages(task, epochs=1, zero_epochs=1))._stages(task)
    assert [len(stage.terms) for stage in stages] == [1, 0]
