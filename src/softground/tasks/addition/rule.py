r"""The rule of addition: the digits of two N-digit numbers, most significant first, and their sum.

Column by column from the last digits on, as at school, there is only the carry to remember and, in the middle of a
column, its first digit: 22 states, whatever N. The total's digit in that column is the cue that the column must match.
So a sum over all 10ᴺ or so pairs of numbers that explain a total costs N small steps.

Up to 18 digits the same rule is also given as a program on whole numbers, for the projection kernels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...constraints import Program, Scan
from ...errors import SpaceError
from ...spaces.categorical import Categorical

MOST_DIGITS = 4000  # Python writes no number of more than 4,300
MOST_PROGRAM_DIGITS = 18  # two such numbers still have a sum in 64 bits


def addition_space(digits: int) -> Categorical:
    """The first number's digits, then the second's."""
    if not 1 <= digits <= MOST_DIGITS:
        raise SpaceError(
            f"Numbers of {digits} digits were asked for; expected at least one digit, at most {MOST_DIGITS:,}."
        )
    return Categorical([range(10)] * (2 * digits))


def sums(rows: Sequence[Sequence[int]]) -> list[int]:
    """The sum of each row's two numbers.

    >>> sums([[1, 2, 9, 9]])
    [111]
    """
    texts = ["".join(map(str, row)) for row in rows]
    return [int(text[: len(text) // 2]) + int(text[len(text) // 2 :]) for text in texts]


class AdditionScan(Scan):
    """A scan only checks sums; this one adds up as well."""

    def compute(self, z: Tensor) -> list[int]:
        return sums(z.tolist())


def addition_scan(digits: int) -> AdditionScan:
    """The rule as a scan with carry."""

    def step(state: Tensor, digit: Tensor, site: int, due: Tensor) -> Tensor:
        # The state is carry + 2·(first digit + 1), the latter 0 while a column's first digit is still to come.
        carry, first = state % 2, state // 2 - 1
        total = carry + first + digit
        return torch.where(first < 0, carry + 2 * (digit + 1), torch.where(total % 10 == due, total // 10, -1))

    return AdditionScan(
        step,
        addition_space(digits),
        vectorised=True,
        order=[site for column in reversed(range(digits)) for site in (column, digits + column)],
        cue=lambda total, site: total // 10 ** (digits - 1 - site % digits) % 10,
        accept=lambda carry, total: carry == total // 10**digits,
    )


def addition_program(digits: int) -> Program:
    """The rule as a program from digits to the sum."""
    if digits > MOST_PROGRAM_DIGITS:
        raise SpaceError(
            f"Sums of {digits}-digit numbers do not fit into 64 bits; a program takes up to {MOST_PROGRAM_DIGITS} "
            "digits. Use the scan."
        )
    weights = [10 ** (digits - 1 - column) for column in range(digits)] * 2

    def total(*symbols: Tensor) -> Tensor:
        return torch.stack([weight * symbol for weight, symbol in zip(weights, symbols, strict=True)]).sum(0)

    return Program(total, addition_space(digits), vectorised=True)
