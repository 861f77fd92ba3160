"""Rules with real numbers in run folders and inspections, as rules of symbols are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import softground as sg
from softground.errors import ConstraintError

DIALS = sg.reals.Gaussian(2, sigma=0.1)


def total() -> sg.reals.Equations:
    return sg.reals.Equations([[1, 1]], DIALS)


def test_a_run_is_kept_and_resumed(tmp_path: Path) -> None:
    rule = total()
    task, chance = sg.Task(rule.space, rule), torch.Generator().manual_seed(0)
    data = sg.Examples(torch.rand(12, 5, generator=chance), torch.rand(12, generator=chance) + 1)

    def learner() -> sg.Learner:
        with sg.seeded(0):
            network = nn.Linear(5, rule.space.sites)
        return sg.Learner(task, network, sg.grounding_stages(task, epochs=2), device="cpu")

    learner().fit(data, out=tmp_path / "run", observer=lambda event, facts: event == "epoch")
    assert learner().fit(data, out=tmp_path / "run", resume=True).history_
    assert (tmp_path / "run" / "report.html").is_file()


def test_an_inspection_finds_a_kernel() -> None:
    rule = total()
    found = sg.inspect(sg.Task(rule.space, rule), [1.0, 2.0])
    assert isinstance(sg.walks.recommend(sg.Task(rule.space, rule), [1.0]).kernel, sg.kernels.Exact)
    assert found.answers == 2
    assert "some symbols are real numbers" in str(found)


def test_an_inspection_makes_answers_of_its_own() -> None:
    rule = total()
    assert sg.inspect(sg.Task(rule.space, rule)).answers > 1


@pytest.mark.parametrize("answer", [None, "nine", float("nan")])
def test_an_answer_that_is_no_number_names_the_example(answer: Any) -> None:
    with pytest.raises(ConstraintError, match=r"Example 1: the answer .* expected 1 finite number"):
        total().encode([9.0, answer])


def test_equations_need_reals() -> None:
    with pytest.raises(ConstraintError, match="expected a Gaussian space"):
        sg.reals.Equations([[1, 1]], sg.Categorical([range(3)] * 2))  # type: ignore[arg-type]
