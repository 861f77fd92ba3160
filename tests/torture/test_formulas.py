"""The trial of formulas can fail: with an evaluator that is wrong, slow or loud, it counts what did not survive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from softground.tasks.formulas import rule
from softground.tasks.formulas.data import alphabet
from torture.trial import Tally
from torture.trials import formulas
from torture.trials._evaluator import evaluate

CASES = 300


def tally(folder: Path, cases: int = CASES) -> Tally:
    result = Tally()
    formulas.run(result, cases, 3, folder)
    assert result.tried == cases
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", (7, 1)),
        ("1-2-3", (-4, 1)),
        ("8/2/3", (4, 3)),
        ("2+3*4-6/4", (25, 2)),
        ("1/3*3-1", (0, 1)),
        ("9-9*9/9", (0, 1)),
        ("", None),
        ("+", None),
        ("1+", None),
        ("12", None),
        ("1++", None),
        ("1^2", None),
    ],
)
def test_the_judge_knows_arithmetic(text: str, expected: tuple[int, int] | None) -> None:
    assert evaluate([int(c) if c.isdigit() else c for c in text]) == expected


def wrong_on_division(symbols: Sequence[Any]) -> Fraction | None:
    return alphabet_value(["*" if isinstance(s, str) and s == "/" else s for s in symbols])


def from_left_to_right(symbols: Sequence[Any]) -> Fraction | None:
    """Right but for precedence."""
    if (found := alphabet_value(symbols)) is None:
        return found
    total = Fraction(int(symbols[0]))
    for operator, operand in zip(symbols[1::2], symbols[2::2], strict=True):
        total = _apply(total, operator, int(operand))
    return total


def _apply(total: Fraction, operator: str, operand: int) -> Fraction:
    match operator:
        case "+":
            return total + operand
        case "-":
            return total - operand
        case "*":
            return total * operand
    return total / operand


def loud(symbols: Sequence[Any]) -> Fraction | None:
    """Lets Python's own error through."""
    return alphabet_value(symbols) if len(symbols) % 2 else Fraction(symbols[-1])


def slow(symbols: Sequence[Any]) -> Fraction | None:
    done = time.thread_time() + 2 * formulas.LIMIT
    while len(symbols) > 100 and time.thread_time() < done:
        pass
    return alphabet_value(symbols)


alphabet_value = alphabet.value


@pytest.mark.parametrize("broken", [wrong_on_division, from_left_to_right, loud, slow])
def test_a_broken_scalar_evaluator_is_caught(
    broken: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alphabet, "value", broken)
    assert 0 < tally(tmp_path).survived < CASES


def test_a_broken_vectorised_rule_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def value(*symbols: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return right(*[s.clamp(max=2) if site % 2 else s for site, s in enumerate(symbols)])  # ÷ taken for ×

    right = rule.value
    monkeypatch.setattr(rule, "value", value)
    result = tally(tmp_path)
    assert 0 < result.survived < CASES
    assert any("feasible for the right answer: False" in failure for failure in result.failures)


@pytest.mark.parametrize("sign", [1, 0])
def test_a_broken_z3_form_is_caught(sign: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("z3")
    product = rule.Product
    monkeypatch.setattr(rule, "Product", lambda known: product(abs(known)))  # − taken for +
    monkeypatch.setattr(formulas, "KNOWN_EVERY", 1 if sign else 10**9)
    monkeypatch.setattr(formulas, "SOLVED_EVERY", 10**9 if sign else 10)
    assert 0 < tally(tmp_path).survived < CASES
