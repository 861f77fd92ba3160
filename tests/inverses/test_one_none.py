"""One answer that is no exact one leaves all others their fast way, in the same batch and beside it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from softground import Between, Categorical, Inverse, Not, OneOf, Program, Sampler, Scan, Target
from softground.constraints.scan.messages import OneByOne
from softground.constraints.scan.tree import Tree
from softground.inverses import Scanned, Table

SPACE = Categorical([range(4), range(3), range(5), range(2)])
STATES = SPACE.states(torch.arange(SPACE.size))
EXACT = [1, 0, 2, 1] * 4
OTHERS = [None, Not(2), OneOf(1, 2), Between(0, 1)]


def table() -> Table:
    return Table(Program(lambda *z: sum(z) % 3, SPACE, vectorised=True))


def scan() -> Scanned:  # which refuses a 4 after totals of 2, so that complements hold states that are not read on
    return Scanned(Scan(lambda s, d: None if s == 2 and d == 4 else (s + d) % 3, SPACE))


def weights(rows: int) -> Any:
    chance = torch.Generator().manual_seed(0)
    return SPACE.belief(torch.randn(rows, SPACE.sites, SPACE.outputs, generator=chance, dtype=torch.float64))


@pytest.mark.parametrize("make", [table, scan])
def test_laws_are_those_of_enumeration(make: Any) -> None:
    inverse: Inverse = make()
    y = inverse.constraint.encode([*EXACT, *OTHERS])[torch.randperm(len(EXACT) + len(OTHERS))]
    law = inverse.law(Target(belief := weights(len(y)), y, 1.0))
    every = belief.scores[:, torch.arange(SPACE.sites), STATES].sum(-1)
    inside = torch.stack([inverse.constraint.feasible(STATES, answer.expand(len(STATES))) for answer in y])
    every = every.masked_fill(~inside, -math.inf)
    hot = torch.nn.functional.one_hot(STATES, SPACE.width).double()
    assert torch.allclose(law.log_mass(), every.logsumexp(1), atol=1e-9, rtol=0)
    expected = torch.einsum("bz,zik->bik", every.softmax(1), hot)
    assert torch.allclose(law.marginals(), expected, atol=1e-9, rtol=0)
    drawn, marginals = law.draw_with_marginals(Sampler(0))
    assert torch.allclose(marginals, expected, atol=1e-9, rtol=0)
    assert bool(inverse.feasible(drawn, y).all())
    assert bool(inverse.feasible(law.mode(), y).all())


@pytest.mark.parametrize("beside", [True, False])
def test_a_table_looks_through_its_states_for_relations_alone(beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    inverse = table()
    y, looked = inverse.program.encode([*EXACT, *OTHERS]), []
    explained = Table._explained

    def counted(self: Table, answer: Tensor, y: Tensor) -> Tensor:
        looked.append(answer.shape)
        return explained(self, answer, y)

    monkeypatch.setattr(Table, "_explained", counted)
    asked = y[: len(EXACT)] if beside else y
    law = inverse.law(Target(weights(len(asked)), asked, 1.0))
    law.draw_with_marginals(Sampler(0))
    assert sum(rows for rows, states in looked if states == SPACE.size) == (0 if beside else 2)


@pytest.mark.parametrize("beside", [True, False])
def test_a_scan_goes_site_by_site_for_complements_alone(beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    inverse, rows = scan(), {Tree: 0, OneByOne: 0}
    y = inverse.constraint.encode([*EXACT, *OTHERS])
    law = inverse.law(Target(weights(len(y)), y, 1.0))
    for kind, name in ((Tree, "_climbed"), (OneByOne, "sample")):
        plain = getattr(kind, name)

        def counted(self: Any, *given: Any, plain: Any = plain, kind: Any = kind) -> Any:
            rows[kind] += len(given[2])
            return plain(self, *given)

        monkeypatch.setattr(kind, name, counted)
    asked = y[: len(EXACT)] if beside else y
    law = inverse.law(Target(weights(len(asked)), asked, 1.0))
    law.draw_with_marginals(Sampler(0))
    assert rows == {Tree: len(EXACT) + (0 if beside else 2), OneByOne: 0 if beside else 2}
