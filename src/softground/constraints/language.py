"""The base of rules in a modelling language, CPMpy or Z3, which are stated anew for each answer.

Such a rule is a conjunction, and each conjunct touches some of the sites. They may differ from answer to answer, as the
cages of Killer Sudoku do from board to board. So the parts are all sets of sites that the conjuncts of some answer
touch; an answer without conjuncts for a set does not restrict it. Conjuncts that share an auxiliary variable stay
together. A conjunct that is one of the usual parts becomes a :class:`~.pieces.Piece`.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import Interned, remember_in
from .base import Constraint, Part, of_symbols
from .pieces import Piece
from .relations import Between, Not

Sites = tuple[int, ...]
Conjunct = tuple[set[str], Any]  # an expression, and the names of the variables that it is over
Coded = dict[tuple[Constraint, Sites, int], int]  # by rule, sites and how many before it had both: the encoded answer
TOGETHER = 10_000  # states of some sites, up to which all conjuncts about them are one part
REMEMBERED = 2**12  # answers
CACHE_LIMIT = 2**20  # states whose feasibility is cached; one of length 7 takes about 200 bytes
SUMS: dict[str, Callable[[int], Any]] = {  # the relation of a comparison with a sum
    "==": lambda n: n,
    "<=": lambda n: Between(None, n),
    "<": lambda n: Between(None, n - 1),
    ">=": lambda n: Between(n),
    ">": lambda n: Between(n + 1),
    "!=": lambda n: Not(n),
}


def numbers(space: Categorical) -> tuple[tuple[int, ...], ...]:
    """The number of each code of each site: the symbol if a site's symbols are ints, else the code."""
    whole = [all(isinstance(symbol, int) for symbol in alphabet) for alphabet in space.alphabets]
    columns = [a if ints else range(len(a)) for a, ints in zip(space.alphabets, whole, strict=True)]
    return tuple(tuple(map(int, column)) for column in columns)  # type: ignore[arg-type]


class LanguageRule(Constraint):
    """A rule that is stated for one answer after the other; its parts are those of the answers encoded so far.

    The rule of an unusual part states the same as this one: its answers are ``(sites, answer,
    which)``, and mean the conjuncts about these sites that this rule has for that answer.
    """

    def __init__(self, rule: Callable[[Any, Any], Any], space: Categorical) -> None:
        self.rule, self.space = rule, of_symbols(space)
        self.token = uuid.uuid4().hex  # names this rule in a worker process's store of solvers
        self.numbering = self._answers = Interned()
        self._cache: dict[tuple[int, tuple[int, ...]], bool] = {}
        self._rules: dict[Hashable, Constraint] = {}  # of parts
        self._by_sites: dict[Hashable, dict[Sites, list[list[Any]]]] = {}
        self._part_codes: dict[int, Coded] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs. A solver's expressions cannot travel, and answers go along with each query."""
        return {"rule": self.rule, "alphabets": self.space.alphabets, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["rule"], Categorical(state["alphabets"]))  # type: ignore[misc]
        self.token = state["token"]

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        return self._answers.encode(answers)

    def answer(self, y: Tensor) -> Any:
        return self._answers.given[int(y)]

    def key(self, y: int) -> Hashable:
        answer: Hashable = self._answers.pattern(y)
        return answer

    @property
    def negates(self) -> bool:
        return self._answers.negates

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Exact, one state after the other; results are remembered by state and answer."""
        points = zip(y.tolist(), map(tuple, z.tolist()), strict=True)
        return torch.tensor([self._holds(*point) for point in points], dtype=torch.bool, device=z.device)

    def _holds(self, y: int, codes: tuple[int, ...]) -> bool:
        known = self._cache.get((y, codes))
        if known is None:
            known = self.decide(y, codes)
            remember_in(self._cache, (y, codes), known, CACHE_LIMIT)
        return known

    def admissible(self, z: Tensor) -> Tensor:
        """Whether z is feasible for one of the answers **encoded so far**: a rule does not say which answers exist.

        It is exact for a rule that ignores y, such as Sudoku's; otherwise it tries the answers one after the other.
        """
        answers = [i for i in self._answers.given if i >= 0]
        if not answers:
            raise ConstraintError(
                f"admissible() of a {type(self).__name__} rule looks among the answers encoded so far, and there are "
                "none. Call encode() with the answers first (any answer will do for a rule that ignores y)."
            )
        found = torch.zeros(len(z), dtype=torch.bool, device=z.device)
        for i in answers:
            left = (~found).nonzero().flatten()
            found[left] = self.feasible(z[left], torch.full_like(left, i))
        return found

    @cached_property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """The number that each code of each site stands for."""
        return numbers(self.space)

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the sites' variables."""

    @abstractmethod
    def decide(self, y: int, codes: tuple[int, ...]) -> bool:
        """Whether a state is feasible for an encoded answer, found by a solver if need be."""

    @abstractmethod
    def conjuncts(self, answer: Hashable) -> Iterable[Conjunct]:
        """What must hold together for an answer."""

    @abstractmethod
    def swapped(self, expressions: list[Any], variables: dict[int, Any]) -> list[Any]:
        """Expressions with other variables in place of those of some sites."""

    @abstractmethod
    def read(self, expression: object) -> tuple[Piece, Any] | None:
        """The piece that an expression is, a sum or all-different, and its answer; a site of −1 is no site. None where
        the expression says something else."""

    def as_piece(self, expression: object, sites: Sites) -> tuple[Piece, Any] | None:
        """The piece that an expression is, if it is one of all these sites, and its answer."""
        whole = all(isinstance(symbol, int) for site in sites for symbol in self.space.alphabets[site])
        found = self.read(expression) if whole else None
        return found if found is not None and sorted(found[0].sites) == list(sites) else None

    def parts(self) -> list[Part]:
        codes = dict.fromkeys(key for i in list(self._answers.given) for key in self.part_codes(i))
        if len({sites for _, sites, _ in codes}) < 2:
            return []
        return [Part(key[1], key[0], partial(self._part_answers, key)) for key in codes]

    def _part_answers(self, key: tuple[Constraint, Sites, int], y: Tensor) -> Tensor:
        """A part's encoded answers, given those of the whole rule; where an answer has no such part, anything goes."""
        codes = [self.part_codes(i).get(key) for i in y.tolist()]
        codes = [int(key[0].encode([None])) if code is None else code for code in codes]
        return torch.tensor(codes, dtype=torch.long, device=y.device)

    def expressions(self, sites: Sites, answer: Hashable, which: int) -> list[Any]:
        """The expressions that a part's answer stands for."""
        groups = self.by_sites(answer).get(sites, [])
        return groups[which] if which >= 0 else [expression for group in groups for expression in group]

    def by_sites(self, answer: Hashable) -> dict[Sites, list[list[Any]]]:
        """The expressions about each set of sites, in groups, each of which has variables of its own."""
        found = self._by_sites.get(answer)
        if found is None:
            found = _joined(self.conjuncts(answer), self.names)
            remember_in(self._by_sites, answer, found, REMEMBERED)
        return found

    def part_codes(self, i: int) -> Coded:
        """The encoded answers of the parts that answer ``i`` has."""
        if i not in self._part_codes:
            found: Coded = {}
            for sites, groups in self.by_sites(key := self._answers.pattern(i)).items():
                space = Categorical([self.space.alphabets[site] for site in sites])
                whole = len(groups) == 1 or space.size <= TOGETHER
                for which in [-1] if whole else range(len(groups)):
                    rule, code = self._part(sites, space, key, which)
                    turn = sum(known[:2] == (rule, sites) for known in found)
                    found[rule, sites, turn] = code
            self._part_codes[i] = found
        return self._part_codes[i]

    def _part(self, sites: Sites, space: Categorical, answer: Hashable, which: int) -> tuple[Constraint, int]:
        """The rule of a part and its encoded answer."""
        expressions = self.expressions(sites, answer, which)
        piece = self.as_piece(expressions[0], sites) if len(expressions) == 1 else None
        if piece is not None:
            kind = piece[0].kind, space.alphabets
            if kind not in self._rules:
                self._rules[kind] = piece[0].rule(space)
            return self._rules[kind], int(self._rules[kind].encode([piece[1]]))
        if space.alphabets not in self._rules:
            self._rules[space.alphabets] = type(self)(self._restated, space)
        own = self._rules[space.alphabets]
        assert isinstance(own, LanguageRule)
        return own, int(own._answers.encode([(sites, answer, which)], key=lambda described: described))

    def _restated(self, z: Any, described: tuple[Sites, Hashable, int]) -> list[Any]:
        """What the rule over the sites of a part says for an answer that is described above."""
        return self.swapped(self.expressions(*described), dict(zip(described[0], z, strict=True)))


def _joined(conjuncts: Iterable[Conjunct], sites: list[str]) -> dict[Sites, list[list[Any]]]:
    """Conjuncts by the sites that they touch; those that share other variables form a group."""
    places = {name: site for site, name in enumerate(sites)}
    groups: list[tuple[set[str], list[Any]]] = []
    for names, expression in conjuncts:
        own = names - places.keys()
        tied = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        together = [*(each for group in tied for each in group[1]), expression]
        groups.append((names.union(*(group[0] for group in tied)), together))
    found: dict[Sites, list[list[Any]]] = {}
    for names, expressions in groups:
        found.setdefault(tuple(sorted(places[name] for name in names & places.keys())) or (0,), []).append(expressions)
    return found
