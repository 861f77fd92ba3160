"""Formulas too long to tabulate: fibres over windows or by enumeration, first states from the values alone.

A chain needs a feasible z to begin with, and random symbols hardly ever give a value such as 5133/40. So the first
L − 8 symbols are drawn at random, an operator follows, and a formula of length 7 that supplies what is missing is
looked up among all of them.

- After + or − that is y − P, where P is the prefix's value.
- After × or ÷ it is (y − N) / t, where t is the prefix's last term and N what comes before it. Then the suffix is a
  single term.

Values that no draw finds have a rare denominator or are large. One term makes them so, and is taken off first
(:mod:`~softground.tasks.formulas.terms`). No label is looked at.
"""

from fractions import Fraction
from functools import cache

import torch
from torch import Tensor

from ...constraints.program import Program
from ...errors import InverseError
from ...inverses.base import Fibre, Inverse, Start
from ...inverses.enumeration import Enumeration
from ...preparing import preparing
from ...projections.base import Dropped
from .rule import formula_space, value
from .terms import DIVIDE, TIMES, Peeled, peeled, whole_term
from .windows import is_window, window_fibre

SUFFIX_LENGTH = 7
DENOMINATOR_BOUND = 8192  # above the denominator of any formula of length 7, or of what it divides by: 9⁴
FACTOR_BOUND = 2**31  # numbers below this can be multiplied in 64 bits
ABSENT_KEY = -(2**62)
DRAWS_PER_TURN = 64  # prefixes for each formula, or more where few formulas are left
PREFIXES_TOGETHER = 2**16  # of all formulas
# The operator before the suffix, and whether the prefix may divide. Without division P is a whole number, and y − P has
# y's own denominator.
TURNS = [(operator, divides) for operator in range(4) for divides in (False, True)]
# Rests of formulas that are looked for by prefixes: at most so many for each term's length, the simplest, by so many
# draws each; where these find nothing, by more.
EFFORTS = ((8, 512), (64, 4096))
REST_DENOMINATOR, REST_SIZE = 1000, 5000


class Suffixes:
    """All formulas of a length, sorted by what they contribute after an operator."""

    def __init__(self, operator: int, length: int = SUFFIX_LENGTH) -> None:
        space = formula_space(length)
        states = space.states(torch.arange(space.size))
        if operator >= TIMES:
            states = states[(states[:, 1::2] >= TIMES).all(1)]
        before = torch.full((len(states),), int(operator >= TIMES))  # 0 to add to, 1 to multiply
        top, bottom = value(before, torch.full_like(before, operator), *space.arguments(states))
        self.keys, order = torch.sort(top * DENOMINATOR_BOUND + bottom, stable=True)
        self.states = states[order]

    def find(self, top: Tensor, bottom: Tensor) -> tuple[Tensor, Tensor]:
        """Where those that contribute ``top / bottom`` (lowest terms) begin and end in ``states``."""
        fits = (bottom < DENOMINATOR_BOUND) & (top.abs() < FACTOR_BOUND)
        key = torch.where(fits, top * DENOMINATOR_BOUND + bottom, ABSENT_KEY)
        return torch.searchsorted(self.keys, key), torch.searchsorted(self.keys, key, right=True)


suffixes = cache(Suffixes)


class LongFormulas(Inverse):
    """Fibres over windows (:mod:`.windows`) or by enumeration; first states by prefix and suffix, and by terms.

    ``draws`` prefixes are tried per formula.

    >>> from softground.tasks.formulas import formula_program
    >>> program = formula_program(15)
    >>> y = program.encode([5133, -7])
    >>> start = LongFormulas(program).start(y, seed=0)
    >>> start.found.tolist(), program.feasible(start.z, y).tolist()
    ([True, True], [True, True])
    """

    def __init__(self, program: Program, *, draws: int = 4_096) -> None:
        if program.space.sites <= SUFFIX_LENGTH:
            raise InverseError(f"Formulas of {program.space.sites} symbols are not long; use Enumeration, or a Table.")
        self.space, self.constraint, self.program, self.draws = program.space, program, program, draws
        self._enumeration = Enumeration(program.space, program)

    def __repr__(self) -> str:
        return f"LongFormulas({self.space!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        if self.program.answers.plain and is_window(dropped):
            return window_fibre(self.program, z, y, dropped)
        return self._enumeration.fibre(z, y, dropped)

    def pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        return self._enumeration.pinned(y, seed, known)

    def start(self, y: Tensor, seed: int) -> Start:
        generator = torch.Generator().manual_seed(seed)
        if (other := self.program.answers.inexact(y)) is not None:
            return self._mixed(y, ~other, seed)
        top, bottom = self.program.numbers(y).cpu().unbind(1)
        z, found = by_prefix(self.space.sites, top, bottom, self.draws, generator)
        rest = (~found).nonzero().flatten().tolist()
        with preparing("First states", len(rest)) as done:
            for number, row in enumerate(rest):
                done(number)
                state = by_term(Fraction(int(top[row]), int(bottom[row])), self.space.sites, generator)
                if state is not None:
                    z[row], found[row] = torch.tensor(state), True
        return Start(z.to(y.device), found.to(y.device), torch.zeros_like(found).to(y.device))

    def _mixed(self, y: Tensor, exact: Tensor, seed: int) -> Start:
        """Relations admit so much that random prefixes meet them."""
        parts = [self.start(y[exact], seed), self._enumeration.start(y[~exact], seed)]
        order = torch.cat([exact.nonzero().flatten(), (~exact).nonzero().flatten()]).argsort()
        return Start(*(torch.cat([getattr(p, name) for p in parts])[order] for name in ("z", "found", "proved")))


def by_prefix(
    length: int, top: Tensor, bottom: Tensor, draws: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Formulas with the values ``top / bottom``, and which were found."""
    z, found = torch.zeros(len(top), length, dtype=torch.long), torch.zeros(len(top), dtype=torch.bool)
    fits = _narrow(top, bottom)
    turn = 0
    while draws > 0 and len(rest := (fits & ~found).nonzero().flatten()):
        each = max(DRAWS_PER_TURN, min(draws // len(TURNS), PREFIXES_TOGETHER // len(rest)))
        for rows in torch.split(rest, PREFIXES_TOGETHER // each):
            z[rows], found[rows] = _tried(length, top[rows], bottom[rows], each, *TURNS[turn % len(TURNS)], generator)
        draws, turn = draws - each, turn + 1
    return z, found


def by_term(y: Fraction, length: int, generator: torch.Generator) -> list[int] | None:
    """A formula of the value y, one of whose terms is gone through; None where none was found."""
    digits = (length + 1) // 2
    for most, draws in EFFORTS:
        for count in range(1, digits):
            rest, left = length - 2 * count, digits - count
            if rest > SUFFIX_LENGTH:
                some = sorted(peeled(y, count, denominator=REST_DENOMINATOR, size=REST_SIZE), key=_simplicity)[:most]
                found = _drawn(some, rest, draws, generator)
            else:
                found = _looked_up([*peeled(y, count, denominator=9 ** (left - 1), size=9**left)], rest)
            if found is not None:
                return found
    return whole_term(y, digits)


def _looked_up(ways: list[Peeled], length: int) -> list[int] | None:
    """The formula of the first way whose rest is one of all formulas of this length."""
    top, bottom = _parts(ways)
    known = suffixes(0, length)
    first, last = known.find(top, bottom)
    hit = (last > first).nonzero().flatten().tolist()
    return ways[hit[0]].joined(known.states[first[hit[0]]].tolist()) if hit else None


def _drawn(ways: list[Peeled], length: int, draws: int, generator: torch.Generator) -> list[int] | None:
    """The formula of the first way whose rest prefixes find."""
    z, found = by_prefix(length, *_parts(ways), draws, generator)
    hit = found.nonzero().flatten().tolist()
    return ways[hit[0]].joined(z[hit[0]].tolist()) if hit else None


def _parts(ways: list[Peeled]) -> tuple[Tensor, Tensor]:
    pairs = [(way.rest.numerator, way.rest.denominator) for way in ways]
    top, bottom = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
    return top, bottom


def _simplicity(way: Peeled) -> tuple[int, Fraction]:
    return way.rest.denominator, abs(way.rest)


def _tried(
    length: int, top: Tensor, bottom: Tensor, draws: int, operator: int, divides: bool, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """So many draws for each of these values: a state, and whether one was found."""
    prefix, known = length - SUFFIX_LENGTH - 1, suffixes(operator)
    sizes = torch.tensor(formula_space(length).sizes[:prefix])
    sizes[1::2] = DIVIDE + 1 if divides else DIVIDE
    drawn = (torch.rand(len(top), draws, prefix, generator=generator) * sizes).long()
    first, last = known.find(*missing(top[:, None], bottom[:, None], drawn, operator))
    hit = torch.where(last > first, torch.rand(first.shape, generator=generator), -1.0).argmax(1, keepdim=True)
    first, last = first.gather(1, hit)[:, 0], last.gather(1, hit)[:, 0]
    place = first + (torch.rand(len(top), generator=generator, dtype=torch.float64) * (last - first)).long()
    head = drawn.gather(1, hit[..., None].expand(-1, -1, prefix)).squeeze(1)
    tail = known.states[place.clamp(max=len(known.states) - 1)]
    return torch.cat([head, torch.full((len(top), 1), operator), tail], 1), last > first


def missing(top: Tensor, bottom: Tensor, drawn: Tensor, operator: int) -> tuple[Tensor, Tensor]:
    """What a suffix must contribute after prefixes ``drawn[rows, draws, sites]``, as a fraction in lowest terms.

    What would not fit into 64 bits on the way gets the denominator :data:`DENOMINATOR_BOUND`, which no suffix has.
    """
    symbols = formula_space(drawn.shape[-1]).arguments(drawn)
    p, q = value(*symbols)
    n, m = value(*symbols, torch.full_like(p, TIMES), torch.zeros_like(p))  # the last term times 0
    fits = _narrow(p, q) & _narrow(n, m)
    p, q, n, m = (torch.where(fits, part, other) for part, other in ((p, 1), (q, 1), (n, 0), (m, 1)))
    if operator < TIMES:
        above, below = top * q - p * bottom, bottom * q
    else:  # (y − N) / t, each part in lowest terms before it is multiplied
        rest, under = _lowest(top * m - n * bottom, bottom * m)
        term, over = _lowest(p * m - n * q, q * m)
        (rest, term), (over, under) = _lowest(rest, term), _lowest(over, under)
        fits = fits & _narrow(rest, term) & _narrow(over, under)
        above, below = torch.where(fits, rest * over, 1), torch.where(fits, term * under, 1)
    above, below = _lowest(above, below)
    return above, torch.where(fits, below, DENOMINATOR_BOUND)


def _narrow(top: Tensor, bottom: Tensor) -> Tensor:
    return (top.abs() < FACTOR_BOUND) & (bottom < FACTOR_BOUND)


def _lowest(top: Tensor, bottom: Tensor) -> tuple[Tensor, Tensor]:
    """Lowest terms, the denominator positive."""
    shared = torch.gcd(top, bottom) * bottom.sign()
    return top // shared, bottom // shared


def enumeration(program: Program) -> Inverse:
    """Enumeration, with first states for long formulas."""
    return LongFormulas(program) if program.space.sites > SUFFIX_LENGTH else Enumeration(program.space, program)
