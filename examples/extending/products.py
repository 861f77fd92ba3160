"""``python products.py train products``: recognise two digits from their product.

A problem is a frozen dataclass. Its fields are the task's own options, and their docstrings are the help. It loads
data, makes the task and names its presets; every other setting of a run comes from the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

import softground as sg
from softground.cli import main
from softground.experiments import EXACT

SPACE = sg.Categorical([range(10)] * 2)
RULE = sg.Program(lambda a, b: a * b, SPACE)


def pairs(count: int, part: str, seed: int) -> sg.Examples:
    """Pairs of images with the products of the digits shown; no test image is used for training."""
    generator = torch.Generator().manual_seed(2 * seed + (part == "test"))
    digits = torch.randint(10, (count, 2), generator=generator)
    return sg.Examples(sg.handwritten(digits, part, seed), digits.prod(1).tolist(), symbols=digits)


@sg.tasks.TASKS.register("products")
@dataclass(frozen=True, kw_only=True)
class Products(sg.experiments.Problem):
    """Products: recognise two digits from their product."""

    name: ClassVar[str] = "products"

    train_size: int = 2000
    """Training pairs."""

    def load(self, seed: int) -> sg.data.Split:
        return sg.data.Split(pairs(self.train_size, "train", seed), pairs(500, "test", seed), "scikit-learn's digits.")

    def task(self, inverse: str = "auto", **solver: Any) -> sg.Task:
        return sg.Task(SPACE, RULE, name=self.name)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return EXACT | {"network": "convnet", "epochs": 10, "learning_rate": 3e-3} if name == "best" else {"epochs": 30}


if __name__ == "__main__":
    raise SystemExit(main())
