"""A rule in CPMpy as a Z3 formula: CPMpy's own interface states it, and the sites are put in."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from .cpmpy import STATEMENTS_KEPT, CPMpy
from .interned import remember_in
from .smt import SMT
from .statement import load_cpmpy
from .terms import load_z3


def in_z3(rule: CPMpy) -> SMT:
    """The formula that says what ``rule`` says, and understands its encoded answers.

    >>> from softground.spaces import Categorical
    >>> import cpmpy as cp
    >>> space = Categorical([range(3)] * 3)
    >>> formula = in_z3(CPMpy(lambda z, y: cp.AllDifferent(z) == y, space))
    >>> formula.feasible(space.encode([(2, 0, 1)] * 2), formula.encode([True, False])).tolist()
    [True, False]
    """
    return SMT(Translated(rule), rule.space, answers=rule)


class Translated:
    """``formula(z, y)`` of an :class:`SMT` rule. Variables that CPMpy makes count as existentially quantified."""

    def __init__(self, rule: CPMpy) -> None:
        self.rule = rule
        self._said: dict[Hashable, tuple[list[Any], Any]] = {}

    def __getstate__(self) -> CPMpy:
        return self.rule  # Z3's expressions cannot travel

    def __setstate__(self, rule: CPMpy) -> None:
        self.__init__(rule)  # type: ignore[misc]

    def __call__(self, z: list[Any], answer: Hashable) -> Any:
        z3 = load_z3()
        sites, formula = self._said.get(answer) or self._state(answer)
        terms = [term != 0 if z3.is_bool(site) else term for site, term in zip(sites, z, strict=True)]
        return z3.substitute(formula, *zip(sites, terms, strict=True))

    def _state(self, answer: Hashable) -> tuple[list[Any], Any]:
        """Z3's constants for the sites, and what must hold."""
        cp, z3 = load_cpmpy(), load_z3()
        solver = load_cpmpy(".solvers.z3").CPM_z3(cp.Model(*self.rule.statement(answer).parts))
        sites = [solver.solver_var(site) for site in self.rule.sites]
        said = sites, z3.And(*solver.z3_solver.assertions())
        remember_in(self._said, answer, said, STATEMENTS_KEPT)
        return said
