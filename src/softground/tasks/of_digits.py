"""Common parts of tasks in images of digits: the source of the images, and presets."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..data.digits import Digits, Source, divide_digits, load_digits
from ..data.examples import held_out
from ..dice import stream
from ..experiments.problem import EXACT, Problem
from ..files import Json

Made = TypeVar("Made")
PRESETS: dict[str, Json] = {
    # The paper does not treat these tasks. This is its kernel, annealing and optimiser, as for formulas.
    "paper": {"warmup": 2, "epochs": 30, "zero_epochs": 10, "keep": "best"},
    "best": EXACT | {"network": "convnet", "epochs": 20, "learning_rate": 2e-3, "augment": True},
}
IMAGES_PER_BATCH = {"paper": 128, "best": 512}  # over all examples


@dataclass(frozen=True, kw_only=True)
class OfDigits(Problem):
    """A problem with images of digits."""

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST's IDX files, in a folder of yours."""
    data_dir: Path | None = None
    """The folder of MNIST's IDX files."""

    def pools(self, seed: int, chances: int = 2) -> tuple[Digits, Digits, str, list[np.random.Generator]]:
        """Training and test images, a sentence on their source, and independent generators."""
        spawned = np.random.SeedSequence(stream(seed, "data")).spawn(chances)
        return *load_digits(self.data, self.data_dir), [np.random.default_rng(each) for each in spawned]


def with_own_images(
    pool: Digits, size: int, make: Callable[[Digits, int, np.random.Generator], Made]
) -> Callable[[float, int], tuple[Made, Made]]:
    """What divides ``size`` training examples, a share of them for validation, so that each side has its own images.

    ``make`` makes examples of a pool of images: this many, with this generator.
    """

    def apart(share: float, chance: int) -> tuple[Made, Made]:
        few, ((seen, one), (held, two)) = held_out(size, share), divide_digits(pool, share, chance)
        return make(seen, size - few, one), make(held, few, two)

    return apart
