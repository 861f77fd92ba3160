"""``sudoku``: visual Sudoku as a ready-made problem."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from torch import Tensor

from ...data import RandomAffine
from ...data.examples import Split
from ...dice import stream
from ...errors import LearnerError, Setting
from ...experiments.problem import EXACT, TASKS
from ...experiments.recipe import Recipe
from ...files import Json
from ...metrics import best_relabelling, share
from ...projections import Walk
from ...schedules import Exponential, Schedule
from ...task import Task
from ...training import Teacher
from ..of_digits import OfDigits
from .boards import BOARDS, LARGEST_LISTED, load
from .rule import sudoku_program
from .walks import BOARD_INVERSES, BOARD_KERNELS, board_walk

PRESETS: dict[str, Json] = {
    # From the authors' code: standardised images, without which SGD at 0.1 is too slow; γ from 0.1 to 0.02 for the mean
    # over the 16 sites, which is 1.6 to 0.32 for the paper's sum; 100 epochs of Stage II, where the paper says 30; the
    # network with the most valid training boards is kept.
    "paper": {"gamma": 1.6, "floor": 0.32, "standardise": True, "zero_epochs": 100, "keep": "best"},
    # The 288 boards can be listed, so Q* needs no chain, and its marginals at γ = 1 no annealing: within a few hundred
    # updates all boards agree on one labelling of the digits. From then on it is ordinary training, which distorted
    # images help.
    "best": EXACT | {"network": "convnet", "batch_size": 16, "learning_rate": 3e-3, "augment": True},
    # Boards of 9×9 cannot be listed. Their 27 groups are taken one by one, each by its permanent; nothing is sampled.
    # The network leaves the plateau where all names of the digits are alike sooner at γ = 1/2 than at 1, and sooner in
    # small batches.
    "parts": EXACT
    | {"objective": "parts", "schedule": "constant", "gamma": 0.5, "network": "convnet", "augment": True}
    | {"batch_size": 8, "learning_rate": 3e-3},
}
# Exponential cooling reaches its floor in the last epoch.
BOARD_SCHEDULES: dict[str, Callable[[float, float, int, int], Schedule]] = {"exp": Exponential.reaching}
DISTORTION = RandomAffine(degrees=15.0, shrink=0.15, grow=0.15, shear=0.15, shift=0.1, elastic=0.03)
# The paper takes some 100 passes. With 50 boards that would be 100 gradient steps, after which nothing has been learnt
# yet. So a run takes at least this many gradient steps, and at least this many epochs.
LEAST_STEPS_AND_EPOCHS = {"paper": (1000, 110), "best": (3000, 125), "parts": (2000, 30)}


@TASKS.register("sudoku")
@dataclass(frozen=True, kw_only=True)
class Sudoku(OfDigits):
    """Visual Sudoku: recognise digits from nothing but the knowledge that boards are valid."""

    name: ClassVar[str] = "sudoku"
    kernels = BOARD_KERNELS
    inverses = BOARD_INVERSES
    schedules = BOARD_SCHEDULES

    size: Literal[4, 9] = 4
    """Side of the boards."""
    train_size: int | None = None
    """Training boards (default: 100 of 4×4, 1,000 of 9×9)."""
    test_size: int = 1000
    """Test boards."""
    boards: str = field(default="all", metadata={"choices": BOARDS})
    """Which boards to draw from; all: any valid board."""
    image_size: int | None = None
    """Resize images to this many pixels a side."""

    @property
    def distortion(self) -> RandomAffine:  # type: ignore[override]
        """Half as strong for 9×9, whose few epochs fit no more: chosen on held-out training images."""
        if self.size <= LARGEST_LISTED:
            return DISTORTION
        return RandomAffine(degrees=7.0, shrink=0.07, grow=0.07, shear=0.07, shift=0.05, elastic=0.015)

    @property
    def _train_size(self) -> int:
        return (100 if self.size <= LARGEST_LISTED else 1000) if self.train_size is None else self.train_size

    def load(self, seed: int) -> Split:
        sizes = self.size, self._train_size, self.test_size
        return load(self.data, self.data_dir, *sizes, stream(seed, "data"), self.boards, self.image_size)

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        return sudoku_task(self.size, inverse, **solver)

    def preset(self, name: str, given: Mapping[str, Any]) -> Json:
        kind = "parts" if name == "best" and self.size > LARGEST_LISTED else name
        values: Json = {"evaluate_every": 20, "train_size": self._train_size} | PRESETS[kind]
        steps, epochs = LEAST_STEPS_AND_EPOCHS[kind]
        batches = math.ceil(self._train_size / max(1, given.get("batch_size", values.get("batch_size", 64))))
        if kind == "parts" and "kernel" in given:  # which says that it wants chains
            values["objective"] = "grounding"
        return values | {"epochs": max(epochs, math.ceil(steps / max(1, batches)))}

    def grounding(self, recipe: Recipe, task: Task) -> Teacher:
        if self.size > LARGEST_LISTED:
            raise LearnerError.of(
                {"size": self.size},
                " with a kernel or a grounding objective; chains walk on 4×4 boards only. Use ",
                Setting("objective", "parts"),
                " without ",
                Setting("kernel"),
                ", as the preset best does.",
            )
        return super().grounding(recipe, task)

    def walk(self, task: Task) -> Walk:
        return board_walk(self.size, task)


def sudoku_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Share of valid boards, the paper's figure; where the truth is known, of right boards and symbols too.

    Without clues the rule does not tell digits apart, so these count under the renaming that agrees best.
    """
    result = {"board_accuracy": share(feasible)}
    if symbols is not None:
        right = best_relabelling(predicted, symbols)[predicted] == symbols
        result["relabelled_board_accuracy"] = share(right.all(-1))
        result["relabelled_symbol_accuracy"] = share(right)
    return result


def sudoku_task(size: int = 4, inverse: str = "auto", **solver: Any) -> Task:
    """Boards of a size as a task; ``solver`` are settings of the Z3 inverse, for ``inverse="z3"``."""
    program = sudoku_program(size)
    found = BOARD_INVERSES[inverse](program, **solver)
    return Task(program.space, program, found, sudoku_metrics, "sudoku", nameless_symbols=True)
