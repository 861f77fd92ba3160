"""Kernels and teachers by name."""

from __future__ import annotations

import pytest

from problems import PROBLEMS
from softground.errors import SoftgroundError
from softground.kernels import KERNELS, Exact
from softground.projections import ChangeOne, Drop, RandomDrop, Walk
from softground.registry import Registry
from softground.training import OBJECTIVES, SoftenedGrounding

PROBLEM = PROBLEMS[0]
WALK = Walk(
    PROBLEM.table,
    PROBLEM.space,
    Drop(PROBLEM.space, PROBLEM.drops[0]),
    RandomDrop(PROBLEM.space, PROBLEM.drops),
    ChangeOne(PROBLEM.space),
)


def test_kernels_are_made_by_name() -> None:
    made = {name: make(WALK, True) for name, make in KERNELS.items()}
    assert type(made.pop("auto")) is Exact  # the inverse is a table
    assert {name: type(kernel).__name__.lower() for name, kernel in made.items()} == {name: name for name in made}
    assert {"metropolis", "uniform", "collapsed", "guided", "exact"} <= set(made)
    assert made["metropolis"].projection is WALK.drop  # type: ignore[attr-defined]
    assert made["guided"].projection is WALK.family  # type: ignore[attr-defined]
    assert made["guided"].marginals  # type: ignore[attr-defined]
    assert not KERNELS["guided"](WALK, False).marginals  # type: ignore[attr-defined]


def test_objectives_are_made_by_name() -> None:
    assert set(OBJECTIVES) >= {"sup", "parts", "semantic", "zero", "grounding"}
    for make in set(OBJECTIVES.values()) - {SoftenedGrounding}:
        make()


def test_a_name_that_is_not_known_or_not_free_is_refused() -> None:
    with pytest.raises(SoftgroundError, match=r"no kernel 'exakt'; there is .*'exact'"):
        KERNELS["exakt"]
    names: Registry[int] = Registry("number")
    names.register("one")(1)
    with pytest.raises(SoftgroundError, match="'one' already"):
        names.register("one")(2)
