"""One answer that is no exact one leaves all others their fast way, in the same batch and beside it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from softground import Between, Categorical, Not, OneOf, Program, Scan
from softground.constraints.scan.messages import OneByOne
from softground.constraints.scan.tree import Tree
from softground.dice import Sampler
from softground.inverses import Scanned, Table
from softground.inverses.sets import Listed
from softground.target import Target

SPACE = Categorical([range(4), range(3), range(5), range(2)])
EXACT = [1, 0, 2, 1] * 4
OTHERS = [None, Not(2), OneOf(1, 2), Between(0, 1)]


def table() -> Table:
    return Table(Program(lambda *z: sum(z) % 3, SPACE, vectorised=True))


def scan() -> Scanned:  # which refuses a 4 after totals of 2, so that complements hold states that are not read on
    return Scanned(Scan(lambda s, d: None if s == 2 and d == 4 else (s + d) % 3, SPACE))


def weights(rows: int) -> Any:
    chance = torch.Generator().manual_seed(0)
    return SPACE.belief(torch.randn(rows, SPACE.sites, SPACE.outputs, generator=chance, dtype=torch.float64))


@pytest.mark.parametrize("beside", [True, False])
def test_a_table_lists_exact_answers_as_ever(beside: bool) -> None:
    inverse = table()
    y = inverse.program.encode([*EXACT, *OTHERS])
    asked = y[: len(EXACT)] if beside else y
    law = inverse.law(Target(weights(len(asked)), asked, 1.0))
    listed = [len(of.which) for _, of in law.of if isinstance(of, Listed) and not of.cubes]
    assert (listed, len(law.of)) == ([len(EXACT)], 1 if beside else 2)


@pytest.mark.parametrize("beside", [True, False])
def test_a_scan_goes_site_by_site_for_complements_alone(beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    inverse, rows = scan(), {Tree: 0, OneByOne: 0}
    y = inverse.constraint.encode([*EXACT, *OTHERS])
    for kind, name in ((Tree, "_climbed"), (OneByOne, "sample")):
        plain = getattr(kind, name)

        def counted(self: Any, *given: Any, plain: Any = plain, kind: Any = kind) -> Any:
            rows[kind] += len(given[2])
            return plain(self, *given)

        monkeypatch.setattr(kind, name, counted)
    asked = y[: len(EXACT)] if beside else y
    law = inverse.law(Target(weights(len(asked)), asked, 1.0))
    law.draw(Sampler(0)), law.marginals()
    assert rows == {Tree: 2 * (len(EXACT) + (0 if beside else 2)), OneByOne: 0 if beside else 1}
