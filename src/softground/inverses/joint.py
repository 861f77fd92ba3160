r"""Find contradictory answers: those whose S_y = ∩ S_y^c is empty, though no S_y^c is.

The parts alone cannot detect them, and such an answer would be trained on like any other. An exact inverse of the whole
rule can. Otherwise a solver checks each distinct answer once: the rule's own, or Z3, which takes a rule of the usual
parts as one formula (:func:`~softground.constraints.smt.in_formula`). Answers for which it gives up, or which remain
when the time is over, are undecided. If the first fifth of the time finds no contradiction, the check ends early.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..constraints.cnf import Cnf
from ..constraints.pieces import All
from ..constraints.smt import in_formula, left_out
from ..preparing import preparing
from .base import Inverse, start_given
from .composite import composite
from .lists import Lists
from .solved import Solved
from .z3 import Z3

EACH = 2.0  # seconds for one answer
SHARE = 6  # a sixth of a task's seconds is for finding contradictory answers


def together(
    rule: Constraint, whole: Inverse, y: Tensor, known: Tensor | None = None, seconds: float = 10.0
) -> tuple[Tensor, Tensor]:
    """Of each encoded answer, with the known symbols (−1: unknown), whether S_y is proved empty, and whether that is
    undecided: bool ``[rows]`` each.

    >>> from softground import Categorical, Sum
    >>> from softground.inverses import Enumeration
    >>> space = Categorical([range(10)] * 4)
    >>> square = All([Sum([0, 1]), Sum([2, 3]), Sum([0, 2]), Sum([1, 3])], space)
    >>> y = square.encode([(3, 7, 4, 6), (3, 7, 4, 5)])
    >>> [found.tolist() for found in together(square, Enumeration(space, square), y)]
    [[False, True], [False, False]]
    """
    if whole.exact:
        start = start_given(whole, y, 0, known)
        return ~start.found & start.proved, ~start.found & ~start.proved
    parts = composite(rule, whole)
    empty = parts.empty(whole.space, y, known) if parts.exact else torch.zeros(len(y), dtype=torch.bool).to(y.device)
    fixed = [(-1,) * whole.space.sites] * len(y) if known is None else map(tuple, known.tolist())
    rows = [*zip(map(tuple, y.view(len(y), -1).tolist()), fixed, strict=True)]
    decided: dict[Any, bool | None] = {row: lost or None for row, lost in zip(rows, empty.tolist(), strict=True)}
    left = [row for row, lost in decided.items() if not lost]
    solver, whole_rule = solver_of(rule, whole)
    began, found = time.monotonic(), False
    with preparing("Whether parts contradict each other", len(left)) as done:
        for count, (answer, codes) in enumerate(left if solver is not None else ()):
            if time.monotonic() - began > (seconds if found else seconds / 5):
                break
            lost = solver.empty(answer[0], codes)  # type: ignore[union-attr]
            decided[answer, codes] = lost if whole_rule or lost else None
            found |= bool(lost)
            done(count + 1)
    verdicts = [decided[row] for row in rows]
    return tuple(torch.tensor([one is state for one in verdicts], device=y.device) for state in (True, None))  # type: ignore[return-value]


def solver_of(rule: Constraint, whole: Inverse) -> tuple[Solved | None, bool]:
    """A solver for the rule, or None, and whether its formula is the whole rule."""
    own = whole.rest if isinstance(whole, Lists) else whole
    limits: Any = {"timeout": EACH / 2, "limit": 2 * EACH}  # of a check, and twice that of a query
    if isinstance(own, Solved):
        return type(own)(own.rule, **limits), True
    conjunction = rule.conjunction() if isinstance(rule, Cnf) else rule
    if not isinstance(conjunction, All) or find_spec("z3") is None:
        return None, False
    return Z3(in_formula(conjunction), **limits), not left_out(conjunction)
