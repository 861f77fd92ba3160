r"""A rule written in CPMpy, the modelling language: z ∈ S_y where its constraints hold.

``rule(z, y)`` is called once for each answer, with an array ``z`` of one CPMpy variable per site and the answer in its
exact form (an int, a :class:`fractions.Fraction`, a string or a tuple of these). A variable stands for the symbol
itself where the site's alphabet is all ints, else for the symbol's position in that alphabet; it is Boolean where the
alphabet is ``(False, True)``. The rule returns a CPMpy constraint, a list of these (nested as you like; Python's bools
count), or a ``cpmpy.Model`` without objective. All of CPMpy's constraints may be used: ``AllDifferent``, ``Table``,
``Count``, ``Circuit``, ``Cumulative``, …

Variables that the rule makes itself count as existentially quantified: z is feasible if *some* values of them meet the
constraints. Feasibility then takes a solver; otherwise it is evaluated (:mod:`~softground.constraints.steps`).

T. Guns, "Increasing modeling language convenience with a universal n-dimensional array, CPpy as python-embedded
example", ModRef 2019.

>>> import cpmpy as cp
>>> from softground.spaces import Categorical
>>> space = Categorical([range(10)] * 3)
>>> total = CPMpy(lambda z, y: [cp.AllDifferent(z), cp.sum(z) == y], space)
>>> total.feasible(space.encode([(9, 0, 8), (9, 4, 4), (1, 0, 2)]), total.encode([17, 17, 3])).tolist()
[True, False, True]
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError, InverseError
from ..registry import load
from ..spaces.categorical import Categorical
from .answers import remember_in
from .cpmpy_tensors import Tape, load_cpmpy, variables_of
from .language import SUMS, Conjunct, LanguageRule
from .pieces import AllDifferent, Piece, Sum
from .relations import Between, Relation, complements, resolve
from .steps import Step, run

STATEMENTS_KEPT = 2**12
MODELS_KEPT = 256
MOST_IN_A_RANGE = 1000  # whole numbers that a range of answers is spelt out to
SECONDS = 60.0  # for a solver to say whether a state is feasible


@dataclass(frozen=True, eq=False)
class Statement:
    """What a rule says for one answer: constraints that must all hold, and their variables that are no sites."""

    parts: tuple[Any, ...]
    own: tuple[Any, ...]


class CPMpy(LanguageRule):
    """The constraint z ∈ S_y ⇔ the constraints that ``rule(z, y)`` returns hold."""

    def __init__(self, rule: Callable[[Any, Any], Any], space: Categorical) -> None:
        load_cpmpy()
        super().__init__(rule, space)
        self._statements: dict[Hashable, Statement] = {}
        self._tapes: dict[int, tuple[tuple[Step, ...], tuple[int, ...]] | None] = {}  # None: it takes a solver
        self._shared: dict[tuple[Step, ...], tuple[Step, ...]] = {}
        self._models: dict[int, CPSATModel] = {}

    def __repr__(self) -> str:
        return f"CPMpy({self.space!r})"

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Exact; answers whose constraints differ in numbers only are evaluated together."""
        columns, found = self.space.arguments(z), torch.zeros(len(z), dtype=torch.bool, device=z.device)
        for rows, steps, constants in self._alike(y):
            if steps is not None:
                found[rows] = run(steps, [column[rows] for column in columns], constants)
            else:
                found[rows] = super().feasible(z[rows], y[rows])
        return found

    def completions(self, z: Tensor, y: Tensor, sites: Sequence[int]) -> Tensor:
        """Which combinations of some sites' symbols go with the rest of each state, bool ``[rows, combinations]``.

        Combinations are in lexicographic order. No answer's rule may have variables of its own. What depends on one of
        these sites, or on none, is evaluated once for all symbols of the others.
        """
        axes = dict(zip(sites, range(1, len(sites) + 1), strict=True))
        shape = (len(z), *(self.space.sizes[site] for site in sites))
        found = torch.zeros(shape, dtype=torch.bool, device=z.device)
        symbols = [torch.tensor(values, device=z.device) for values in self.numbers]
        for rows, steps, constants in self._alike(y):
            assert steps is not None
            known = self.space.arguments(z[rows])
            columns = []
            for site in range(self.space.sites):
                column = symbols[site] if site in axes else known[site]
                columns.append(column.view([-1 if axis == axes.get(site, 0) else 1 for axis in range(len(shape))]))
            apart = constants if constants.dim() == 1 else constants.view(len(rows), *([1] * len(sites)), -1)
            found[rows] = run(steps, columns, apart)
        return found.flatten(1)

    def _alike(self, y: Tensor) -> Iterator[tuple[Tensor, tuple[Step, ...] | None, Tensor]]:
        """Rows whose answers share their steps, these steps, and the numbers in them: ``[k]`` or ``[rows, k]``."""
        answers, place = torch.unique(y, return_inverse=True)
        alike: dict[int, tuple[Any, list[tuple[int, tuple[int, ...]]]]] = {}
        for number, i in enumerate(answers.tolist()):
            steps, constants = self._tape(i) or (None, ())
            alike.setdefault(id(steps), (steps, []))[1].append((number, constants))
        for steps, members in alike.values():
            those = torch.tensor([number for number, _ in members], device=y.device)
            rows = torch.isin(place, those).nonzero().flatten()
            table = torch.tensor([constants for _, constants in members], dtype=torch.long, device=y.device)
            yield rows, steps, table[torch.searchsorted(those, place[rows])] if len(members) > 1 else table[0]

    @cached_property
    def sites(self) -> Any:
        """CPMpy's variables for the sites, with which the rule is called; a solver leaves gaps in an alphabet out."""
        cp, variables = load_cpmpy(), []
        for site, (alphabet, values) in enumerate(zip(self.space.alphabets, self.numbers, strict=True)):
            boolean = alphabet == (False, True) and all(isinstance(symbol, bool) for symbol in alphabet)
            name = f"z[{site}]"
            variables.append(cp.boolvar(name=name) if boolean else cp.intvar(min(values), max(values), name=name))
        return cp.cpm_array(variables)

    @cached_property
    def names(self) -> list[str]:
        return [site.name for site in self.sites]

    def statement(self, answer: Hashable) -> Statement:
        """What the rule says for an answer in its exact form, or for a relation; the latest are remembered."""
        made = self._statements.get(answer)
        if made is None:
            made = self._stated(answer)
            remember_in(self._statements, answer, made, STATEMENTS_KEPT)
        return made

    def _stated(self, answer: object) -> Statement:
        if isinstance(answer, Relation | None):
            cp = load_cpmpy()
            parts = [resolve(answer, lambda key: cp.all(self._called(key)), self._ranged, cp.BoolVal(True))]
        else:
            parts = self._called(answer)
        own = self._own(parts, answer)
        if own and (refused := next(complements(answer), None)):
            raise ConstraintError(
                f"The answer {refused!r} was given to a CPMpy rule that makes variables of its own "
                f"({', '.join(v.name for v in own[:5])}): its complement, that no values of them meet the rule, cannot "
                "be stated. Write the rule without them."
            )
        return Statement(tuple(parts), own)

    def _called(self, answer: Hashable) -> list[Any]:
        """The constraints that the user's function returns."""
        cp = load_cpmpy()
        try:
            result = self.rule(self.sites, answer)
        except Exception as error:
            raise ConstraintError(
                f"The CPMpy rule failed for the answer {answer!r}: {type(error).__name__}: {error}. It is called with "
                "an array of CPMpy variables, one per site, and the answer."
            ) from error
        if isinstance(result, cp.Model):
            if result.has_objective():
                raise ConstraintError(
                    f"The CPMpy rule returned a model with an objective ({result.objective_}) for the answer "
                    f"{answer!r}. A rule says which symbols are feasible, not which are best: leave the objective out."
                )
            result = result.constraints
        try:
            parts: list[Any] = load_cpmpy(".transformations.normalize").toplevel_list(result)
        except (AssertionError, cp.exceptions.CPMpyException) as error:
            raise ConstraintError(
                f"The CPMpy rule returned {str(result)[:200]} for the answer {answer!r}; expected a constraint, a list "
                "of constraints, or a cpmpy.Model."
            ) from error
        return parts

    def _ranged(self, relation: Relation) -> Any:
        """The constraints for some whole number of a range."""
        match relation:
            case Between(low=int(low), high=int(high)) if high - low < MOST_IN_A_RANGE:
                cp = load_cpmpy()
                return cp.any([cp.all(self._called(y)) for y in range(low, high + 1)])
        raise ConstraintError(
            f"The answer {relation!r} was given to a CPMpy rule, which takes ranges of at most {MOST_IN_A_RANGE} whole "
            "numbers. Say it in the rule: let the answer be ('<', 20), say, and let the rule look at its parts."
        )

    def _own(self, parts: Sequence[object], answer: object) -> tuple[Any, ...]:
        """The variables that are no sites."""
        named, used = dict(zip(self.names, self.sites, strict=True)), variables_of(parts)
        own = [variable for variable in used if named.get(variable.name) is not variable]
        if clash := [variable.name for variable in own if variable.name in named]:
            raise ConstraintError(
                f"The CPMpy rule for the answer {answer!r} is over variables of its own that are named like sites "
                f"({', '.join(clash[:5])}). Use the variables z that it is called with, or give yours other names."
            )
        if own and len(own) == len(used):
            raise ConstraintError(
                f"The CPMpy rule for the answer {answer!r} is over unknown variables alone "
                f"({', '.join(variable.name for variable in own[:5])}). It must be over the variables z that it is "
                "called with, one per site; others may only help to say it."
            )
        return tuple(own)

    def conjuncts(self, answer: Hashable) -> Iterator[Conjunct]:
        for part in self.statement(answer).parts:
            yield {variable.name for variable in variables_of([part])}, part

    def swapped(self, expressions: list[Any], variables: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(expressions, {id(self.sites[site]): variable for site, variable in variables.items()})

    def read(self, expression: Any) -> tuple[Piece, Any] | None:
        places = {id(variable): site for site, variable in enumerate(self.sites)}
        if expression.name == "alldifferent":
            return AllDifferent([places.get(id(variable), -1) for variable in expression.args]), True
        if expression.name not in SUMS:
            return None
        total, number = expression.args
        if getattr(total, "name", "") != "sum" or not hasattr(number, "__index__"):
            return None
        return Sum([places.get(id(variable), -1) for variable in total.args]), SUMS[expression.name](int(number))

    def stated(self, y: Tensor) -> str | None:
        statement = self.statement(self.key(int(y)))
        said = "\n".join(map(str, statement.parts))  # in which numpy shortens long tables
        return None if statement.own or "..." in said else said

    def evaluates(self, y: int) -> bool:
        """Whether states are evaluated for an answer (an id), without a solver."""
        return self._tape(y) is not None

    def _tape(self, y: int) -> tuple[tuple[Step, ...], tuple[int, ...]] | None:
        """The steps and numbers of an answer; None where its rule has variables of its own."""
        if y not in self._tapes:
            statement = self.statement(self.key(y))
            if statement.own:
                self._tapes[y] = None
            else:
                tape = Tape(statement.parts, {name: i for i, name in enumerate(self.names)})
                self._tapes[y] = self._shared.setdefault(tape.steps, tape.steps), tape.constants
        return self._tapes[y]

    def decide(self, y: int, codes: tuple[int, ...]) -> bool:
        """Whether a state is feasible, by CP-SAT."""
        if y not in self._models:
            remember_in(self._models, y, self.model(self.key(y)), MODELS_KEPT)
        known = self._models[y].holds(codes, SECONDS)
        if known is None:
            state = self.space.decode(torch.tensor([codes]))[0]
            raise ConstraintError(
                f"CP-SAT could not decide within {SECONDS:g} s whether {state!r} is feasible for the answer "
                f"{self.key(y)!r}. Write the rule with fewer variables of its own."
            )
        return known

    def model(self, answer: Hashable) -> CPSATModel:
        """A new model of what the rule says for an answer."""
        return CPSATModel(self.sites, self.numbers, self.statement(answer).parts)


def load_cp_model() -> Any:
    """OR-tools' module, imported when it is first needed."""
    return load("ortools.sat.python.cp_model", "CP-SAT", "ortools", InverseError)


class CPSATModel:
    """Constraints translated for CP-SAT once; a caller narrows the domains of the sites."""

    def __init__(self, sites: Any, numbers: Sequence[Sequence[int]], parts: Sequence[Any]) -> None:
        cp = load_cpmpy()
        untranslated = (cp.exceptions.CPMpyException, NotImplementedError, ArithmeticError, ValueError, AssertionError)
        try:
            solver = cp.SolverLookup.get("ortools", cp.Model(list(parts)))
            self.sites = list(solver.solver_vars(list(sites)))
        except untranslated as error:
            raise _refused(parts, f"{type(error).__name__}: {error}") from error
        self.native, self.numbers = solver.ort_model, numbers
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
        """Whether some values of the other variables go with a state; None if the time was too short to find out."""
        cp = load_cp_model()
        solver = cp.CpSolver()
        solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, seconds
        with self._turn:
            self.fix(codes, ())
            status = solver.solve(self.native)
        return None if status == cp.UNKNOWN else status != cp.INFEASIBLE


def _refused(parts: Sequence[object], why: str) -> ConstraintError:
    return ConstraintError(f"CP-SAT cannot take the CPMpy constraints {str(parts)[:200]}: {why[:200].strip()}.")
