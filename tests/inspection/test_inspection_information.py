"""How much an answer tells, and readings that explain nearly every answer."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import softground as sg
from softground.inspection import inspect

EVENODD = [(0, 6), (1, 5), (2, 8), (4, 6), (3, 7), (1, 9), (4, 8), (3, 9)]


def task(rule: Any, sites: int = 2, symbols: int = 10) -> sg.Task:
    space = sg.Categorical([range(symbols)] * sites)
    return sg.Task(space, sg.Program(rule, space))


def test_what_an_answer_tells_of_the_symbols() -> None:
    total = task(lambda a, b: a + b)
    found = inspect(total, [a + b for a, b in product(range(10), repeat=2)])
    assert found.told == pytest.approx(0.6067, abs=1e-4)  # 2.794 of 4.605 nats, counted by hand
    assert str(found).splitlines()[0].startswith("The answers identify all 10 symbols: train exactly")
    assert found.as_dict()["verdict"] == found.verdict
    assert "An answer tells 61% of what there is to know of the symbols, I(y; z)/H(z)." in str(found)
    occurs = [*EVENODD, *((b, a) for a, b in EVENODD)]
    some = inspect(total, [a + b for a, b in occurs], support=occurs)
    assert some.told == pytest.approx(0.375, abs=1e-6)  # H(1/4, 1/2, 1/4) is 1.5 of 4 bits
    assert some.verdict.endswith("apart: label one 0 and one 1.")
    assert some.as_dict()["told"] == pytest.approx(0.375)
    assert inspect(task(lambda a, b: True, symbols=3), [True]).told == 0.0


def test_readings_that_explain_nearly_every_answer_are_found() -> None:
    less = task(lambda a, b, c, d: 10 * a + b - 10 * c - d, 4)
    z = torch.randint(10, (400, 4), generator=torch.Generator().manual_seed(0))
    found = inspect(less, less.constraint.compute(z))
    assert any(one.map.startswith("every symbol read one too") and 0.5 < one.share < 0.9 for one in found.nearly)
    assert found.verdict == (
        "The answers identify all 10 symbols: train exactly, annealed as is the default (from a sample of 16 answers)."
    )
    share = {one.map: one.share for one in found.nearly}
    assert list(share.values()) == sorted(share.values(), reverse=True)
    assert inspect(task(lambda a, b: 10 * a + b), [10 * a + b for a, b in product(range(10), repeat=2)]).nearly == ()
