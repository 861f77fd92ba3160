r"""The rule of handwritten formulas: symbols to an exact value.

A formula alternates digits 1 … 9 and operators + − × ÷, with the usual precedence, read once from left to right
while a finished sum N/D and a running term n/d are kept:

- × and ÷ extend the term, :math:`n \leftarrow n\,b` or :math:`d \leftarrow d\,b`;
- + and − close it, :math:`N/D \leftarrow N/D \pm n/d`, and begin the next.

Values are rationals in lowest terms, so whole numbers decide feasibility. With k digits no intermediate number exceeds
:math:`k\,9^k`, which fits into 64 bits up to k = 18, formulas of length 35. Nothing is divided by zero with digits
1 … 9. A reading with an operator in a digit's place, or a digit in an operator's, is no formula and has no value.
"""

import torch
from torch import Tensor

from ...constraints.program import Program
from ...errors import SpaceError
from ...spaces.categorical import Categorical, Readings
from .data.alphabet import DIGITS, LONGEST, OPERATORS, SYMBOLS


def formula_space(length: int = 7, readings: Readings = "grammatical", mixed: bool = False) -> Categorical:
    """Digits at even sites, operators at odd ones (counted from 0); ``readings`` says what a network may read there.

    ``mixed`` with other lengths, a formula of one digit has a network that knows operators too.
    """
    if length < 1 or length % 2 == 0 or length > LONGEST:
        raise SpaceError(f"A formula of length {length} was asked for; expected an odd number from 1 to {LONGEST}.")
    return Categorical(
        [OPERATORS if site % 2 else DIGITS for site in range(length)],
        readings=readings,
        symbols=SYMBOLS if mixed else None,
    )


def value(*symbols: Tensor) -> tuple[Tensor, Tensor]:
    """Numerator and denominator, in lowest terms, of a batch of formulas: here 4 × 9 + 3 ÷ 9.

    >>> [n.item() for n in value(*torch.tensor([[4], [2], [9], [0], [3], [3], [9]]))]
    [109, 3]
    """
    n, d = symbols[0], torch.ones_like(symbols[0])  # n has the term's sign
    total, below = torch.zeros_like(n), d
    if len(symbols) > 1:
        operators, digits = torch.stack(symbols[1::2]), torch.stack(symbols[2::2])
        times, over = (torch.where(operators == code, digits, 1) for code in (2, 3))
        for closes, begins, b, c in zip(operators < 2, digits * (1 - 2 * operators), times, over, strict=True):
            total = torch.where(closes, torch.addcmul(total * d, n, below), total)
            below = torch.where(closes, below * d, below)
            n, d = torch.where(closes, begins, n * b), torch.where(closes, 1, d * c)
    total, below = torch.addcmul(total * d, n, below), below * d
    shared = torch.gcd(total, below)
    return total // shared, below // shared


def formula_program(length: int = 7, readings: Readings = "grammatical", mixed: bool = False) -> Program:
    """The rule as a vectorised constraint."""
    return Program(value, formula_space(length, readings, mixed), vectorised=True)
