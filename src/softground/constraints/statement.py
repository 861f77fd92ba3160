"""What a CPMpy rule says for one answer: the user's function is called, and what it returns is looked at closely.

Its constraints are translated into a model of CP-SAT once; whoever asks narrows the domains of the sites.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ConstraintError, InverseError
from ..optional import load
from ..spaces.categorical import Categorical
from .answers import Between, Relation, complements, resolve

MOST_IN_A_RANGE = 1000  # whole numbers that a range of answers is spelt out to
Rule = Callable[[Any, Any], Any]


def load_cpmpy(part: str = "") -> Any:
    """The ``cpmpy`` module or a part of it, imported when it is first needed."""
    return load(f"cpmpy{part}", "A rule in CPMpy", "cpmpy ortools", ConstraintError)


@dataclass(frozen=True, eq=False)
class Statement:
    """CPMpy constraints that must all hold, and the variables in them that are no sites."""

    parts: tuple[Any, ...]
    own: tuple[Any, ...]


def numbers(space: Categorical) -> list[tuple[int, ...]]:
    """Of each site, the number that each code stands for."""
    codes = torch.nn.utils.rnn.pad_sequence([torch.arange(size) for size in space.sizes])
    columns = zip(space.arguments(codes), space.sizes, strict=True)
    return [tuple(column[:size].tolist()) for column, size in columns]


def site_variables(space: Categorical) -> Any:
    """An array of CPMpy variables, one per site; gaps in an alphabet are left to whoever solves."""
    cp, variables = load_cpmpy(), []
    for site, (alphabet, values) in enumerate(zip(space.alphabets, numbers(space), strict=True)):
        boolean = alphabet == (False, True) and all(isinstance(symbol, bool) for symbol in alphabet)
        name = f"z[{site}]"
        variables.append(cp.boolvar(name=name) if boolean else cp.intvar(min(values), max(values), name=name))
    return cp.cpm_array(variables)


def stated(rule: Rule, sites: Any, answer: Any) -> Statement:
    """The rule's statement for an answer in its exact form, or for a relation."""
    if isinstance(answer, Relation | None):
        cp = load_cpmpy()
        parts = [resolve(answer, lambda key: cp.all(_called(rule, sites, key)), _Range(rule, sites), cp.BoolVal(True))]
    else:
        parts = _called(rule, sites, answer)
    own = _own(parts, sites, answer)
    if own and (refused := next(complements(answer), None)):
        raise ConstraintError(
            f"The answer {refused!r} was given to a CPMpy rule that makes variables of its own "
            f"({', '.join(v.name for v in own[:5])}): its complement, that no values of them meet the rule, cannot be "
            "stated. Write the rule without them."
        )
    return Statement(tuple(parts), own)


def variables_of(expressions: Sequence[Any]) -> list[Any]:
    """All variables in some expressions. CPMpy's own list takes variables of one name for one variable."""
    return list(load_cpmpy(".transformations.get_variables").get_variables(list(expressions), _Bag()).values())


class _Bag(dict[int, Any]):
    def add(self, variable: Any) -> None:
        self[id(variable)] = variable


def _called(rule: Rule, sites: Any, answer: Hashable) -> list[Any]:
    """The constraints that the user's rule returns."""
    cp = load_cpmpy()
    try:
        result = rule(sites, answer)
    except Exception as error:
        raise ConstraintError(
            f"The CPMpy rule failed for the answer {answer!r}: {type(error).__name__}: {error}. It is called with an "
            "array of CPMpy variables, one per site, and the answer."
        ) from error
    if isinstance(result, cp.Model):
        if result.has_objective():
            raise ConstraintError(
                f"The CPMpy rule returned a model with an objective ({result.objective_}) for the answer {answer!r}. A "
                "rule says which symbols are feasible, not which are best: leave the objective out."
            )
        result = result.constraints
    try:
        parts: list[Any] = load_cpmpy(".transformations.normalize").toplevel_list(result)
    except (AssertionError, cp.exceptions.CPMpyException) as error:
        raise ConstraintError(
            f"The CPMpy rule returned {str(result)[:200]} for the answer {answer!r}; expected a constraint, a list of "
            "constraints, or a cpmpy.Model."
        ) from error
    return parts


@dataclass(frozen=True)
class _Range:
    """The constraints for some whole number of a range."""

    rule: Rule
    sites: Any

    def __call__(self, relation: Relation) -> Any:
        match relation:
            case Between(low=int(low), high=int(high)) if high - low < MOST_IN_A_RANGE:
                cp = load_cpmpy()
                return cp.any([cp.all(_called(self.rule, self.sites, y)) for y in range(low, high + 1)])
        raise ConstraintError(
            f"The answer {relation!r} was given to a CPMpy rule, which takes ranges of at most {MOST_IN_A_RANGE} whole "
            "numbers. Say it in the rule: let the answer be ('<', 20), say, and let the rule look at its parts."
        )


def _own(parts: Sequence[Any], sites: Any, answer: Any) -> tuple[Any, ...]:
    """The variables that are no sites."""
    named = {site.name: site for site in sites}
    used = variables_of(parts)
    own = [variable for variable in used if named.get(variable.name) is not variable]
    if clash := [variable.name for variable in own if variable.name in named]:
        raise ConstraintError(
            f"The CPMpy rule for the answer {answer!r} is over variables of its own that are named like sites "
            f"({', '.join(clash[:5])}). Use the variables z that it is called with, or give yours other names."
        )
    if own and len(own) == len(used):
        raise ConstraintError(
            f"The CPMpy rule for the answer {answer!r} is over unknown variables alone "
            f"({', '.join(variable.name for variable in own[:5])}). It must be over the variables z that it is called "
            "with, one per site; others may only help to say it."
        )
    return tuple(own)


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
