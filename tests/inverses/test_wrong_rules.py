"""What is no rule of the kind asked for is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

import softground as sg
from softground.errors import ConstraintError, InverseError, LearnerError
from softground.training import CompositeLikelihood

SPACE = sg.Categorical([range(3)] * 2)


@pytest.mark.parametrize(("given", "name"), [((3,), "rule"), ((lambda a, b: a, 4), "relation")])
def test_a_program_is_a_function(given: tuple[Any, ...], name: str) -> None:
    with pytest.raises(ConstraintError, match=f"{given[-1]} was given as a program's {name}; expected a function"):
        sg.Program(given[0], SPACE, relation=given[1] if len(given) > 1 else None)


def test_a_table_is_of_a_program() -> None:
    with pytest.raises(InverseError, match=r"was given to Table; expected a Program.*leave out the inverse"):
        sg.inverses.Table(sg.SMT(lambda a, b, y: a + b == y, SPACE))  # type: ignore[arg-type]


def test_reals_have_no_laws_of_parts() -> None:
    space = sg.reals.Gaussian(2, sigma=1.0)
    rule = sg.reals.Equations([[1, 1]], space)
    with pytest.raises(LearnerError, match="has no parts"):
        CompositeLikelihood().begin(sg.Task(space, rule))
