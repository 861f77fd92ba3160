"""``softground train sudoku``: options, and the experiment they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from ...data.augment import RandomAffine
from ...learner.stage import Stage
from ...networks import PerSite, Standardise, convnet, lenet
from ...objectives import SoftenedGrounding
from ...schedules import Exponential, by_name
from ...seeds import seeded, stream
from ...task import Task
from ..experiment import Experiment
from ..options import RunOptions, overridden
from ..solver import SolverOptions
from ..stages import make_stages
from .boards import LISTED
from .data import Source, load
from .metrics import sudoku_metrics
from .presets import LARGE, PRESETS, KernelName, NetworkName, Preset
from .rule import sudoku_program
from .walks import InverseName, make_inverse, make_kernel

DISTORTION = RandomAffine(degrees=15.0, shrink=0.15, grow=0.15, shear=0.15, shift=0.1, elastic=0.03)


@dataclass(frozen=True, kw_only=True)
class SudokuOptions(SolverOptions, RunOptions):
    """Visual Sudoku: recognise digits from nothing but the knowledge that boards are valid."""

    name: ClassVar[str] = "sudoku"

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST in IDX format from --data-dir."""
    data_dir: Path | None = None
    """Where MNIST's IDX files lie."""
    size: Literal[4, 9] = 4
    """Side of the boards."""
    train_size: int = 100
    """Training boards."""
    test_size: int = 1000
    """Test boards."""
    network: NetworkName | None = None
    """lenet: LeNet-5; convnet: a small convolutional network with batch normalisation."""
    kernel: KernelName | None = None
    """metropolis, mcmc: the paper's; kempe: two digits at a time; mixed: kempe and jumps; exact: all boards of 4×4."""
    marginals: bool | None = None
    """Learn from the kernel's marginals, where it has them, instead of its draws."""
    inverse: InverseName = "auto"
    """How inverse projections are computed; auto lists the boards of 4×4 and searches for larger ones."""
    warmup: int | None = None
    """Epochs at γ = ∞ to begin with."""
    keep: Literal["last", "best"] | None = None
    """Which network Stage I leaves: its last one, or the one with the most valid training boards."""
    standardise: bool | None = None
    """Give the network images of mean 0 and standard deviation 1 instead of 0 … 1."""
    augment: bool | None = None
    """Random affine distortions of the training images."""
    evaluate_every: int = 20
    """Epochs between evaluations on the test set."""

    def settings(self) -> Preset:
        """The preset with this command's overrides."""
        return overridden(LARGE if self.preset == "best" and self.size > LISTED else PRESETS[self.preset], self)

    def build(self) -> Experiment:
        """Draw the boards and make task, network and stages."""
        settings = self.settings()
        data = load(self.data, self.data_dir, self.size, self.train_size, self.test_size, stream(self.seed, "data"))
        task = sudoku_task(self.size, self.inverse, **self.solver(self.inverse))
        image = tuple(data.train.x.shape[2:])
        make = {"lenet": lenet, "convnet": convnet}[settings.network]
        with seeded(stream(self.seed, "weights")):
            classifier: nn.Module = make(image, task.space.outputs)  # type: ignore[arg-type]
        if settings.standardise:
            classifier = nn.Sequential(Standardise.to_fit(data.train.x), classifier)
        network = PerSite(classifier, image)  # type: ignore[arg-type]
        augment = DISTORTION if settings.augment else None
        return Experiment(
            task, network, self.stages(task, settings), data.train, data.test, settings.batch_size, augment, data.note
        )

    def stages(self, task: Task, settings: Preset) -> list[Stage]:
        """Supervision or a baseline, or Stage I and, where asked for, Stage II."""
        epochs = settings.passes(self.train_size)

        def grounding(fixed: float | None) -> SoftenedGrounding:
            name, start = (settings.schedule, settings.gamma) if fixed is None else ("constant", fixed)
            cooling = (start, settings.floor, settings.warmup, epochs)
            schedule = Exponential.reaching(*cooling) if name == "exp" else by_name(name, *cooling)
            kernel = make_kernel(settings.kernel, self.size, task, settings.marginals)
            return SoftenedGrounding(kernel, schedule, settings.steps)

        return make_stages(self, settings, task, epochs, grounding, keep=settings.keep)


def sudoku_task(size: int = 4, inverse: InverseName = "auto", **solver: Any) -> Task:
    """Boards of a size as a task; ``solver`` are settings of the Z3 inverse, for ``inverse="z3"``."""
    program = sudoku_program(size)
    return Task(program.space, program, make_inverse(inverse, size, program.space, **solver), sudoku_metrics, "sudoku")
