r"""Completions of formulas without a table: over windows of neighbouring symbols, or of all symbols, from the value.

**By one term.** A formula is a sum of terms, products and quotients of digits. Terms have few values: with j digits

.. math:: t = 2^a\, 3^b\, 5^c\, 7^d ,

26,073 of them for nine digits, against 10¹⁴ ways to write them. So all values t of a term are gone through, and what is
left, y − t or y + t, is looked for among all formulas of the remaining length where these can be listed (7 symbols). As
terms may change places, nothing is missed there. Otherwise random prefixes look for it (below), the simplest ones
first: a rest without the rare denominator or the size that made y hard to find.

Whether t − … can take a denominator away is seen from its exponents: where those of a prime p differ,
:math:`v_p(y \mp t) = \min(v_p(y), v_p(t))`. Only what is left after that is computed, exactly.

**Windows.** A window begins and ends with a digit. With the other symbols fixed, the value of a formula is linear in
what the window contributes to the term that it continues and to the term that goes on after it:

.. math:: \alpha + \tau f(v) + m(v) + \rho\, g(v), \qquad\text{or}\qquad \alpha + \tau\rho\, f(v)

if the window is a single factor, with f its first term, g its last and m what is between. τ is the (signed) term before
the window, ρ the factor after it and α all the rest. f has the window's first digit d as a factor, :math:`f = d^{\pm 1}
\varphi`, so everything but d is gone through, and d follows by division: 1,296 candidates for a window of 5 instead of
11,664, from one product of matrices.

Double precision only discards candidates: whole numbers decide about those that are left (:mod:`.rule`).

**First states**, from the values of formulas too long to tabulate. A chain needs a feasible z to begin with, and random
symbols hardly ever give a value such as 5133/40. So the first L − 8 symbols are drawn at random, an operator follows,
and a formula of length 7 that supplies what is missing is looked up among all of them.

- After + or − that is y − P, where P is the prefix's value.
- After × or ÷ it is (y − N) / t, where t is the prefix's last term and N what comes before it. Then the suffix is a
  single term.

Values that no draw finds have a rare denominator or are large. One term makes them so, and is taken off first. No
label is looked at.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from ...constraints.program import Program
from ...errors import InverseError
from ...inverses.base import Fibre, Inverse, Start, pinned
from ...inverses.enumeration import Enumeration
from ...preparing import preparing
from ...projections.base import Dropped
from .data.alphabet import DIGITS
from .rule import formula_space, value

PRIMES = (2, 3, 5, 7)
BASE = 256  # exponents are written as one whole number; none is beyond ±127
MINUS, TIMES, DIVIDE = 1, 2, 3  # the operators' codes are 0 … 3 for + − × ÷
ABSENT = 127  # the exponents of 0
TOLERANCE = 1e-11  # of the largest number on the way: 10⁴ roundings, and more
CERTAIN = 0.4  # largest error that still distinguishes a digit from the next
TOGETHER, CACHED = 2**24, 2**16  # candidates tried at a time on a GPU, and on a CPU, where they fit into the cache
SUFFIX_LENGTH = 7
DENOMINATOR_BOUND = 8192  # above the denominator of any formula of length 7, or of what it divides by: 9⁴
FACTOR_BOUND = 2**31  # numbers below this can be multiplied in 64 bits
ABSENT_KEY = -(2**62)
DRAWS_PER_TURN = 64  # prefixes for each formula, or more where few formulas are left
PREFIXES_TOGETHER = 2**16  # of all formulas
# The operator before the suffix, and whether the prefix may divide. Without division P is a whole number, and y − P has
# y's own denominator.
TURNS = [(operator, divides) for operator in range(4) for divides in (False, True)]
# Rests of formulas that are looked for by prefixes: at most this many of each term's length, the simplest first, with
# this many draws each; if these find nothing, with more.
EFFORTS = ((8, 512), (64, 4096))
REST_DENOMINATOR, REST_SIZE = 1000, 5000


class Peeled(NamedTuple):
    """y = t + rest, t − rest or rest − t, with t a term of ``digits`` digits."""

    term: int
    digits: int
    operator: int  # before the rest, or before the term where that comes last
    last: bool
    rest: Fraction

    def joined(self, rest: list[int]) -> list[int]:
        """The codes of the whole formula, given those of the rest."""
        term = written(self.term, self.digits)
        if self.last:
            return [*rest, self.operator, *term]
        if self.operator == MINUS:  # which changes the sign of all that follows
            rest = [1 - code if site % 2 and code <= MINUS else code for site, code in enumerate(rest)]
        return [*term, self.operator, *rest]


@cache
def term_values(digits: int) -> Tensor:
    """The values of all terms of this many digits, sorted by what they are written as.

    >>> [len(term_values(digits)) for digits in (1, 2, 3)]
    [9, 82, 357]
    """
    factors = torch.tensor([_digit(digit) for digit in range(1, 10)])
    shorter = torch.zeros(1, 1, dtype=torch.long) if digits == 1 else term_values(digits - 1)[:, None]
    found: Tensor = torch.unique(
        torch.cat([shorter + factors, shorter - factors] if digits > 1 else [shorter + factors])
    )
    return found


def exponents(terms: Tensor) -> Tensor:
    """The exponents of 2, 3, 5 and 7, ``[…, 4]``."""
    found = []
    for _ in PRIMES:
        found.append((terms + BASE // 2) % BASE - BASE // 2)
        terms = torch.div(terms - found[-1], BASE, rounding_mode="floor")
    return torch.stack(found, -1)


def written(term: int, digits: int) -> list[int]:
    """One way to write a term's value with this many digits, as codes.

    >>> written(int(term_values(2)[0]), 2)
    [0, 3, 6]
    """
    symbols: list[int] = []
    for shorter in range(digits - 1, 0, -1):
        known = term_values(shorter)
        ways = [(term - sign * _digit(d), op, d) for d in range(1, 10) for sign, op in ((1, TIMES), (-1, DIVIDE))]
        wanted = torch.tensor([way[0] for way in ways])
        place = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
        term, operator, digit = ways[int((known[place] == wanted).to(torch.uint8).argmax())]
        symbols = [operator, digit - 1, *symbols]
    return [next(d - 1 for d in range(1, 10) if _digit(d) == term), *symbols]


def whole_term(y: Fraction, digits: int) -> list[int] | None:
    """The formula that is one term, if there is one."""
    known, term = term_values(digits), _code(y)
    return None if y <= 0 or term is None or not bool((known == term).any()) else written(term, digits)


def peeled(y: Fraction, digits: int, denominator: int, size: int) -> Iterator[Peeled]:
    """All ways to take a term of ``digits`` digits off y that leave a rest within these bounds."""
    terms = term_values(digits)
    powers = exponents(terms)
    own = torch.tensor(_valuations(y))
    low = torch.where(powers == own, 0, torch.minimum(powers, own)).clamp(max=0)
    logs = torch.tensor([math.log(p) for p in PRIMES], dtype=torch.float64)
    value = (powers * logs).sum(-1).exp()
    simple = -(low * logs).sum(-1) <= math.log(denominator) + 1e-9
    for sign in (-1, 1):
        near = (float(y) + sign * value).abs() <= size * (1 + 1e-6) + 1e-6 * abs(float(y))
        kept = simple & near
        for term, factors in zip(terms[kept].tolist(), powers[kept].tolist(), strict=True):
            rest = y + sign * _product(factors)
            if rest.denominator > denominator or abs(rest) > size:
                continue
            if sign == 1:
                yield Peeled(term, digits, MINUS, True, rest)
            else:
                yield Peeled(term, digits, 0, False, rest)
                yield Peeled(term, digits, MINUS, False, -rest)


def _digit(digit: int) -> int:
    """A digit by its exponents, as one whole number: products of digits are sums of these."""
    code = _code(Fraction(digit))
    assert code is not None
    return code


def _code(value: Fraction) -> int | None:
    """A value by its exponents, as one whole number; None where another prime divides it."""
    found = _valuations(value)
    if _product(found) != value:
        return None
    return sum(e * int(BASE**place) for place, e in enumerate(found))


def _product(powers: list[int]) -> Fraction:
    """The value with these exponents."""
    above = math.prod(p**e for p, e in zip(PRIMES, powers, strict=True) if e > 0)
    return Fraction(above, math.prod(p**-e for p, e in zip(PRIMES, powers, strict=True) if e < 0))


def _valuations(value: Fraction) -> list[int]:
    """How often each prime divides a value."""
    return [_times(value.numerator, p) - _times(value.denominator, p) for p in PRIMES]


def _times(number: int, prime: int) -> int:
    count = 0
    while number and number % prime == 0:
        number, count = number // prime, count + 1
    return count if number else ABSENT


def is_window(dropped: Dropped) -> bool:
    """Whether every example drops neighbouring sites, at least three, of which the first and the last are digits."""
    first, places = dropped.sites[:, :1], torch.arange(dropped.count, device=dropped.sites.device)
    if dropped.count < 3 or dropped.count % 2 == 0:
        return False
    return bool(((first % 2 == 0) & (dropped.sites == first + places)).all())


def window_fibre(program: Program, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
    """F(u) where every example drops a window; it counts as incomplete where doubles cannot tell digits apart."""
    codes, basis = ends(dropped.count, z.device)
    equations, divides, error = _equations(program, z, y, dropped)
    # Where 1/d is wrong by the error, d is by at most d² times as much, and a little more.
    error = error * basis.abs().amax() * torch.where(divides, 100, 1)
    row, option, digit = _near(equations, divides, error, basis)
    order = ((row * len(DIGITS) + digit) * len(codes) + option).argsort()
    row, values = row[order], torch.cat([digit[:, None], codes[option]], 1)[order]
    kept = program.feasible(z[row].scatter(1, dropped.sites[row], values), y[row])
    # Discarded candidates go into an extra column, so that the GPU reports only one number, the largest count.
    seen = kept.long().cumsum(0)
    counts = torch.zeros_like(z[:, 0]).scatter_add(0, row, kept.long())
    most = int(counts.max()) if len(z) else 0
    place = torch.where(kept, seen - 1 - (counts.cumsum(0) - counts)[row], most)
    padded = torch.zeros(len(z), most + 1, dropped.count, dtype=torch.long, device=z.device)
    padded[row, place] = values
    mask = torch.arange(most, device=z.device) < counts[:, None]
    return Fibre(padded[:, :most].masked_fill(~mask[..., None], 0), mask, error <= CERTAIN)


@cache
def ends(length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """All windows of a length but for their first digit, in lexicographic order: codes ``[options, length − 1]``, and
    ``[4, options]`` with 1/φ where the window is several terms, g/φ, m/φ, and 1/φ where it is a single factor."""
    space = formula_space(length)
    states = space.states(torch.arange(space.size // len(DIGITS), device=device))  # whose first digit is 1
    symbols = [part.double() for part in space.arguments(states)]
    first, middle, term = torch.ones_like(symbols[0]), torch.zeros_like(symbols[0]), torch.ones_like(symbols[0])
    single = torch.ones_like(first, dtype=torch.bool)
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        closes = operator < TIMES
        middle = torch.where(closes & ~single, middle + term, middle)
        first = torch.where(closes & single, term, first)
        single = single & ~closes
        grown = torch.where(operator == TIMES, term * digit, term / digit)
        term = torch.where(closes, digit * (1 - 2 * operator), grown)
    several, first = ~single, torch.where(single, term, first)
    return states[:, 1:], torch.stack([several.double(), several * term, middle, single.double()]) / first


def around(symbols: Tensor, start: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """α, τ, ρ, whether the window's first digit divides, and the size of the largest term: ``[rows]`` each.

    ``symbols[rows, sites]`` are digits and operators' codes, ``start[rows]`` the first site of each window, which is
    left out: a term's logarithm is the sum of those of its digits.
    """
    digits, place = symbols[:, 0::2], torch.arange(0, symbols.shape[1], 2, device=symbols.device)
    operators = torch.cat([torch.zeros_like(digits[:, :1]), symbols[:, 1::2]], 1)  # that before each digit
    start = start[:, None]
    inside = (place >= start) & (place < start + length)
    closes = (operators < TIMES) & ((place <= start) | ~inside)
    logs = torch.where(operators == DIVIDE, -1.0, 1.0) * digits.double().log() * ~inside
    term = closes.long().cumsum(1) - 1  # the number of each digit's term
    signs = torch.zeros_like(logs).scatter_add(1, term, (closes * (1 - 2 * (operators == MINUS).long())).double())
    values = signs * torch.zeros_like(logs).scatter_add(1, term, logs).exp()
    own = term.gather(1, start // 2)
    tau = signs.gather(1, own)[:, 0] * (logs * ((term == own) & (place < start))).sum(1).exp()
    rho = (logs * ((term == own) & (place > start))).sum(1).exp()
    divides = operators.gather(1, start // 2)[:, 0] == DIVIDE
    return values.scatter(1, own, 0.0).sum(1), tau, rho, divides, values.abs().amax(1)


def _equations(program: Program, z: Tensor, y: Tensor, dropped: Dropped) -> tuple[Tensor, Tensor, Tensor]:
    """What :func:`ends` is multiplied by, ``[rows, 4]``, whether the first digit divides, and an error per unit."""
    symbols = torch.stack(program.space.arguments(z), 1)
    alpha, tau, rho, divides, largest = around(symbols, dropped.sites[:, 0], dropped.count)
    top, bottom = program.numbers(y).unbind(1)
    answer = top.double() / bottom
    rest = (answer - alpha) / tau
    error = TOLERANCE * (largest + answer.abs() + rho) * (1 + 1 / rho) / tau.abs()
    return torch.stack([rest, -rho / tau, -1 / tau, rest / rho], 1), divides, error


def _near(equations: Tensor, divides: Tensor, error: Tensor, basis: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, options and codes of the first digit, of all candidates that are a digit to within the row's ``error``."""
    size = max(1, (TOGETHER if basis.is_cuda else CACHED) // basis.shape[1])
    found = []
    for start in range(0, len(equations), size):
        own = slice(start, start + size)
        digit = equations[own] @ basis
        digit = torch.where(divides[own, None], digit.reciprocal(), digit)  # which was 1/d there
        whole = digit.round().clamp_(1, len(DIGITS))
        row, option = (digit.sub_(whole).abs_() <= error[own, None]).nonzero(as_tuple=True)
        found.append((row + start, option, whole[row, option].long() - 1))
    row, option, digit = (torch.cat(part) for part in zip(*found, strict=True))
    return row, option, digit


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
    """Fibres over windows or by enumeration; first states by prefix and suffix, and by terms.

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


@pinned.register
def _(inverse: LongFormulas, y: Tensor, seed: int, known: Tensor) -> Start:
    return inverse._enumeration.start_pinned(y, seed, known)


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
    """A formula of value y, found by trying all values of one term; None if there was none."""
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
    """The formula of the first way whose rest is the value of a formula of this length."""
    top, bottom = _parts(ways)
    known = suffixes(0, length)
    first, last = known.find(top, bottom)
    hit = (last > first).nonzero().flatten().tolist()
    return ways[hit[0]].joined(known.states[first[hit[0]]].tolist()) if hit else None


def _drawn(ways: list[Peeled], length: int, draws: int, generator: torch.Generator) -> list[int] | None:
    """The formula of the first way whose rest is found by random prefixes."""
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
    """``count`` draws for each of these values: a state, and whether one was found."""
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
