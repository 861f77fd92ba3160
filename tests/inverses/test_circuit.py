"""Compiled formulas against brute force, their limits, and what is kept of them."""

from __future__ import annotations

import math
import random
import subprocess
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from softground import Categorical, Cnf, Task
from softground.dice import Sampler
from softground.errors import InfeasibleAnswer, InverseError, SoftgroundError
from softground.inverses import INVERSES, Circuit
from softground.inverses.circuit import inverse as compiling
from softground.inverses.circuit.inverse import Levels
from softground.inverses.records import RECORDED, record
from softground.spaces import CategoricalBelief
from softground.target import Target

pytest.importorskip("pysdd")
SPACE = Categorical([(False, True)] * 4 + [(True, False)] * 3)
ANSWERS = [True, False, None, True, False]


@cache
def circuit() -> Circuit:
    """Seven variables, the last of which no clause mentions."""
    rng = random.Random(2)
    picks = [rng.sample(range(1, 7), 3) for _ in range(9)]
    return Circuit(Cnf([[v if rng.random() < 0.5 else -v for v in pick] for pick in picks], SPACE))


def outputs(batch: int, scale: float = 2.0) -> Tensor:
    return scale * torch.randn(batch, 7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def weighted(weights: CategoricalBelief, row: int, answer: Any) -> tuple[Tensor, Tensor]:
    """The states of S_y, in order, and their log-weights."""
    rule = circuit().constraint
    states = SPACE.states(torch.arange(SPACE.size))
    states = states[rule.feasible(states, rule.encode([answer]).expand(len(states)))]
    return states, weights.rows(torch.full((len(states),), row)).log_prob(states)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_sites_and_hopeless_ones(dtype: torch.dtype) -> None:
    """Known symbols leave no NaN, and a mass far below the smallest number is still a logarithm."""
    rule = circuit().constraint
    y, known = rule.encode([True]), torch.full((1, 7), -1)
    states, log_weight = weighted(SPACE.belief(outputs(1)), 0, True)
    known[0, :3] = states[log_weight.argmax(), :3]
    weights = SPACE.belief(outputs(1).to(dtype)).given(known)
    law = circuit().law(Target(weights, y, 1.0))
    left = (states[:, :3] == known[0, :3]).all(1)
    expected = weights.rows(torch.zeros(int(left.sum()), dtype=torch.long)).log_prob(states[left]).logsumexp(0)
    assert torch.allclose(law.log_mass()[0], expected, atol=1e-5)
    assert torch.isfinite(law.marginals()).all()
    assert torch.equal(law.draw(Sampler(0))[0, :3], known[0, :3])
    steep = SPACE.belief(outputs(1, 800.0).to(dtype))
    states, log_weight = weighted(steep, 0, True)
    assert torch.allclose(circuit().law(Target(steep, y, 1.0)).log_mass()[0], log_weight.logsumexp(0))


@pytest.mark.parametrize("clauses", [[[1], [-1]], [[1], []], [[]]], ids=str)
def test_formulas_that_never_hold_have_nothing_to_draw(clauses: list[list[int]]) -> None:
    inverse = Circuit(Cnf(clauses, Categorical([range(2)] * 2)))
    y = inverse.constraint.encode([False, True])
    assert inverse.start(y, 0).found.tolist() == [True, False]
    law = inverse.law(Target(inverse.space.uniform(2, y.device), y, 1.0))
    assert law.log_mass().tolist() == [2 * math.log(2), -math.inf]
    for ask in (law.marginals, law.mode, lambda: law.draw(Sampler(0))):
        with pytest.raises(InfeasibleAnswer) as caught:
            ask()
        assert caught.value.examples == (1,)


def test_levels_hold_every_node_once() -> None:
    levels = circuit().levels[0]
    groups = levels.groups(torch.device("cpu"))
    assert [group.begin for group in groups] + [levels.size] == [levels.inputs] + [group.end for group in groups]
    assert all(int(torch.cat([g.primes, g.subs]).max()) < g.begin for g in groups)


def test_limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = circuit().constraint
    with pytest.raises(InverseError, match=r"more than 3 nodes\. Allow more nodes"):
        Circuit(rule, nodes=3)
    with pytest.raises(InverseError, match=r"not compiled within 0\.001 s"):
        Circuit(rule, seconds=0.001)
    broken = subprocess.CompletedProcess([], 1, "", "a reason")
    monkeypatch.setattr(compiling.subprocess, "run", lambda *given, **more: broken)
    with pytest.raises(InverseError, match=r"PySDD failed to compile .*status 1.*a reason"):
        Circuit(rule)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pysdd", None)
    with pytest.raises(SoftgroundError, match="pysdd, which is not installed: pip install pysdd"):
        Circuit(circuit().constraint)


def test_a_record_rebuilds_it_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, tensors = record(circuit())  # type: ignore[misc]
    monkeypatch.setattr(compiling, "compiled", None)
    rebuilt = RECORDED["circuit"](SPACE, facts, tensors)
    weights, y = SPACE.belief(outputs(5)), circuit().constraint.encode(ANSWERS)
    law, own = (inverse.law(Target(weights, y, 1.0)) for inverse in (rebuilt, circuit()))
    assert torch.equal(law.log_mass(), own.log_mass())
    assert torch.equal(law.draw(Sampler(0)), own.draw(Sampler(0)))
    wrong = [("elements", tensors["holds/elements"][1:]), ("place", tensors["holds/place"][1:])]
    wrong += [("elements", tensors["holds/elements"] + 99), ("elements", tensors["holds/elements"] - 99)]
    for part, other in wrong:
        with pytest.raises(ValueError, match="does not fit together"):
            RECORDED["circuit"](SPACE, facts, tensors | {f"holds/{part}": other})
    with pytest.raises(ValueError, match="does not fit together"):
        RECORDED["circuit"](SPACE, facts | {"fails": 10**6}, tensors)


def test_by_name() -> None:
    assert isinstance(INVERSES["circuit"](circuit().constraint), Circuit)
    assert Task(SPACE, circuit().constraint, circuit()).inverse.exact


def test_groups_are_not_padded_much() -> None:
    levels = Levels(circuit().levels[~0].nodes)
    padded = sum(len(group.primes) for group in levels.groups(torch.device("cpu")))
    assert len(levels.nodes.elements) <= padded <= 1.5 * len(levels.nodes.elements)
