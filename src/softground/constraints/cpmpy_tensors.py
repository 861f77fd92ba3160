r"""CPMpy expressions as :mod:`~softground.constraints.steps`.

Global constraints without an operation of their own are decomposed as CPMpy does, where that takes no further variable;
of the others, the value is asked of CPMpy state by state.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..registry import load
from .steps import OPERATIONS, SIZES, WIDEST, Step, stacked

EVALUATING = threading.Lock()  # CPMpy's variables hold one value at a time


def load_cpmpy(part: str = "") -> Any:
    """The ``cpmpy`` module or a part of it, imported when it is first needed."""
    return load(f"cpmpy{part}", "A rule in CPMpy", "cpmpy ortools", ConstraintError)


def variables_of(expressions: Sequence[object]) -> list[Any]:
    """All variables in some expressions. CPMpy's own list takes variables of one name for one variable."""
    return list(load_cpmpy(".transformations.get_variables").get_variables(list(expressions), _Bag()).values())


class _Bag(dict[int, Any]):
    def add(self, variable: object) -> None:
        self[id(variable)] = variable


class Unfit(Exception):
    """An expression whose values are not all whole numbers of 64 bits."""


class Tape:
    """The steps of some expressions over sites, which are named by their variables.

    >>> import cpmpy
    >>> from softground.constraints.steps import run
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

    def _boolean(self, expression: object) -> int:
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

    def _place(self, e: object) -> int:
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

    def _constant(self, number: object) -> int:
        if not hasattr(number, "__index__") or abs(int(number)) > WIDEST:
            raise Unfit
        self._constants.append(int(number))
        place = self._step("constant", False, (), len(self._constants) - 1)
        self._sizes[place] = abs(int(number))
        return place

    def _decomposed(self, e: object, boolean: bool) -> int:
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

    def __init__(self, expression: object, sites: Mapping[str, int]) -> None:
        self.expression, self.variables = expression, variables_of([expression])
        self.sites = [sites[variable.name] for variable in self.variables]

    def value(self, columns: Sequence[Tensor]) -> Tensor:
        argval = load_cpmpy(".expressions.utils").argval
        if not self.sites:
            return torch.tensor(bool(argval(self.expression)), device=columns[0].device)
        given = stacked([columns[site] for site in self.sites])
        states, place = torch.unique(given.flatten(0, -2), dim=0, return_inverse=True)
        holds = []
        with EVALUATING:
            for state in states.tolist():
                for variable, symbol in zip(self.variables, state, strict=True):
                    variable._value = bool(symbol) if variable.is_bool() else symbol
                holds.append(bool(argval(self.expression)))
        return torch.tensor(holds, device=place.device)[place].view(given.shape[:-1])
