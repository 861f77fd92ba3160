"""``validity``: recognise digits from whether 4×4 Sudoku boards are valid.

The answer of an invalid board is ``Not(True)``: its S_y is the complement of the 288 boards, summed over exactly. From
valid boards, or from both kinds, digits are known up to one of 24 renamings; three labels settle it. A board is judged
correctly if the predicted digits form a valid board exactly when it is valid.

**Data.** Valid boards are uniform over the 288. An invalid one is valid but for one cell, which shows the digit of
another cell of its row, its column or its box; the kind, the group and the two cells are uniform.

Reference: Soft-PNet, arXiv 2609.12247.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from ..constraints import Program
from ..constraints.relations import Not
from ..data import RandomAffine
from ..data.digits import Digits
from ..data.examples import Examples, Split
from ..errors import DataError
from ..experiments.problem import EXACT, TASKS
from ..files import Json
from ..metrics import share
from ..projections import Walk
from ..spaces.categorical import Categorical
from ..task import Task
from .of_digits import OfDigits, with_own_images
from .sudoku.boards import all_boards, draw_images, random_boards
from .sudoku.problem import DISTORTION, sudoku_metrics
from .sudoku.rule import groups, valid
from .sudoku.walks import BOARD_INVERSES, BOARD_KERNELS, board_walk

Kinds = Literal["valid", "both"]
STEPS, LEAST_EPOCHS = 2000, 20
PRESETS: dict[str, Json] = {
    # As for Sudoku, from the authors' code; see there.
    "paper": {"gamma": 1.6, "floor": 0.32, "standardise": True, "zero_epochs": 40, "keep": "best"},
    "best": EXACT | {"network": "convnet", "batch_size": 16, "learning_rate": 3e-3, "augment": True},
}
SIZE, CELLS = 4, 16
Chance = np.random.Generator


@TASKS.register("validity")
@dataclass(frozen=True, kw_only=True)
class Validity(OfDigits):
    """Sudoku validity, as in Soft-PNet: 300 boards of 4×4 to train on, 500 valid and 500 invalid ones to test on."""

    name: ClassVar[str] = "validity"
    kernels = BOARD_KERNELS
    distortion: ClassVar[RandomAffine] = DISTORTION

    train_size: int = 300
    """Training boards."""
    boards: Kinds = "valid"
    """Train on valid boards only, or on equally many valid and invalid ones (both)."""
    test_size: int = 1000
    """Test boards, half of them invalid."""

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        space = Categorical([range(1, SIZE + 1)] * CELLS)
        program = Program(valid, space, vectorised=True, partial=True)
        program.encode([True])
        return Task(space, program, BOARD_INVERSES["listing"](program), validity_metrics, self.name, detects=True)

    def walk(self, task: Task) -> Walk:
        return board_walk(SIZE, task)

    def preset(self, name: str, given: Mapping[str, Any]) -> Json:
        values = {"evaluate_every": 20} | PRESETS[name]
        batches = math.ceil(self.train_size / max(1, given.get("batch_size", values.get("batch_size", 64))))
        return values | {"epochs": max(LEAST_EPOCHS, math.ceil(STEPS / max(1, batches)))}

    def support(self) -> Tensor | None:
        return torch.from_numpy(all_boards(SIZE)) if self.boards == "valid" else None

    def load(self, seed: int) -> Split:
        if self.train_size < 2 or (self.boards == "both" and self.train_size % 2):
            raise DataError.of(
                {"train_size": self.train_size}, "give two boards or more, an even number of both kinds."
            )
        if self.test_size < 2:
            raise DataError.of({"test_size": self.test_size}, "give two boards or more.")
        seen, unseen, note, (first, second) = self.pools(seed)

        def boards(pool: Digits, count: int, rng: np.random.Generator) -> Examples:
            return uniform_boards(count, count // 2 * (self.boards == "both"), pool, rng)

        test = uniform_boards(self.test_size, self.test_size // 2, unseen, second)
        train, apart = boards(seen, self.train_size, first), with_own_images(seen, self.train_size, boards)
        return Split(train, test, f"{note} Images are used again when they run out.", apart=apart)


def validity_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Boards judged correctly, and digits by name and under the renaming that agrees best."""
    found = sudoku_metrics(predicted, feasible, symbols)
    if symbols is not None:
        del found["relabelled_board_accuracy"]
        found["symbol_accuracy"] = share(predicted == symbols)
    return found


def uniform_boards(count: int, invalid: int, pool: Digits, rng: Chance) -> Examples:
    """``count`` boards in images of their digits, ``invalid`` of them invalid, shuffled."""
    codes = random_boards(SIZE, count, rng)
    for board in codes[:invalid]:
        kind = int(rng.integers(3))
        group = groups(SIZE)[SIZE * kind + int(rng.integers(SIZE))]
        cell, other = rng.choice(group, 2, replace=False)
        board[cell] = board[other]
    order = rng.permutation(count)
    codes = codes[order]
    x = torch.from_numpy(pool.images[draw_images(pool, codes, rng)][:, :, None])
    return Examples(x, [True if each else Not(True) for each in (order >= invalid).tolist()], torch.from_numpy(codes))
