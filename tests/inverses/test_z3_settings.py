"""Every setting of the Z3 inverse: its least value, its name in a refusal, and where it ends up."""

from __future__ import annotations

import math
from typing import Any

import pytest

from softground.constraints import SMT
from softground.errors import InverseError
from softground.inverses import Z3
from softground.inverses.solved import MOST_WORKERS
from softground.solver.engine import Limits
from softground.spaces import Categorical

LEAST = {
    "cap": 1,
    "rlimit": 1,
    "workers": 1,
    "solutions_cap": 1,
    "chunk": 1,
    "memory": 1,
    "table": 0,
    "cache": 0,
    "tries": 0,
}


def rule() -> SMT:
    return SMT(lambda z, y: sum(z) == y, Categorical([range(3)] * 2))


@pytest.mark.parametrize("name", LEAST)
def test_a_number_has_its_least_value(name: str) -> None:
    least = LEAST[name]
    Z3(rule(), **{name: least})  # type: ignore[arg-type]
    with pytest.raises(InverseError, match=rf"^{name}={least - 1} was given .*; expected {least} or more"):
        Z3(rule(), **{name: least - 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["timeout", "limit"])
def test_seconds_are_positive_and_finite(name: str) -> None:
    settings: dict[str, Any] = {name: 1e-9}
    Z3(rule(), **settings)
    for seconds in (0.0, -1.0, math.inf, math.nan):
        settings = {name: seconds}
        with pytest.raises(InverseError, match=rf"^{name}={seconds} was given"):
            Z3(rule(), **settings)


def test_other_settings_that_cannot_work() -> None:
    Z3(rule(), workers=MOST_WORKERS)
    with pytest.raises(InverseError, match="at most 4,096"):
        Z3(rule(), workers=MOST_WORKERS + 1)


def test_settings_end_up_where_they_are_read() -> None:
    smt = rule()
    inverse = Z3(
        smt, cap=2, table=3, rlimit=4, timeout=5.0, limit=6.0, memory=7, workers=1, cache=9, tries=10, solutions_cap=11
    )
    assert (inverse.rule, inverse.space, inverse.constraint) == (smt, smt.space, smt)
    assert (inverse.cap, inverse.tries, inverse.solutions_cap, inverse._cache_size) == (2, 10, 11, 9)
    assert inverse.limits == Limits(3, 4, 5.0, 6.0, 7)
    assert (inverse.queries, inverse.hits, inverse.capped, inverse.solver_seconds) == (0, 0, 0, 0.0)
    assert repr(inverse) == f"Z3({smt.space!r})"
    assert set(inverse.faults.values()) == {0}


def test_the_defaults_that_the_documentation_names() -> None:
    inverse = Z3(rule())
    assert (inverse.cap, inverse.tries, inverse.solutions_cap, inverse._cache_size) == (64, 32, 100_000, 200_000)
    assert inverse.limits == Limits(4096, 20_000_000, 60.0, 300.0, None)
