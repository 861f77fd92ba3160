"""A law does not list S_y for ever."""

import time

import pytest
import torch

import softground as sg
from softground.errors import NoLaw
from softground.inverses import solved
from softground.inverses.ladder import Budget
from softground.target import Target

z3 = pytest.importorskip("z3")


@pytest.mark.parametrize("settled", [True, False])
def test_a_law_that_no_budget_allows_is_refused(settled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solved, "LAW_SECONDS", 1.0)
    space = sg.Categorical([range(10)] * 9)
    rule = sg.SMT(lambda z, y: [z3.Sum(*z) == y, z3.Distinct(*z[:3])], space)
    task = sg.Task(space, rule, budget=Budget(seconds=1, cache=None))
    y = rule.encode([40, 41])
    if settled:
        task.settle(y)
    began = time.monotonic()
    with pytest.raises(NoLaw, match="budget" if settled else "Use a sampling kernel"):
        task.inverse.law(Target(space.belief(torch.zeros(2, 9, 10)), y, 1.0))
    assert time.monotonic() - began < 20
