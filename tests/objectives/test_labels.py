"""Learning from labels, number by number; and the names under which every objective reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from baseline_cases import batch_of
from papers.li2023.baselines import MAPO, BackSearch, BestMapping, FeasibleMapping, Reinforce
from proofs import SPACE, STATES, TABLES, TASK
from softground.dice import Sampler
from softground.errors import LearnerError
from softground.objectives import (
    CompositeLikelihood,
    Objective,
    SemanticLoss,
    SoftenedGrounding,
    Supervised,
    ZeroDegree,
)
from softground.objectives.labels import label_loss

Y = TASK.constraint.encode([5] * 3)
OUTPUT = torch.randn(3, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def begun(objective: Objective) -> Objective:
    objective.begin(TASK, Y, seed=0)
    return objective


def test_supervision_is_the_mean_cross_entropy_of_a_site() -> None:
    belief = SPACE.belief(OUTPUT)
    batch = replace(batch_of(belief, Y), symbols=STATES[:3])
    expected = -OUTPUT.log_softmax(-1).gather(2, STATES[:3, :, None]).mean()
    assert torch.allclose(begun(Supervised()).loss(batch).loss, expected)
    with pytest.raises(LearnerError, match="needs true symbols"):
        begun(Supervised()).loss(batch_of(belief, Y))


def test_labels_that_are_not_used_count_for_nothing() -> None:
    belief, used = SPACE.belief(OUTPUT), torch.tensor([True, False, True])
    log_p = belief.log_prob(STATES[:3])
    loss = label_loss(belief, STATES[:3], used, SPACE.sites)
    assert torch.allclose(loss, -(log_p[0] + log_p[2]) / 2 / SPACE.sites)
    assert loss.dtype == torch.float64
    assert label_loss(SPACE.belief(OUTPUT.half().float()), STATES[:3], used, SPACE.sites).dtype == torch.float32
    assert float(label_loss(belief, STATES[:3], used & False, SPACE.sites)) == 0.0
    assert torch.allclose(label_loss(belief, STATES[:3], torch.tensor([True, False, False]), 1), -log_p[0])


def test_the_zero_degree_stage_learns_from_feasible_predictions() -> None:
    hot = 9.0 * torch.nn.functional.one_hot(
        torch.stack([STATES[0], torch.zeros_like(STATES[0]), STATES[2]]), SPACE.outputs
    )
    objective, belief = begun(ZeroDegree()), SPACE.belief(hot.double())
    outcome = objective.loss(batch_of(belief, Y))
    assert outcome.diagnostics["used"].tolist() == [True, False, True]
    assert torch.allclose(outcome.loss, -belief.log_prob(STATES[[0, 0, 2]])[[0, 2]].mean() / SPACE.sites)
    assert objective.settings(3) == {"gamma": 0.0}


WALKED = {"acceptance", "moved", "unknown"}
REPORTS: dict[type, tuple[set[str], set[str]]] = {  # diagnostics, and memory
    SoftenedGrounding: (WALKED, {"chains"}),
    CompositeLikelihood: (set(), set()),
    SemanticLoss: (WALKED, {"chains"}),
    Reinforce: ({"reward"}, {"baseline"}),
    MAPO: ({"reward", "remembered", "memory_weight"}, {"memory", "rewards", "drawn", "held", "baseline"}),
    BackSearch: ({"used", "unknown"}, set()),
    ZeroDegree: ({"used"}, set()),
    Supervised: (set(), set()),
    FeasibleMapping: (set(), {"chains"}),
    BestMapping: (set(), set()),
}


@pytest.mark.parametrize("kind", TABLES[Objective], ids=lambda kind: kind.__name__)
def test_what_is_timed_reported_and_remembered_has_its_name(kind: type) -> None:
    parts: list[str] = []

    @contextmanager
    def stopwatch(part: str) -> Iterator[None]:
        parts.append(part)
        yield

    objective: Any = begun(TABLES[Objective][kind][0]())
    batch = replace(batch_of(SPACE.belief(OUTPUT), Y, dice=Sampler(0)), symbols=STATES[:3], stopwatch=stopwatch)
    diagnostics, memory = REPORTS[kind]
    assert set(objective.loss(batch).diagnostics) == diagnostics
    assert set(objective.state()) == memory
    assert parts == ([] if kind in (Supervised, FeasibleMapping) else ["sampling"])
    cold = kind in (ZeroDegree, BestMapping)
    tempered = kind in (SoftenedGrounding, SemanticLoss, CompositeLikelihood)
    assert objective.settings(0) == ({"gamma": 0.0} if cold else {"gamma": 1.0} if tempered else {})
    assert objective.task is TASK


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", TABLES[Objective], ids=lambda kind: kind.__name__)
def test_a_loss_has_the_networks_precision(kind: type, dtype: torch.dtype) -> None:
    objective: Any = begun(TABLES[Objective][kind][0]())
    batch = batch_of(SPACE.belief(OUTPUT.to(dtype)), Y, dice=Sampler(0))
    assert objective.loss(replace(batch, symbols=STATES[:3])).loss.dtype == dtype


def test_the_faults_of_a_solver_are_reported_beside_the_temperature() -> None:
    objective: Any = begun(TABLES[Objective][SoftenedGrounding][0]())
    objective.task = replace(TASK, inverse=SimpleNamespace(faults={"unknowns": 2, "deaths": 0}))
    assert objective.settings(0) == {"gamma": 1.0, "solver_unknowns": 2}
    assert math.isclose(objective.settings(40)["gamma"], 0.6)  # linear, 0.01 a pass


def test_the_semantic_loss_asks_for_the_law_at_gamma_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, inner = [], type(TASK.inverse).law
    monkeypatch.setattr(type(TASK.inverse), "law", lambda self, target: asked.append(target) or inner(self, target))
    belief = SPACE.belief(OUTPUT)
    begun(SemanticLoss()).loss(batch_of(belief, Y))
    assert [target.gamma for target in asked] == [1.0, 1.0]  # whether there is a law, and the law
    assert [len(target) for target in asked] == [1, 3]
    assert torch.equal(asked[1].weights.scores, belief.scores)
