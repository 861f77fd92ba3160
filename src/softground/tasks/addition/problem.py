"""``addition``: MNIST addition as a ready-made problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from ...data.examples import Split
from ...experiments.problem import EXACT, TASKS
from ...metrics import accuracies
from ...seeds import stream
from ...task import Task
from ..of_digits import OfDigits
from .data import load
from .rule import addition_program, addition_scan

RuleName = Literal["scan", "program"]
METRICS = partial(accuracies, name="sum_accuracy")  # the field's figure
LONG_NUMBER = 20  # digits
PRESETS: dict[str, dict[str, Any]] = {
    # The paper does not treat addition. This is its kernel, annealing and optimiser, as for formulas: the walk changes
    # a digit of the first number, and the second number is what the sum leaves.
    "paper": {"warmup": 2, "epochs": 30, "zero_epochs": 10, "keep": "best"},
    "best": EXACT | {"network": "convnet", "epochs": 20, "learning_rate": 2e-3, "augment": True},
}
IMAGES_PER_BATCH = {"paper": 128, "best": 512}  # whatever the numbers' length


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
        return load(self.data, self.data_dir, self.digits, self.train_size, stream(seed, "data"))

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        return addition_task(self.digits, self.rule)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        values = PRESETS[name] | {"batch_size": max(1, IMAGES_PER_BATCH[name] // (2 * max(1, self.digits)))}
        # Long numbers need one epoch at γ = ∞ first. A column that ignores carries stays the same if 5 is added to both
        # of its digits (modulo 10). So a network that learns from columns alone reads every digit d as d or as d + 5,
        # depending on its first weights. Only the sum's first digit tells the two apart, and at γ = ∞ there is nothing
        # else to learn from.
        return values | ({"warmup": 1} if name == "best" and self.digits > LONG_NUMBER else {})


def addition_task(digits: int = 1, rule: RuleName = "scan") -> Task:
    """Sums of two numbers of ``digits`` digits each, as a task."""
    constraint = addition_scan(digits) if rule == "scan" else addition_program(digits)
    return Task(constraint.space, constraint, metrics=METRICS, name="addition")
