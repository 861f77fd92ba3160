"""CPMpy's constraints as a model of CP-SAT, translated once; whoever asks narrows the domains of the sites."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..errors import ConstraintError, InverseError
from ..optional import load
from ..spaces.categorical import Categorical
from .statement import load_cpmpy, numbers


def load_cp_model() -> Any:
    """OR-tools' module, imported when it is first needed."""
    return load("ortools.sat.python.cp_model", "CP-SAT", "ortools", InverseError)


def _refused(parts: Sequence[Any], why: str) -> ConstraintError:
    return ConstraintError(f"CP-SAT cannot take the CPMpy constraints {str(parts)[:200]}: {why[:200].strip()}.")


class Native:
    """What CP-SAT knows of some constraints; sites can be fixed and freed."""

    def __init__(self, sites: Any, space: Categorical, parts: Sequence[Any]) -> None:
        cp = load_cpmpy()
        untranslated = (cp.exceptions.CPMpyException, NotImplementedError, ArithmeticError, ValueError, AssertionError)
        try:
            solver = cp.SolverLookup.get("ortools", cp.Model(list(parts)))
            self.sites = list(solver.solver_vars(list(sites)))
        except untranslated as error:
            raise _refused(parts, f"{type(error).__name__}: {error}") from error
        self.native, self.numbers = solver.ort_model, numbers(space)
        self._turn = threading.Lock()  # held from the fixing of sites to the end of a search
        if wrong := self.native.validate():
            raise _refused(parts, wrong)
        self._codes = [{number: code for code, number in enumerate(values)} for values in self.numbers]
        domain = load_cp_model().Domain
        self._free = [domain.from_values(values).flattened_intervals() for values in self.numbers]

    def fix(self, codes: Sequence[int], free: Sequence[int]) -> None:
        """Let the free sites take all their symbols, the others those of the codes."""
        variables = self.native.proto.variables
        for site, variable in enumerate(self.sites):
            domain = variables[variable.index].domain
            domain.clear()
            domain.extend(self._free[site] if site in free else [self.numbers[site][codes[site]]] * 2)

    def codes(self, values: Sequence[int], sites: Sequence[int]) -> tuple[int, ...]:
        """The codes of some sites' numbers."""
        return tuple(self._codes[site][value] for site, value in zip(sites, values, strict=True))

    def holds(self, codes: Sequence[int], seconds: float) -> bool | None:
        """Whether some values of the other variables go with a state; None where that was not found out in time."""
        cp = load_cp_model()
        solver = cp.CpSolver()
        solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, seconds
        with self._turn:
            self.fix(codes, ())
            status = solver.solve(self.native)
        return None if status == cp.UNKNOWN else status != cp.INFEASIBLE
