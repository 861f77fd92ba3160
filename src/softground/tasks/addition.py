r"""``addition``: MNIST addition, two handwritten numbers and their sum, in the field's standard setting.

**Data.** Every image is used once: the training images are shuffled and dealt out 2N at a time, 60,000/(2N) pairs of
N-digit numbers from MNIST; the test images likewise. Only the sum is known in training.

**Rule.** Column by column from the last digits on, as at school, there is only the carry to remember and, in the middle
of a column, its first digit: 22 states, whatever N. The total's digit in that column is the cue that the column must
match. So a sum over all 10ᴺ or so pairs of numbers that explain a total costs N small steps. Up to 18 digits the same
rule is also given as a program on whole numbers, for the projection kernels: the paper's walk changes a digit of the
first number, and the second number is what the sum leaves.

Reference: R. Manhaeve et al., DeepProbLog, NeurIPS 2018 (one and two digits; longer numbers in later work).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from ..constraints import Program, Scan
from ..data.digits import Digits
from ..data.examples import Examples, Split
from ..errors import DataError, SpaceError
from ..experiments.problem import TASKS
from ..files import Json
from ..metrics import accuracies
from ..spaces.categorical import Categorical
from ..task import Task
from .of_digits import IMAGES_PER_BATCH, PRESETS, OfDigits

RuleName = Literal["scan", "program"]
METRICS = partial(accuracies, name="sum_accuracy")  # the field's figure
LONG_NUMBER = 20  # digits
MOST_DIGITS = 4000  # Python writes no number of more than 4,300
MOST_PROGRAM_DIGITS = 18  # two such numbers still have a sum in 64 bits


@TASKS.register("addition")
@dataclass(frozen=True, kw_only=True)
class Addition(OfDigits):
    """MNIST addition: recognise digits from the sums of pairs of handwritten numbers."""

    name: ClassVar[str] = "addition"

    digits: int = 1
    """Digits of each number."""
    train_size: int | None = None
    """Training pairs (default: as many as the images make, each used once)."""
    rule: RuleName = "scan"
    """scan: addition with carry, read from the last digits on; program: the sum as a whole number (18 digits)."""

    def load(self, seed: int) -> Split:
        train, test, note, (first, second) = self.pools(seed)
        pairs, size = deal(train, self.digits, first), self.train_size
        if size is not None:
            if not 1 <= size <= len(pairs):
                raise DataError(f"{size} training pairs were asked for; these images make 1 to {len(pairs):,} pairs.")
            pairs = pairs.subset(size)
        return Split(pairs, deal(test, self.digits, second), f"{note} Every image is used once.")

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        return addition_task(self.digits, self.rule)

    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        values = PRESETS[name] | {"batch_size": max(1, IMAGES_PER_BATCH[name] // (2 * max(1, self.digits)))}
        # Long numbers need one epoch at γ = ∞ first. A column that ignores carries stays the same if 5 is added to both
        # of its digits (modulo 10). So a network that learns from columns alone reads every digit d as d or as d + 5,
        # depending on its first weights. Only the sum's first digit tells the two apart, and at γ = ∞ there is nothing
        # else to learn from.
        long = name == "best" and self.digits > LONG_NUMBER
        return values | ({"schedule": "constant", "warmup": 1} if long else {})


def deal(pool: Digits, digits: int, rng: np.random.Generator) -> Examples:
    """Deal the images into pairs."""
    count = len(pool.labels) // (2 * digits) if digits > 0 else 0
    if not count:
        raise DataError(f"{len(pool.labels):,} images do not make a pair of {digits}-digit numbers; use fewer digits.")
    order = rng.permutation(len(pool.labels))[: count * 2 * digits].reshape(count, 2 * digits)
    labels = pool.labels[order]
    x = torch.from_numpy(pool.images[order][:, :, None])
    return Examples(x, sums(labels.tolist()), torch.from_numpy(labels).long())


def addition_task(digits: int = 1, rule: RuleName = "scan") -> Task:
    """Sums of two numbers of ``digits`` digits each, as a task."""
    constraint = addition_scan(digits) if rule == "scan" else addition_program(digits)
    return Task(constraint.space, constraint, metrics=METRICS, name="addition")


def addition_space(digits: int) -> Categorical:
    """The first number's digits, most significant first, then the second's."""
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
    """A scan that also computes sums."""

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
