r"""A rule given as a Z3 formula: z ∈ S_y where the formula holds.

``formula(z, y)`` is called with a list ``z`` of one Z3 Int expression per site and with the answer in its exact
form (an int, a :class:`fractions.Fraction`, a string or a tuple of these). An expression stands for the symbol
itself where the site's alphabet is all ints, else for the symbol's position in that alphabet; it is a constant
where the site is free and a numeral (``z3.IntVal``) where it is known. The formula returns a Z3 Bool, a Python
bool, or a list of these, which must all hold. It may use constants of its own; they count as existentially
quantified.

Of an answer that is a relation (:mod:`~softground.constraints.answers`) the formula is made: a disjunction for one of
several answers, a negation for a complement, and for a range the formula is called with a Z3 Real constant ``y``.

>>> from softground.spaces import Categorical
>>> space = Categorical([range(10), range(10)])
>>> total = SMT(lambda z, y: z[0] + z[1] == y, space)
>>> y = total.encode([18, 3])
>>> total.feasible(space.encode([(9, 9), (1, 1)]), y).tolist()
[True, False]
"""

import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import Between, Interned, Not, Relation, complements, remember_in, resolve
from .base import Constraint, Part, of_symbols
from .parted import Conjunct, Parted
from .terms import Terms, compared, constants, load_z3, members, terms_of

__all__ = ["SMT", "Terms", "load_z3"]

CACHE_LIMIT = 2**20  # states whose feasibility is remembered; one of length 7 takes about 200 bytes
POINT_RLIMIT = 20_000_000  # Z3's measure of work, for a state that simplification left undecided: some 10 s


class SMT(Parted):
    """The constraint z ∈ S_y ⇔ formula(z, y).

    ``answers`` is another statement of the same rule, whose encoded answers this one understands: a task may then use a
    fast :class:`~softground.constraints.Program` to check states and this formula to invert projections.
    """

    def __init__(
        self, formula: Callable[[list[Any], Any], Any], space: Categorical, *, answers: Constraint | None = None
    ) -> None:
        self.formula, self.space, self.shared = formula, of_symbols(space), answers
        self.token = uuid.uuid4().hex  # names this rule in a worker process's store of warm solvers
        self._forget()

    def _forget(self) -> None:
        self._answers = Interned()
        self._cache: dict[tuple[int, tuple[int, ...]], bool] = {}
        self._terms: Terms | None = None
        self._complements: set[Not] = set()  # those that can be stated
        self._looked = False  # whether a formula was seen to be about the sites
        self._rules, self._split, self._coded = {}, {}, {}

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs. Z3's expressions cannot travel, and answers go along with each query."""
        return {"formula": self.formula, "alphabets": self.space.alphabets, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.formula, self.token, self.shared = state["formula"], state["token"], None
        self.space = Categorical(state["alphabets"])
        self._forget()

    def encode(self, answers: Sequence[Any]) -> Tensor:
        return super().encode(answers) if self.shared is None else self.shared.encode(answers)

    def answer(self, y: Tensor) -> Any:
        return super().answer(y) if self.shared is None else self.shared.answer(y)

    def compute(self, z: Tensor) -> list[Any]:
        return super().compute(z) if self.shared is None else self.shared.compute(z)

    def key(self, y: int) -> Hashable:
        return super().key(y) if self.shared is None else self.shared.key(y)

    def stated(self, y: Tensor) -> str:
        return str(self.expression(self.key(int(y)), [0] * self.space.sites, range(self.space.sites)).sexpr())

    @property
    def negates(self) -> bool:
        return super().negates if self.shared is None else self.shared.negates

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Exact, by evaluating the formula on each state; results are remembered by state and answer."""
        points = [(i, tuple(row)) for i, row in zip(y.tolist(), z.tolist(), strict=True)]
        return torch.tensor([self._holds(*point) for point in points], dtype=torch.bool, device=z.device)

    def admissible(self, z: Tensor) -> Tensor:
        return super().admissible(z) if self.shared is None else self.shared.admissible(z)

    def terms(self) -> Terms:
        """The space's constants and numerals in Z3's main context, made once per process."""
        if self._terms is None:
            self._terms = terms_of(self.space)
        return self._terms

    def expression(self, answer: Any, codes: Sequence[int], free: Sequence[int] = ()) -> Any:
        """The formula with every site known but the ``free`` ones: a Z3 Bool in the main context.

        Known sites are numerals, so that the formula itself can specialise and the solver gets little to do.
        """
        terms = self.terms()
        z = [numerals[code] for numerals, code in zip(terms.numerals, codes, strict=True)]
        for site in free:
            z[site] = terms.variables[site]
        if not isinstance(answer, Relation | None):
            formula = self._formula(z, answer)
            if len(free) == len(z) and not self._looked:
                self._look(formula, answer)
            return formula
        for part in complements(answer):
            self._check_complement(part)
        return resolve(answer, partial(self._formula, z), partial(self._ranged, z), load_z3().BoolVal(True))

    def parts(self) -> list[Part]:
        return super().parts() if self.shared is None else []

    def conjuncts(self, answer: Hashable) -> Iterator[Conjunct]:
        free = range(self.space.sites)
        places = {str(variable): site for site, variable in enumerate(self.terms().variables)}
        for formula in members(self.expression(answer, [0] * self.space.sites, free)):
            names = constants(formula)
            yield {places[name] for name in names & places.keys()}, names - places.keys(), formula

    def restricted(self, space: Categorical) -> Parted:
        def formula(z: list[Any], described: Any) -> Any:
            here = zip(described[0], z, strict=True)
            swaps = [(self.terms().variables[site], term) for site, term in here]
            return [load_z3().substitute(said, *swaps) for said in self.said(*described)]

        return SMT(formula, space)

    def read(self, expression: Any) -> tuple[str, list[int], int] | None:
        return compared(expression, self.terms().variables)

    def _ranged(self, z: list[Any], relation: Relation) -> Any:
        """The formula for some number of a range."""
        z3 = load_z3()
        if not isinstance(relation, Between):
            raise ConstraintError(
                f"The answer {relation!r} was given to a Z3 rule, which cannot tell what an answer contains. Say it in "
                "the formula: let the answer be what is contained."
            )
        y = z3.Real("softground.answer")
        bounds = [(relation.low, y.__ge__), (relation.high, y.__le__)]
        return z3.And(
            self._formula(z, y), *(side(z3.Q(*bound.as_integer_ratio())) for bound, side in bounds if bound is not None)
        )

    def _check_complement(self, answer: Not) -> None:
        """Refuse the complement of 'there is …', which Z3 would have to read as 'for all …'."""
        names = {str(variable) for variable in self.terms().variables}
        if answer in self._complements:
            return
        free = range(self.space.sites)
        inner = self.expression(answer.answer, [0] * self.space.sites, free)
        own = constants(inner) - names
        if own:
            raise ConstraintError(
                f"The answer {answer!r} was given to a Z3 rule whose formula uses constants of its own "
                f"({', '.join(sorted(own))}): its complement cannot be stated. Write the formula without them, and "
                "list answers instead of a range: Not(OneOf(…))."
            )
        self._complements.add(answer)

    def _formula(self, z: list[Any], answer: Any) -> Any:
        """What the user's formula says, as one Z3 Bool."""
        z3 = load_z3()
        try:
            result = self.formula(z, answer)
        except MemoryError:
            raise  # no fault of the formula: whoever set a limit counts it
        except Exception as error:
            if isinstance(error, z3.Z3Exception) and "out of memory" in str(error):
                raise MemoryError(str(error)) from error
            raise ConstraintError(
                f"The Z3 formula failed for the answer {answer!r} with {[str(e) for e in z]!r}: "
                f"{type(error).__name__}: {error}. It must accept Z3 Int constants and numerals at every site."
            ) from error
        parts = list(result) if isinstance(result, list | tuple) else [result]
        if not all(isinstance(part, bool) or z3.is_bool(part) for part in parts):
            raise ConstraintError(
                f"The Z3 formula returned {result!r}; expected a Z3 Bool, a Python bool, or a list of these."
            )
        if all(isinstance(part, bool) for part in parts):
            return z3.BoolVal(all(parts))
        return parts[0] if len(parts) == 1 else z3.And(*parts)

    def _look(self, formula: Any, answer: Any) -> None:
        """Refuse a formula that is about other constants than the sites."""
        names, sites = constants(formula), {str(variable) for variable in self.terms().variables}
        if names and not names & sites:
            said = ", ".join(sorted(names))
            raise ConstraintError(
                f"The Z3 formula for the answer {answer!r} is over unknown constants alone ({said}). It must be over "
                "the expressions z that it is called with, one per site; others may only help to say it."
            )
        self._looked = True

    def _holds(self, y: int, codes: tuple[int, ...]) -> bool:
        known = self._cache.get((y, codes))
        if known is None:
            known = self._decide(y, codes)
            remember_in(self._cache, (y, codes), known, CACHE_LIMIT)
        return known

    def _decide(self, y: int, codes: tuple[int, ...]) -> bool:
        z3 = load_z3()
        value = z3.simplify(self.expression(self.key(y), codes))
        if z3.is_true(value) or z3.is_false(value):
            return bool(z3.is_true(value))
        solver = z3.Solver()
        solver.set(rlimit=POINT_RLIMIT)
        solver.add(value)
        status = solver.check()
        if status == z3.sat or status == z3.unsat:
            return bool(status == z3.sat)
        state = self.space.decode(torch.tensor([codes]))[0]
        raise ConstraintError(
            f"Z3 could not decide whether {state!r} is feasible for the answer {self.key(y)!r} ('{status}': "
            f"{solver.reason_unknown()}). Avoid quantifiers and non-linear constraints on the formula's own constants."
        )
