"""Learning from labels, number by number; and the names under which every teacher reports."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from lessons import Lesson
from papers.li2023.baselines import MAPO, BackSearch, BestMapping, FeasibleMapping, Reinforce
from proofs import SPACE, STATES, TABLES, TASK
from softground.errors import LearnerError
from softground.training import (
    Batch,
    CompositeLikelihood,
    Moment,
    SemanticLoss,
    SoftenedGrounding,
    Supervised,
    Teacher,
    Term,
    ZeroDegree,
)

Y = TASK.constraint.encode([5] * 3)
OUTPUT = torch.randn(3, SPACE.sites, SPACE.outputs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def begun(teacher: Teacher, *terms: Term) -> Lesson:
    return Lesson(teacher, TASK, Y, terms=terms)


def test_supervision_is_the_mean_cross_entropy_of_a_site() -> None:
    belief = SPACE.belief(OUTPUT)
    expected = -OUTPUT.log_softmax(-1).gather(2, STATES[:3, :, None]).mean()
    assert torch.allclose(begun(Supervised()).loss(belief, symbols=STATES[:3]).loss, expected)
    with pytest.raises(LearnerError, match="needs true symbols"):
        begun(Supervised()).loss(belief)


class Used(Term):
    """Some examples count, the others do not."""

    def __init__(self, *used: bool) -> None:
        self.used = torch.tensor(used)

    def weigh(self, batch: Batch) -> None:
        batch.scale(self.used)


def test_labels_that_are_not_used_count_for_nothing() -> None:
    belief = SPACE.belief(OUTPUT)
    log_p = belief.log_prob(STATES[:3])

    def label_loss(belief: Any, *used: bool) -> torch.Tensor:
        return begun(Supervised(), Used(*used)).loss(belief, symbols=STATES[:3]).loss

    loss = label_loss(belief, True, False, True)
    assert torch.allclose(loss, -(log_p[0] + log_p[2]) / 2 / SPACE.sites)
    assert loss.dtype == torch.float64
    assert label_loss(SPACE.belief(OUTPUT.half().float()), True, False, True).dtype == torch.float32
    assert float(label_loss(belief, False, False, False)) == 0.0
    assert torch.allclose(SPACE.sites * label_loss(belief, True, False, False), -log_p[0])


def test_the_zero_degree_stage_learns_from_feasible_predictions() -> None:
    hot = 9.0 * torch.nn.functional.one_hot(
        torch.stack([STATES[0], torch.zeros_like(STATES[0]), STATES[2]]), SPACE.outputs
    )
    lesson, belief = begun(ZeroDegree()), SPACE.belief(hot.double())
    outcome = lesson.loss(belief)
    assert outcome.figures["used"].tolist() == [True, False, True]
    assert torch.allclose(outcome.loss, -belief.log_prob(STATES[[0, 0, 2]])[[0, 2]].mean() / SPACE.sites)
    assert lesson.teacher.numbers(Moment(epoch=3)) == {"gamma": 0.0}


WALKED, GROUNDED = {"acceptance", "moved", "unknown"}, {"grounded_symbols"}
REPORTS: dict[type, tuple[set[str], set[str]]] = {  # figures beside the loss, and memory
    SoftenedGrounding: (WALKED | GROUNDED, {"chains"}),
    CompositeLikelihood: (set(), set()),
    SemanticLoss: (GROUNDED, set()),
    Reinforce: ({"reward"}, {"baseline"}),
    MAPO: ({"reward", "remembered", "memory_weight"}, {"memory", "rewards", "drawn", "held", "baseline"}),
    BackSearch: ({"used", "unknown"}, set()),
    ZeroDegree: ({"used"}, set()),
    Supervised: (set(), set()),
    FeasibleMapping: (set(), {"chains"}),
    BestMapping: (set(), set()),
}


@pytest.mark.parametrize("kind", TABLES[Teacher], ids=lambda kind: kind.__name__)
def test_what_is_reported_and_remembered_has_its_name(kind: type) -> None:
    lesson = begun(TABLES[Teacher][kind][0]())
    figures, memory = REPORTS[kind]
    assert set(lesson.loss(SPACE.belief(OUTPUT), symbols=STATES[:3]).figures) == figures | {"loss"}
    assert set(lesson.memory) == memory
    cold = kind in (ZeroDegree, BestMapping)
    tempered = kind in (SoftenedGrounding, SemanticLoss, CompositeLikelihood)
    said = lesson.teacher.numbers(Moment())
    assert said == ({"gamma": 0.0} if cold else {"gamma": 1.0} if tempered else {})
    later = lesson.teacher.numbers(Moment(epoch=40))
    assert kind is not SoftenedGrounding or math.isclose(later["gamma"], 0.6)  # linear, 0.01 a pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", TABLES[Teacher], ids=lambda kind: kind.__name__)
def test_a_loss_has_the_networks_precision(kind: type, dtype: torch.dtype) -> None:
    lesson = begun(TABLES[Teacher][kind][0]())
    assert lesson.loss(SPACE.belief(OUTPUT.to(dtype)), symbols=STATES[:3]).loss.dtype == dtype


def test_the_semantic_loss_asks_for_the_law_at_gamma_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, inner = [], type(TASK.inverse).law
    monkeypatch.setattr(type(TASK.inverse), "law", lambda self, target: asked.append(target) or inner(self, target))
    belief = SPACE.belief(OUTPUT)
    begun(SemanticLoss()).loss(belief)
    assert [target.gamma for target in asked] == [1.0]
    assert torch.equal(asked[0].weights.scores, belief.scores)
