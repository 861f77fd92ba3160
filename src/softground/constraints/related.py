"""Which values of a program an answer admits, where the answer is a relation or the program has one of its own."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from .answers import exact, integers, shaped
from .relations import Between, Contains, Meets, Not, OneOf, Relation, resolve

if TYPE_CHECKING:
    from .program import Program


def admits(rule: Program, answer: Any, values: Tensor, defined: Tensor) -> Tensor:
    """Whether an answer admits each of the ``values``, bool ``[rows]``: ids, or a vectorised program's whole numbers.

    Values that are not ``defined`` are those of states without an answer; only a complement admits these.
    """

    def leaf(key: Hashable) -> Tensor:
        if rule.vectorised:
            return (values == torch.tensor(integers(key, rule.width), device=values.device)).all(-1) & defined
        return defined & (values == rule.answers.ids.get(key, -1))

    def test(relation: Relation) -> Tensor:
        if isinstance(relation, Meets) and rule.vectorised:
            columns = values.unbind(-1)
            verdict = _related(rule, columns[0] if rule.width == 1 else columns, relation.answer)
            return _checked(verdict, defined) & defined
        distinct, place = torch.unique(values[defined], dim=0, return_inverse=True)
        holds = [_holds(rule, relation, value) for value in distinct.tolist()]
        found = torch.zeros_like(defined)
        found[defined] = torch.tensor(holds, dtype=torch.bool, device=values.device)[place]
        return found

    return resolve(answer, leaf, test, torch.ones_like(defined))


def met(answer: Any) -> Any:
    """An answer as a program's own relation reads it."""
    match answer:
        case None:
            return None
        case Not():
            return Not(met(answer.answer))
        case OneOf():
            return OneOf(*map(met, answer.answers))
        case Between() | Contains():
            raise ConstraintError(
                f"The answer {answer!r} was given to a rule with a relation of its own; expected an answer that this "
                "relation takes, one of several (OneOf), not one (Not), or None."
            )
    return Meets(exact(answer))


def _holds(rule: Program, relation: Relation, value: Any) -> bool:
    """Whether a relation holds of one value."""
    if rule.vectorised:
        like = 0 if rule.form is None and isinstance(relation, Between) else rule.form
        return relation.admits(exact(shaped(value, like)))
    key = rule.answers.keys[value]
    return bool(_related(rule, key, relation.answer)) if isinstance(relation, Meets) else relation.admits(key)


def _related(rule: Program, value: Any, answer: Hashable) -> Any:
    """What the program's own relation says."""
    try:
        return rule.relation(value, answer)  # type: ignore[misc]
    except Exception as error:
        raise ConstraintError(
            f"The relation failed for the answer {answer!r}: {type(error).__name__}: {error}. It must say of any value "
            f"of the rule{', given as tensors,' * rule.vectorised} whether the answer fits."
        ) from error


def _checked(verdict: Any, like: Tensor) -> Tensor:
    if not isinstance(verdict, Tensor) or verdict.shape != like.shape:
        given = f"shape {tuple(verdict.shape)}" if isinstance(verdict, Tensor) else type(verdict).__name__
        raise ConstraintError(
            f"The relation of a vectorised rule returned {given}; expected a bool tensor of shape {tuple(like.shape)}. "
            "A relation that works on one value at a time needs vectorised=False."
        )
    return verdict.bool()
