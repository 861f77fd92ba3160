"""Formulas as **steps**, which evaluate whole batches of states with tensors.

Each step applies one operation to the results of earlier ones. Numbers that stand in the formula are kept apart from
the steps, so that the formulas of one rule for different answers mostly share their steps, and states with different
answers are evaluated together, each row with its own numbers.

A formula is undefined where it divides by zero or leaves an array. As in CPMpy, the innermost Boolean expression
around it is then false (A. Frisch and P. Stuckey, CP 2009: the relational semantics).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

WIDEST = 2**62  # of whole numbers in tensors
TRUE = torch.tensor(True)
Step = tuple[Any, ...]  # name, whether it is Boolean, places of the arguments, and what else the operation needs


def run(steps: Sequence[Step], columns: Sequence[Tensor], constants: Tensor) -> Tensor:
    """The value of the last step, bool: ``columns`` are the sites' numbers, and ``constants[…, k]`` the formula's.

    All of them are broadcast where they meet. So a step that needs few of the columns is cheap where each site that
    takes several values has an axis of its own.
    """
    values: list[Tensor] = []
    defined: list[Tensor | None] = []
    for name, boolean, arguments, *more in steps:
        given = [values[place] for place in arguments]
        sound = [defined[place] for place in arguments]
        match name:
            case "site":
                value = columns[more[0]].bool() if boolean else columns[more[0]]
            case "constant":
                value = constants[..., more[0]]
            case "asked":
                value = more[0].value(columns)
            case "table":
                value = _in_table(stacked(given), more[0])
            case _:
                if name in PARTIAL:
                    sound.append(PARTIAL[name](given))
                value = OPERATIONS[name](given)
        where = [s for s in sound if s is not None]
        whole = reduce(torch.logical_and, where) if where else None
        values.append(value & whole if boolean and whole is not None else value)
        defined.append(None if boolean else whole)
    return values[-1]


def stacked(given: Sequence[Tensor]) -> Tensor:
    """Arguments side by side, ``[…, arguments]``."""
    return torch.stack(torch.broadcast_tensors(*(g.long() for g in given)), -1)  # type: ignore[no-untyped-call]


def _in_table(rows: Tensor, table: tuple[tuple[int, ...], ...]) -> Tensor:
    """Whether each of ``rows[…, n]`` is one of the table's, by its place in the box around them."""
    wanted = torch.tensor(table, device=rows.device)
    low, spans = wanted.amin(0), wanted.amax(0) - wanted.amin(0) + 1
    strides = spans.flip(0).cumprod(0).flip(0) // spans
    inside = ((rows >= low) & (rows < low + spans)).all(-1)
    return inside & torch.isin(((rows - low) * strides).sum(-1), ((wanted - low) * strides).sum(-1))


def _element(given: Sequence[Tensor]) -> Tensor:
    arguments = stacked(given)
    return arguments.gather(-1, arguments[..., -1:].clamp(0, len(given) - 2))[..., 0]


def _divisor(given: Sequence[Tensor]) -> Tensor:
    return given[1].long().where(given[1] != 0, 1)


Operation = Callable[[Sequence[Tensor]], Tensor]
OPERATIONS: dict[str, Operation] = {
    "==": lambda g: g[0].long() == g[1].long(),
    "!=": lambda g: g[0].long() != g[1].long(),
    "<": lambda g: g[0].long() < g[1].long(),
    "<=": lambda g: g[0].long() <= g[1].long(),
    ">": lambda g: g[0].long() > g[1].long(),
    ">=": lambda g: g[0].long() >= g[1].long(),
    "and": lambda g: reduce(torch.logical_and, g, TRUE),
    "or": lambda g: reduce(torch.logical_or, g),
    "->": lambda g: ~g[0].bool() | g[1].bool(),
    "not": lambda g: ~g[0].bool(),
    "if": lambda g: torch.where(g[0], g[1], g[2]),
    "sum": lambda g: reduce(torch.add, [x.long() for x in g]),
    "wsum": lambda g: reduce(torch.add, [w * x for w, x in zip(g[: len(g) // 2], g[len(g) // 2 :], strict=True)]),
    "sub": lambda g: g[0].long() - g[1].long(),
    "-": lambda g: -g[0].long(),
    "mul": lambda g: reduce(torch.mul, [x.long() for x in g]),
    "div": lambda g: torch.div(g[0].long(), _divisor(g), rounding_mode="trunc"),
    "mod": lambda g: torch.fmod(g[0].long(), _divisor(g)),
    "z3 div": lambda g: torch.div(g[0], g[1].abs(), rounding_mode="floor") * g[1].sign(),  # the remainder is never < 0
    "z3 mod": lambda g: torch.remainder(g[0], g[1].abs()),
    "pow": lambda g: torch.pow(g[0].long(), g[1]),
    "abs": lambda g: g[0].long().abs(),
    "min": lambda g: stacked(g).amin(-1),
    "max": lambda g: stacked(g).amax(-1),
    "element": _element,
    "count": lambda g: (stacked(g[:-1]) == g[-1][..., None]).sum(-1),
    "alldifferent": lambda g: (stacked(g).sort(-1).values.diff(dim=-1) != 0).all(-1),
}
SIZES: dict[str, Callable[[list[int]], int]] = {  # no value is larger, given those of the arguments; 1 for truth
    **dict.fromkeys(("sum", "sub", "-"), sum),
    **dict.fromkeys(("min", "max", "abs", "element", "div", "mod", "z3 div", "z3 mod", "if"), max),
    **dict.fromkeys(("site", "constant"), lambda sizes: 0),  # which are set apart
    "mul": math.prod,
    "wsum": lambda s: sum(w * x for w, x in zip(s[: len(s) // 2], s[len(s) // 2 :], strict=True)),
    "pow": lambda s: s[0] ** min(s[1], 64),
    "count": len,
}
PARTIAL: dict[str, Operation] = {  # where an operation is defined
    "div": lambda g: g[1] != 0,
    "mod": lambda g: g[1] != 0,
    "element": lambda g: (g[-1] >= 0) & (g[-1] < len(g) - 1),
}
