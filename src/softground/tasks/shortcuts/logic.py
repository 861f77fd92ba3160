"""``mnlogic``: bits shown by images of 0 and 1, and whether a formula holds of them.

The formula is one that counts the ones (``--rule xor``, ``and``, ``or``, ``majority``, ``one``), a scan whose state is
how many there were, or any other in conjunctive normal form, from a DIMACS file (``--cnf``). Every row of bits occurs
equally often, or those of ``--occurring`` alone; then all others are out of distribution (``ood``). The parity of an
even number of bits does not change if all of them are read the wrong way round.

Reference: S. Bortolotti et al., rsbench, NeurIPS 2024 (rssgen; 2,000, 400 and 600 examples, a network for each
position: here one for all, and test images to test on).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from ...constraints import Cnf, Program, Scan
from ...data.examples import Split
from ...errors import DataError
from ...experiments.problem import TASKS
from ...inverses.circuit import Circuit
from ...seeds import stream
from ...spaces.categorical import Categorical
from ...task import Task
from ..of_digits import PRESETS, OfDigits
from .data import Codes, combinations, evenly, rows_of_digits

MOST_BITS = 1000
TABULATED = 2**16  # rows of bits; formulas with more are compiled into a circuit
COUNTS: dict[str, Callable[[int, int], bool]] = {  # of the ones among n bits
    "xor": lambda ones, bits: ones % 2 == 1,
    "and": lambda ones, bits: ones == bits,
    "or": lambda ones, bits: ones > 0,
    "majority": lambda ones, bits: 2 * ones > bits,
    "one": lambda ones, bits: ones == 1,
}


@TASKS.register("mnlogic")
@dataclass(frozen=True, kw_only=True)
class MNLogic(OfDigits):
    """MNLogic: recognise zeros and ones from whether a formula of logic holds."""

    name: ClassVar[str] = "mnlogic"

    rule: Literal["xor", "and", "or", "majority", "one"] = "xor"
    """Whether the number of ones is odd (xor), all, at least one, more than half, or exactly one."""
    cnf: str | None = None
    """A DIMACS file with the formula, instead of a rule by name; its variables are the bits."""
    bits: int = 4
    """Bits of a row."""
    occurring: tuple[str, ...] = ()
    """The rows of bits that occur, such as 001 010 (default: all)."""
    train_size: int = 2000
    """Training examples."""

    @cached_property
    def formula(self) -> Cnf | Program | Scan:
        """The rule."""
        if self.cnf is not None:
            read = Cnf.read(self.cnf)
            rule = Cnf(read.clauses, Categorical([range(2)] * read.space.sites))
            if rule.space.size > TABULATED:
                return rule
            return Program(lambda *bits: rule.holds(torch.stack(bits, 1)), rule.space, vectorised=True)
        if not 1 <= self.bits <= MOST_BITS:
            raise DataError(f"{self.bits} bits were asked for; expected 1 to {MOST_BITS:,}.")
        holds, last = COUNTS[self.rule], self.bits - 1

        def step(ones: int, bit: int, site: int) -> int | bool:
            return ones + bit if site < last else holds(ones + bit, self.bits)

        return Scan(step, Categorical([range(2)] * self.bits))

    def support(self) -> Tensor | None:
        return torch.from_numpy(combinations(self.formula.space, self.occurring)) if self.occurring else None

    def load(self, seed: int) -> Split:
        return rows_of_digits(self, self.formula, self.drawn, stream(seed, "data"))

    def drawn(self, count: int, rng: np.random.Generator) -> Codes:
        """Rows of bits, each that there is equally often, or at random where they are more than examples."""
        space = self.formula.space
        if space.size > count:
            return rng.integers(2, size=(count, space.sites))
        return evenly(space.states(torch.arange(space.size)).numpy(), count, rng)

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        rule = self.formula
        own: dict[str, Any] = {"inverse": Circuit(rule)} if isinstance(rule, Cnf) else {}
        return Task(rule.space, rule, name=self.name, **own)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return PRESETS[name] | {"batch_size": 32}
