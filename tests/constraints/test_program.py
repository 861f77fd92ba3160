"""Programs: plain and vectorised, exact answers of several kinds, states without an answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from softground.constraints import Program
from softground.constraints import program as program_module
from softground.constraints.answers import remember_in
from softground.constraints.exact import exact
from softground.errors import ConstraintError
from softground.inverses import Table
from softground.spaces import Categorical
from softground.tasks.formulas import formula_program, formula_space
from softground.tasks.formulas.data.alphabet import value

PAIR = Categorical([range(4), range(4)])


def brute(program: Program, answer: Any) -> set[tuple[Any, ...]]:
    everything = program.space.states(torch.arange(program.space.size))
    y = program.encode([answer]).expand(len(everything))
    return set(program.space.decode(everything[program.feasible(everything, y)]))


def test_the_same_function_serves_plain_and_vectorised() -> None:
    for vectorised in (False, True):
        assert brute(Program(lambda a, b: a + b, PAIR, vectorised=vectorised), 2) == {(0, 2), (1, 1), (2, 0)}


def test_rationals_tuples_and_strings_as_answers() -> None:
    quotient = Program(lambda a, b: Fraction(a, b), PAIR)  # b = 0 raises: no answer
    assert brute(quotient, Fraction(1, 2)) == {(1, 2)}
    assert brute(quotient, Fraction(4, 2)) == brute(quotient, 2) == {(2, 1)}
    assert brute(Program(lambda a, b: (max(a, b), min(a, b)), PAIR), (3, 1)) == {(3, 1), (1, 3)}
    assert brute(Program(lambda a, b: "even" if (a + b) % 2 == 0 else "odd", PAIR), "odd") == {
        (a, b) for a in range(4) for b in range(4) if (a + b) % 2
    }


def test_vectorised_tuples_and_undefined_states() -> None:
    def divide(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        safe = torch.where(b == 0, 1, b)
        shared = torch.gcd(a, safe)
        return a // shared, safe // shared, b != 0

    program = Program(divide, PAIR, vectorised=True, partial=True)
    assert brute(program, Fraction(1, 2)) == {(1, 2)}
    assert brute(program, 0) == {(0, 1), (0, 2), (0, 3)}
    everything = PAIR.states(torch.arange(16))
    assert torch.equal(program.admissible(everything), everything[:, 1] != 0)


def test_symbols_that_are_not_ints_arrive_as_codes_when_vectorised() -> None:
    space = Categorical([(5, 7), "+-"])
    program = Program(lambda a, sign: a * (1 - 2 * sign), space, vectorised=True)
    assert brute(program, -7) == {(7, "-")}


def test_none_and_arithmetic_errors_mean_no_answer() -> None:
    program = Program(lambda a, b: None if a == 3 else 6 // b, PAIR)
    everything = PAIR.states(torch.arange(16))
    assert program.admissible(everything).tolist() == [a != 3 and b != 0 for a, b in everything.tolist()]


def test_a_plain_function_is_called_once_per_state() -> None:
    calls = []
    program = Program(lambda a, b: calls.append((a, b)) or a + b, PAIR)  # type: ignore[func-returns-value]
    z = torch.tensor([[1, 2], [1, 2], [3, 0]])
    program.encode([3])  # which looks at what the rule gives
    calls.clear()
    for _ in range(3):
        program.feasible(z, program.encode([3, 4, 3]))
    assert sorted(calls) == [(1, 2), (3, 0)]


def test_errors_say_what_to_do() -> None:
    program = Program(lambda a, b: a + b, PAIR)
    with pytest.raises(ConstraintError, match=r"Example 1: .*0\.5 is a float.*Fraction"):
        program.encode([1, 0.5])
    with pytest.raises(ConstraintError, match="is a dict"):
        program.encode([{}])
    with pytest.raises(ConstraintError, match="float"):
        Program(lambda a, b: (a + 1) / 2, PAIR).answer_ids(torch.zeros(1, 2, dtype=torch.long))
    with pytest.raises(ConstraintError, match="KeyError"):
        Program(lambda a, b: {}[a], PAIR).answer_ids(torch.zeros(1, 2, dtype=torch.long))
    with pytest.raises(ConstraintError, match="vectorised=False"):
        Program(lambda a, b: 3, PAIR, vectorised=True)
    with pytest.raises(ConstraintError, match="vectorised=False"):
        Program(lambda a, b: a + b, PAIR, vectorised=True).encode(["seven"])
    rule = Program(lambda a, b: a + b, PAIR, vectorised=True)
    rule.encode([-(2**63), 2**63 - 1])  # the smallest and the largest that fit
    for outside in (-(2**63) - 1, 2**63):
        with pytest.raises(ConstraintError, match="does not fit into 64 bits"):
            rule.encode([outside])


def test_tensor_and_numpy_answers_are_their_numbers() -> None:
    import numpy as np

    assert exact(torch.tensor(3)) == exact(np.int64(3)) == 3
    assert exact(torch.tensor([1, 2])) == (1, 2)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_formula_values_agree_with_an_independent_evaluator(data: st.DataObject) -> None:
    length = data.draw(st.sampled_from([1, 3, 5, 7, 11, 19, 25, 35]))
    space = formula_space(length)
    state = [data.draw(st.sampled_from(alphabet)) for alphabet in space.alphabets]
    program = formula_program(length)
    truth = value(state)
    y = program.encode([truth, truth + Fraction(1, 10**6)])
    assert program.feasible(space.encode([state, state]), y).tolist() == [True, False]


def test_the_largest_formula_does_not_overflow() -> None:
    """Eighteen nines divided and added: the largest intermediate numbers the docstring promises to hold."""
    program = formula_program(35)
    for operators in (["*"] * 17, ["/"] * 17, ["/", "+"] * 8 + ["/"], ["*", "-"] * 8 + ["*"], ["/", "-"] * 8 + ["*"]):
        state: list[Any] = [9]
        for position, operator in enumerate(operators):
            state += [operator, 9 if position % 3 else 8]
        assert bool(program.feasible(program.space.encode([state]), program.encode([value(state)])).all())


def test_the_memory_of_a_plain_rule_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "CACHE_LIMIT", 5)
    called: list[Any] = []

    def rule(a: int, b: int) -> int:
        called.append((a, b))
        return a + b

    program = Program(rule, PAIR)
    z = PAIR.states(torch.arange(PAIR.size))
    expected = program.answer_ids(z)
    assert len(program._cache) <= 5
    assert torch.equal(program.answer_ids(z), expected)
    called.clear()
    program.answer_ids(z[-3:])  # the latest are remembered
    assert not called


def test_forgetting_does_not_look_through_the_memory_each_time() -> None:
    looked = []

    class Watched(dict[Any, Any]):
        def __iter__(self) -> Any:
            looked.append(len(self))
            return super().__iter__()

    memory = Watched()
    for number in range(1_000):
        remember_in(memory, number, None, 100)
        assert len(memory) <= 100
        assert number in memory
    assert set(memory) >= set(range(925, 1_000))  # the latest
    assert len(looked) <= 1_000 // 25


def test_a_table_leaves_nothing_in_the_rules_memory() -> None:
    program = Program(lambda a, b: a + b, PAIR)
    Table(program)
    assert not program._cache


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([Fraction(1, 3)], [Fraction(1, 2), Fraction(2)]),
        ([3, Fraction(1, 3)], [Fraction(1, 2), Fraction(2)]),
        ([3], [Fraction(1, 2), Fraction(2)]),  # an int where the rule returns a pair is rational
        ([(1, 3)], [(1, 2), (2, 1)]),
        ([], [(1, 2), (2, 1)]),
    ],
)
def test_computed_answers_have_the_form_of_those_given(given: list[Any], expected: list[Any]) -> None:
    space = Categorical([(1, 2)] * 2)
    program = Program(lambda a, b: (a // torch.gcd(a, b), b // torch.gcd(a, b)), space, vectorised=True)
    program.encode(given)
    found = program.compute(space.encode([(1, 2), (2, 1)]))
    assert found == expected
    assert [type(answer) for answer in found] == [type(answer) for answer in expected]


def test_a_computed_answer_is_written_as_the_user_wrote_it() -> None:
    space = Categorical([range(3)] * 2)
    rule = Program(lambda a, b: (a + b, a * b), space, vectorised=True)
    rule.encode([(2, 1)])
    assert rule.compute(space.encode([(1, 1), (2, 2)])) == [(2, 1), (4, 4)]
    words = Program(lambda a, b: f"{a}{b}", space)
    assert words.compute(space.encode([(1, 2)])) == ["12"]
    truth = Program(lambda a, b: a == b, space)
    truth.encode([True])
    assert [repr(answer) for answer in truth.compute(space.encode([(1, 1), (1, 2)]))] == ["True", "False"]
    whole = Program(lambda a, b: Fraction(a, b + 1), space)
    whole.encode([Fraction(4, 2)])
    assert [repr(a) for a in whole.compute(space.encode([(2, 0), (1, 1)]))] == ["Fraction(2, 1)", "Fraction(1, 2)"]
