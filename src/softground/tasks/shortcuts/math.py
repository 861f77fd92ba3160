r"""``mnmath``: equations over digits, all of them answered for one row of images.

The Boolean instance has eight digits and two answers,

.. math:: y = \big( [d_1 + d_2 = d_3 + d_4],\; [d_5 d_6 = d_7 d_8] \big),

which leave one reading of the digits if every row may occur. With ``weights`` an answer is the weighted sum of its
digits: ``--weights 2 1 1 1 --digits 0 1 2 --occurring 0120 2101 0002`` has :math:`y = (2a + b,\, c + d)`, three rows
that occur, and all others out of distribution (``ood``).

Where no rows are given, answers are uniform over those possible, and rows over what explains them. The rule is a scan:
of an equation only what its digits still lack is remembered, so that sums over S_y are exact whatever the length.
Of n training examples there are n/5 more for validation and 3n/10 to test on, of test images.

Reference: S. Bortolotti et al., rsbench, NeurIPS 2024 (rssgen's ``mnist.yml``; its test rows show training images).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, mul
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...constraints import Scan
from ...data.examples import Split
from ...errors import DataError
from ...experiments.problem import TASKS
from ...inverses import Scanned
from ...metrics import accuracies
from ...projections import Drop, Walk
from ...seeds import stream
from ...spaces.categorical import Categorical
from ...task import Task
from ..of_digits import PRESETS, OfDigits
from .data import Codes, combinations, rows_of_digits


@TASKS.register("mnmath")
@dataclass(frozen=True, kw_only=True)
class MNMath(OfDigits):
    """MNMath: recognise digits from whether two equations hold, or from weighted sums."""

    name: ClassVar[str] = "mnmath"

    weights: tuple[int, ...] = ()
    """The weights of the digits, equation by equation; none: d₁ + d₂ = d₃ + d₄ and d₅·d₆ = d₇·d₈, true or false."""
    equations: int = 2
    """How many equations the weights belong to."""
    digits: tuple[int, ...] = tuple(range(10))
    """The digits that occur."""
    occurring: tuple[str, ...] = ()
    """The rows of digits that occur, such as 0120 2101 (default: all)."""
    train_size: int = 2000
    """Training examples."""

    @cached_property
    def space(self) -> Categorical:
        """All rows of digits."""
        if not self.digits or len({*self.digits}) < len(self.digits) or not {*self.digits} <= {*range(10)}:
            raise DataError(f"digits {list(self.digits)} were given; expected one or more of 0 … 9, each once.")
        if self.equations < 1 or len(self.weights) % self.equations:
            raise DataError(
                f"{len(self.weights)} weights were given for {self.equations} equations; expected as many for each."
            )
        return Categorical([self.digits] * (len(self.weights) or 8))

    def support(self) -> Tensor | None:
        return torch.from_numpy(combinations(self.space, self.occurring)) if self.occurring else None

    def load(self, seed: int) -> Split:
        return rows_of_digits(self, self.rule, self.drawn, stream(seed, "data"))

    def drawn(self, count: int, rng: np.random.Generator) -> Codes:
        """Rows whose answers are uniform over those possible, and which are uniform over what explains them."""
        answers = list(self.rule.tabulation.states[-1])
        wanted = self.rule.encode([answers[turn] for turn in rng.integers(len(answers), size=count)])
        return Scanned(self.rule).start(wanted, int(rng.integers(2**31))).z.numpy()

    @cached_property
    def rule(self) -> Scan:
        """The rule."""
        return Scan(self.weighted if self.weights else self.boolean, self.space, start=((), 0))

    def weighted(self, state: Any, digit: int, site: int) -> Any:
        """The sums so far, and that of this equation."""
        done, part = state
        part, each = part + self.weights[site] * digit, len(self.weights) // self.equations
        return self.after((*done, part), 0, site) if site % each == each - 1 else (done, part)

    def boolean(self, state: Any, digit: int, site: int) -> Any:
        """Which equations hold, and of this one the left side, then the digits that would make it hold."""
        (done, part), (side, place) = state, divmod(site, 4)
        act = (add, mul)[side]
        if place == 3:
            return self.after((*done, digit in part), 0, site)
        if place == 2:
            return done, frozenset(last for last in self.digits if act(digit, last) == part)
        return done, act(part, digit) if place else digit

    def after(self, done: Any, part: int, site: int) -> Any:
        """The next state, or at the end the answer."""
        return done if site == self.space.sites - 1 else (done, part)

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        rule = self.rule

        def metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
            """``label_accuracy`` counts every equation, ``answer_accuracy`` all of an example together."""
            found = accuracies(predicted, feasible, symbols)
            if symbols is not None:
                read, true = (np.array(rule.compute(z)) for z in (predicted, symbols))
                found["label_accuracy"] = float((read == true).mean())
            return found

        return Task(self.space, rule, metrics=metrics, name=self.name)

    def walk(self, task: Task) -> Walk:
        """The paper's kernel drops the last digit of every equation, the others any two digits."""
        each = 4 if not self.weights else len(self.weights) // self.equations
        drop = Drop(task.space, range(each - 1, task.space.sites, each))
        return replace(super().walk(task), drop=drop)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        # Whether an equation holds says little of a digit; that all digits are used helps to begin with.
        more = {"epochs": 40, "usage": "uniform"} if name == "best" else {}
        return PRESETS[name] | {"batch_size": 32} | more
