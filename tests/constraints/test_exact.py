"""Answers as people have them: dates, decimals and sets, in a rule, its answers and its relations."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from softground import Categorical, Contains, Examples, Learner, Not, OneOf, Program, Task, mlp
from softground.constraints.exact import exact
from softground.errors import ConstraintError, InfeasibleAnswer

SPACE = Categorical([range(4)] * 2)
FIRST = date(2026, 11, 20)
RULES: dict[str, tuple[Any, list[Any]]] = {
    "dates": (lambda a, b: FIRST + timedelta(days=a + b), [FIRST, datetime(2026, 11, 22), Not(FIRST)]),
    "times": (lambda a, b: datetime(2026, 11, 20, a, b), [datetime(2026, 11, 20, 1, 2), FIRST]),
    "decimals": (lambda a, b: Decimal(a) + Decimal(b) / 2, [Decimal("0.5"), Fraction(3, 2), 2, Decimal("2.0")]),
    "sets": (lambda a, b: {a, b}, [{1, 2}, frozenset({3}), Contains(2), OneOf([{0}, {1}])]),
}


@pytest.mark.parametrize("kind", RULES)
def test_the_law_is_that_of_enumeration(kind: str) -> None:
    rule, answers = RULES[kind]
    task = Task(SPACE, Program(rule, SPACE))
    logits = torch.randn(len(answers), 2, 4, dtype=torch.float64)

    def fits(answer: Any, value: Any) -> bool:
        match answer:
            case Not():
                return not fits(answer.answer, value)
            case Contains():
                return answer.element in value
            case OneOf():
                return any(fits(one, value) for one in answer.answers)
        if isinstance(value, datetime) and not isinstance(answer, datetime):
            answer = datetime(answer.year, answer.month, answer.day)
        if isinstance(answer, datetime) and not isinstance(value, datetime):
            answer = answer.date()
        return bool(answer == value)

    p = logits.softmax(-1)
    wanted = [
        sum(p[row, 0, a] * p[row, 1, b] for a in range(4) for b in range(4) if fits(answer, rule(a, b)))
        for row, answer in enumerate(answers)
    ]
    torch.testing.assert_close(task.log_prob(logits, answers).exp(), torch.stack(wanted))  # type: ignore[arg-type]


def test_series_and_arrays_hold_them() -> None:
    pandas = pytest.importorskip("pandas")
    task = Task(SPACE, Program(RULES["dates"][0], SPACE))
    days = [FIRST, FIRST + timedelta(days=3)]
    logits = torch.randn(2, 2, 4)
    wanted = task.log_prob(logits, days)
    for form in (pandas.Series(pandas.to_datetime(days)), np.array(days, dtype="datetime64[D]")):
        assert torch.equal(task.log_prob(logits, form), wanted)


def test_a_learner_takes_them() -> None:
    rule, _ = RULES["sets"]
    pairs = torch.randint(4, (40, 2), generator=torch.Generator().manual_seed(0))
    answers = [{a, b} for a, b in pairs.tolist()]
    task = Task(SPACE, Program(rule, SPACE))
    learner = Learner(task, mlp(4, 4), device="cpu").fit(Examples(torch.eye(4)[pairs], answers), quiet=True)
    assert len(learner.predict(torch.eye(4)[pairs])) == 40
    assert learner.predict_answers(torch.eye(4)[pairs])[0] in [{a, b} for a in range(4) for b in range(4)]


def test_what_is_not_exact_is_refused() -> None:
    for wrong in (Decimal("NaN"), Decimal("Infinity"), object(), 0.5):
        with pytest.raises(ConstraintError, match="answer"):
            exact(wrong)
    task = Task(SPACE, Program(RULES["dates"][0], SPACE))
    with pytest.raises(ConstraintError, match="a number, where the rule gives a date"):
        task.log_prob(torch.zeros(1, 2, 4), [3])
    with pytest.raises(InfeasibleAnswer):
        task.log_prob(torch.zeros(1, 2, 4), [date(1999, 1, 1)])
