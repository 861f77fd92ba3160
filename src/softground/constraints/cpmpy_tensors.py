r"""A CPMpy expression as a **tape**: a list of steps that evaluates whole batches of states with tensors.

Each step applies one operation to the results of earlier ones. Numbers that stand in the expression are kept apart from
the steps, so that the expressions of one rule for different answers mostly share their steps, and states with different
answers are evaluated together, each row with its own numbers.

An expression is undefined where it divides by zero or leaves an array. As in CPMpy, the innermost Boolean expression
around it is then false (A. Frisch and P. Stuckey, CP 2009: the relational semantics).

Global constraints without an operation of their own are decomposed as CPMpy does, where that takes no further variable;
of the others, the value is asked of CPMpy state by state.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..registry import load

WIDEST = 2**62  # of whole numbers in tensors
EVALUATING = threading.Lock()  # CPMpy's variables hold one value at a time
Step = tuple[Any, ...]  # name, whether it is Boolean, places of the arguments, and what else the operation needs


def load_cpmpy(part: str = "") -> Any:
    """The ``cpmpy`` module or a part of it, imported when it is first needed."""
    return load(f"cpmpy{part}", "A rule in CPMpy", "cpmpy ortools", ConstraintError)


def variables_of(expressions: Sequence[Any]) -> list[Any]:
    """All variables in some expressions. CPMpy's own list takes variables of one name for one variable."""
    return list(load_cpmpy(".transformations.get_variables").get_variables(list(expressions), _Bag()).values())


class _Bag(dict[int, Any]):
    def add(self, variable: Any) -> None:
        self[id(variable)] = variable


class Unfit(Exception):
    """An expression whose values are not all whole numbers of 64 bits."""


class Tape:
    """The steps of some expressions over sites, which are named by their variables.

    >>> import cpmpy
    >>> a, b = cpmpy.intvar(0, 9, shape=2, name=("a", "b"))
    >>> tape = Tape([a + b == 7, a // b < 2], {"a": 0, "b": 1})
    >>> tape.constants, len(tape.steps)
    ((7, 2), 9)
    >>> columns = torch.tensor([5, 7, 2]), torch.tensor([2, 0, 5])
    >>> run(tape.steps, columns, torch.tensor(tape.constants)).tolist()
    [False, False, True]
    """

    def __init__(self, expressions: Sequence[Any], sites: Mapping[str, int]) -> None:
        self.sites, self._places, self._constants = sites, dict[Step, int](), list[int]()
        self._known: dict[int, int] = {}  # places of expressions (by identity), which are often used several times
        self._made: list[Any] = []  # expressions that are held here alone
        self._sizes: dict[int, int] = {}  # of places: no value is larger
        self._core, self._variables = load_cpmpy(".expressions.core"), load_cpmpy(".expressions.variables")
        parts = [self._boolean(expression) for expression in expressions]
        self._step("and", True, parts, "last")
        self.steps, self.constants = tuple(self._places), tuple(self._constants)

    def _step(self, name: str, boolean: bool, arguments: Sequence[int] = (), *more: Any) -> int:
        place = self._places.setdefault((name, boolean, tuple(arguments), *more), len(self._places))
        self._sizes[place] = 1 if boolean else SIZES[name]([self._sizes[argument] for argument in arguments])
        if self._sizes[place] > WIDEST:
            raise Unfit
        return place

    def _boolean(self, expression: Any) -> int:
        """The step of a Boolean expression, if need be one that asks CPMpy."""
        steps, constants = len(self._places), len(self._constants)
        try:
            return self._place(expression)
        except Unfit:
            while len(self._places) > steps:
                self._places.popitem()
            del self._constants[constants:]
            self._known = {each: place for each, place in self._known.items() if place < steps}
            return self._step("asked", True, (), Asked(expression, self.sites))

    def _place(self, e: Any) -> int:
        """The step of an expression or a number."""
        if not isinstance(e, self._core.Expression):
            return self._constant(e)
        if id(e) not in self._known:
            self._known[id(e)] = self._stepped(e)
        return self._known[id(e)]

    def _stepped(self, e: Any) -> int:
        if isinstance(e, self._variables.NegBoolView):
            return self._step("not", True, [self._place(e._bv)])
        if isinstance(e, self._variables._NumVarImpl):
            place = self._step("site", e.is_bool(), (), self.sites[e.name])
            self._sizes[place] = max(abs(e.lb), abs(e.ub))
            return place
        boolean = bool(e.is_bool())
        match e.name:
            case "boolval":
                return self._constant(e.args[0])
            case "wsum":
                return self._step("wsum", False, [*map(self._constant, e.args[0]), *map(self._place, e.args[1])])
            case "element" | "count":
                return self._step(e.name, False, [*map(self._place, e.args[0]), self._place(e.args[1])])
            case "table":
                rows = tuple(tuple(map(int, row)) for row in e.args[1])
                if not rows or math.prod(max(column) - min(column) + 1 for column in zip(*rows, strict=True)) > WIDEST:
                    raise Unfit
                return self._step("table", True, list(map(self._place, e.args[0])), rows)
            case "and" | "or" | "->" | "not":
                return self._step(e.name, True, list(map(self._boolean, e.args)))
        if e.name in OPERATIONS:
            return self._step(e.name, boolean, list(map(self._place, e.args)))
        return self._decomposed(e, boolean)

    def _constant(self, number: Any) -> int:
        if not hasattr(number, "__index__") or abs(int(number)) > WIDEST:
            raise Unfit
        self._constants.append(int(number))
        place = self._step("constant", False, (), len(self._constants) - 1)
        self._sizes[place] = abs(int(number))
        return place

    def _decomposed(self, e: Any, boolean: bool) -> int:
        """The step of what CPMpy makes of a global constraint or function, if it is made of the same variables."""
        if not hasattr(e, "decompose"):
            raise Unfit
        value, defining = e.decompose()
        self._made.append(value)
        if defining or not {v.name for v in variables_of([value])} <= {v.name for v in variables_of([e])}:
            raise Unfit
        return self._step("and", True, list(map(self._boolean, value))) if boolean else self._place(value)


class Asked:
    """The value of a Boolean expression by CPMpy itself, for one state after the other."""

    def __init__(self, expression: Any, sites: Mapping[str, int]) -> None:
        self.expression, self.variables = expression, variables_of([expression])
        self.sites = [sites[variable.name] for variable in self.variables]

    def value(self, columns: Sequence[Tensor]) -> Tensor:
        argval = load_cpmpy(".expressions.utils").argval
        if not self.sites:
            return torch.tensor(bool(argval(self.expression)), device=columns[0].device)
        given = _stacked([columns[site] for site in self.sites])
        states, place = torch.unique(given.flatten(0, -2), dim=0, return_inverse=True)
        holds = []
        with EVALUATING:
            for state in states.tolist():
                for variable, symbol in zip(self.variables, state, strict=True):
                    variable._value = bool(symbol) if variable.is_bool() else symbol
                holds.append(bool(argval(self.expression)))
        return torch.tensor(holds, device=place.device)[place].view(given.shape[:-1])


def run(steps: Sequence[Step], columns: Sequence[Tensor], constants: Tensor) -> Tensor:
    """The value of the last step, bool: ``columns`` are the sites' numbers, and ``constants[…, k]`` the tape's.

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
                value = _in_table(_stacked(given), more[0])
            case _:
                if name in PARTIAL:
                    sound.append(PARTIAL[name](given))
                value = OPERATIONS[name](given)
        where = [s for s in sound if s is not None]
        whole = reduce(torch.logical_and, where) if where else None
        values.append(value & whole if boolean and whole is not None else value)
        defined.append(None if boolean else whole)
    return values[-1]


def _stacked(given: Sequence[Tensor]) -> Tensor:
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
    arguments = _stacked(given)
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
    "and": lambda g: reduce(torch.logical_and, g, torch.tensor(True, device=g[0].device if g else None)),
    "or": lambda g: reduce(torch.logical_or, g),
    "->": lambda g: ~g[0].bool() | g[1].bool(),
    "not": lambda g: ~g[0].bool(),
    "sum": lambda g: reduce(torch.add, [x.long() for x in g]),
    "wsum": lambda g: reduce(torch.add, [w * x for w, x in zip(g[: len(g) // 2], g[len(g) // 2 :], strict=True)]),
    "sub": lambda g: g[0].long() - g[1].long(),
    "-": lambda g: -g[0].long(),
    "mul": lambda g: g[0].long() * g[1].long(),
    "div": lambda g: torch.div(g[0].long(), _divisor(g), rounding_mode="trunc"),
    "mod": lambda g: torch.fmod(g[0].long(), _divisor(g)),
    "pow": lambda g: torch.pow(g[0].long(), g[1]),
    "abs": lambda g: g[0].long().abs(),
    "min": lambda g: _stacked(g).amin(-1),
    "max": lambda g: _stacked(g).amax(-1),
    "element": _element,
    "count": lambda g: (_stacked(g[:-1]) == g[-1][..., None]).sum(-1),
    "alldifferent": lambda g: (_stacked(g).sort(-1).values.diff(dim=-1) != 0).all(-1),
}
SIZES: dict[str, Callable[[list[int]], int]] = {  # of a value, given those of its arguments
    **dict.fromkeys(("sum", "sub", "-"), sum),
    **dict.fromkeys(("min", "max", "abs", "element", "div", "mod"), max),
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
