"""Mixing: figures that tell a sampler from a frozen chain, and a clear word where arviz-stats is missing."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from softground import ChangeOne, Collapsed, Drop, Exact, SoftgroundError
from softground.inspection import inspect
from softground.inspection import mixing as chains
from softground.inspection.solutions import take
from softground.inspection.time_limit import TimeLimit
from softground.tasks.formulas import formula_task


def figures(kernel: Any, gamma: float = 1.0) -> chains.Mixing:
    task = formula_task(5)
    sample = take(task, [7, 12, 3, 20], 4, 0, TimeLimit())
    found = chains.mix(task, "kernel", kernel(task), gamma, sample, TimeLimit(), 0)
    assert found is not None
    return found


def test_independent_draws_are_worth_themselves() -> None:
    found = figures(lambda task: Exact(task.inverse))
    assert found.draws == 400
    assert found.ess == pytest.approx(found.draws, rel=0.2)
    assert found.rhat < 1.01
    assert found.whole


def test_chains_that_stand_still_are_seen() -> None:
    """Dropping one operator leaves most chains where they began."""
    found = figures(lambda task: Collapsed(task.inverse, Drop(task.space, [1]), ChangeOne(task.space)), 0.1)
    assert found.moved < 0.1
    assert found.ess < found.draws / 20
    assert found.rhat_worst > 2


def test_a_quantity_that_never_varies_tells_nothing() -> None:
    series = np.zeros((3, 4, 50))
    series[1] = np.random.default_rng(0).normal(size=(4, 50))
    series[2] = np.arange(4)[:, None]
    ess, rhat = chains._figures(series)
    assert len(ess) == len(rhat) == 2
    assert rhat[0] < 1.1
    assert rhat[1] > 10
    ess, rhat = chains._figures(series[:1])
    assert (ess.tolist(), rhat.tolist()) == ([200.0], [1.0])


def test_without_time_there_are_no_figures() -> None:
    task = formula_task(5)
    sample = take(task, [7], 1, 0, TimeLimit())
    ticks = iter(range(10_000))
    few = TimeLimit(chains.WARM + chains.LEAST - 2, clock=lambda: next(ticks))
    assert chains.mix(task, "kernel", Exact(task.inverse), 1.0, sample, few, 0) is None
    some = TimeLimit(chains.WARM + chains.LEAST + 5, clock=lambda: next(ticks))
    found = chains.mix(task, "kernel", Exact(task.inverse), 1.0, sample, some, 0)
    assert found is not None
    assert not found.whole
    assert chains.LEAST * chains.CHAINS <= found.draws < chains.STEPS * chains.CHAINS


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    task = formula_task(3)
    with pytest.raises(SoftgroundError, match="pip install arviz-stats"):
        inspect(task, [5])
    assert inspect(task, [5], mixing=False).mixing == ()
