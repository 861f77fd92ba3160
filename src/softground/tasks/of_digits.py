"""What tasks in images of digits have in common: where the images come from, and the presets that they begin with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.digits import Digits, Source, load_digits
from ..experiments.problem import EXACT, Problem
from ..seeds import stream

PRESETS: dict[str, dict[str, Any]] = {
    # The paper does not treat these tasks. This is its kernel, annealing and optimiser, as for formulas.
    "paper": {"warmup": 2, "epochs": 30, "zero_epochs": 10, "keep": "best"},
    "best": EXACT | {"network": "convnet", "epochs": 20, "learning_rate": 2e-3, "augment": True},
}
IMAGES_PER_BATCH = {"paper": 128, "best": 512}  # however many an example shows


@dataclass(frozen=True, kw_only=True)
class OfDigits(Problem):
    """A problem whose sites show digits."""

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST's IDX files, in a folder of yours."""
    data_dir: Path | None = None
    """The folder of MNIST's IDX files."""

    def pools(self, seed: int, chances: int = 2) -> tuple[Digits, Digits, str, list[np.random.Generator]]:
        """Images to train and to test on, a sentence on where they come from, and independent generators."""
        spawned = np.random.SeedSequence(stream(seed, "data")).spawn(chances)
        return *load_digits(self.data, self.data_dir), [np.random.default_rng(each) for each in spawned]
