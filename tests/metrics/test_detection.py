"""How well an answer's probability tells the examples that have it."""

from __future__ import annotations

import math

import torch

from softground import Examples, Learner, Not
from softground.metrics import auroc
from softground.tasks.validity import Validity


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randint(5, (60,), generator=generator).double()  # with ties
    kind = torch.rand(60, generator=generator) < 0.4
    ones, others = scores[kind], scores[~kind]
    above = (ones[:, None] > others).double() + 0.5 * (ones[:, None] == others)
    assert math.isclose(auroc(scores, kind), float(above.mean()), abs_tol=1e-12)
    assert auroc(torch.tensor([1.0, 2.0]), torch.tensor([False, True])) == 1.0
    assert math.isnan(auroc(scores, torch.ones(60, dtype=torch.bool)))


def test_a_task_that_detects_an_answer_reports_the_area() -> None:
    """A network certain of what is shown, which here is the digit itself, tells every board."""
    task = Validity().task()

    class Certain(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 20 * torch.nn.functional.one_hot(x.long(), 4).float()

    codes = Validity(test_size=20).load(0).test
    data = Examples(codes.symbols, codes.y, codes.symbols)
    assert Learner(task, Certain()).evaluate(data)["answer_auroc"] == 1.0
    wrong = Examples(codes.symbols, [Not(True) if y is True else True for y in codes.y], codes.symbols)
    assert Learner(task, Certain()).evaluate(wrong)["answer_auroc"] == 0.0
