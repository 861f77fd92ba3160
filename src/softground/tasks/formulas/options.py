"""``softground train hwf``: options, and the experiment they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor

from ...data.augment import RandomAffine
from ...errors import LearnerError
from ...inverses import Inverse, Table, default_inverse
from ...kernels import Collapsed, Exact, Guided, Kernel, Metropolis, Uniform
from ...learner.stage import Stage
from ...networks import PerSite, convnet, lenet
from ...objectives import SoftenedGrounding
from ...projections import ChangeOne, Drop, RandomDrop
from ...schedules import by_name
from ...seeds import seeded, stream
from ...task import Task
from ..experiment import Experiment
from ..options import RunOptions, overridden
from ..solver import SolverOptions
from ..stages import make_stages
from .data import Source, SplitName, load
from .long import enumeration
from .presets import PRESETS, KernelName, NetworkName, Preset
from .rule import formula_program

TABULATED = 9  # the longest formulas that the default inverse tabulates
CHAINED = 4  # steps of a chain per gradient step, for longer ones


@dataclass(frozen=True, kw_only=True)
class FormulaOptions(SolverOptions, RunOptions):
    """Handwritten formulas: recognise digits and operators from the values of formulas alone."""

    name: ClassVar[str] = "hwf"

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits, drawn operators (built in); hwf: the HWF set; folder: your images."""
    data_dir: Path | None = None
    """Where the hwf or folder data lie."""
    length: int = 7
    """Symbols per formula, an odd number."""
    train_size: int | None = None
    """Training formulas (default: all there are; 3,000 for digits and folder)."""
    test_size: int | None = None
    """Test formulas (default: all there are; 1,000 for digits and folder)."""
    split: SplitName = "standard"
    """hwf only: the standard split, or one whose test images come from writers not seen in training."""
    image_size: int | None = None
    """Resize images to this many pixels a side."""
    network: NetworkName | None = None
    """lenet: LeNet-5; convnet: a small convolutional network with batch normalisation."""
    kernel: KernelName | None = None
    """metropolis is the paper's; the others sample Q* exactly."""
    inverse: Literal["auto", "table", "enumeration", "z3"] = "auto"
    """How inverse projections are computed; auto takes a table where the space is small enough."""
    warmup: int | None = None
    """Epochs at γ = ∞ to begin with."""
    keep: Literal["last", "best"] | None = None
    """Which network Stage I leaves: its last one, or the one with the most right training answers."""
    augment: bool | None = None
    """Random affine distortions of the training images."""

    def settings(self) -> Preset:
        """The preset with this command's overrides."""
        preset = PRESETS[self.preset]
        settings = overridden(preset, self)
        if self.kernel is None and settings.kernel == "exact" and self.length > TABULATED:
            settings = replace(settings, kernel="guided", steps=self.steps or CHAINED)
        if self.warmup is not None:
            return settings
        # A run shorter than the preset keeps the preset's share of warm-up, so that it is not all warm-up.
        return replace(settings, warmup=min(preset.warmup, settings.epochs * preset.warmup // preset.epochs))

    def build(self) -> Experiment:
        """Load the data and make task, network and stages."""
        settings = self.settings()
        data = load(
            self.data,
            data_dir=self.data_dir,
            length=self.length,
            train_size=self.train_size,
            test_size=self.test_size,
            split=self.split,
            image_size=self.image_size,
            seed=stream(self.seed, "data"),
        )
        task = formula_task(self.length, self.inverse, **self.solver(self.inverse))
        image = tuple(data.train.x.shape[2:])
        make = {"lenet": lenet, "convnet": convnet}[settings.network]
        with seeded(stream(self.seed, "weights")):
            network = PerSite(make(image, task.space.outputs), image)  # type: ignore[arg-type]
        augment = RandomAffine() if settings.augment else None
        return Experiment(
            task, network, self.stages(task, settings), data.train, data.test, settings.batch_size, augment, data.note
        )

    def stages(self, task: Task, settings: Preset) -> list[Stage]:
        """Supervision or a baseline, or Stage I and, where asked for, Stage II."""
        epochs = settings.epochs

        def grounding(fixed: float | None) -> SoftenedGrounding:
            name, start = (settings.schedule, settings.gamma) if fixed is None else ("constant", fixed)
            schedule = by_name(name, start, settings.floor, settings.warmup, epochs)
            return SoftenedGrounding(make_kernel(settings.kernel, task), schedule, settings.steps)

        return make_stages(self, settings, task, epochs, grounding, keep=settings.keep)


def formula_task(length: int = 7, inverse: str = "auto", **solver: Any) -> Task:
    """Formulas of a length as a task; ``solver`` are settings of the Z3 inverse, for ``inverse="z3"``."""
    program = formula_program(length)
    return Task(program.space, program, make_inverse(inverse, program, **solver), formula_metrics, "hwf")


def make_inverse(name: str, program: Any, **solver: Any) -> Inverse:
    """An inverse by its name on the command line."""
    match name:
        case "table":
            return Table(program)
        case "enumeration":
            return enumeration(program)
        case "z3":
            from ...constraints.smt import SMT
            from ...inverses.z3 import Z3
            from .smt import formula_rule

            return Z3(SMT(formula_rule, program.space, answers=program), **solver)
    inverse = default_inverse(program, program.space)
    return inverse if inverse.exact else enumeration(program)


def make_kernel(name: KernelName, task: Task) -> Kernel:
    """A kernel by its name; the walk changes one kept component.

    The paper's kernel drops the third and fifth symbols (sites 2 and 4). The others draw a random pair at every step.
    """
    space, inverse = task.space, task.inverse
    if name == "exact":
        if not inverse.exact:
            raise LearnerError(
                f"The exact kernel lists all of S_y, which needs a table; the inverse is {inverse!r}. "
                "Use --inverse table (formulas up to length 7), or --kernel guided."
            )
        return Exact(inverse)
    if space.sites < 3:
        raise LearnerError(f"A formula of length {space.sites} leaves nothing to project; use --kernel exact.")
    pairs, move = RandomDrop(space, 2), ChangeOne(space)
    if name == "metropolis":
        return Metropolis(inverse, Drop(space, [2, 4] if space.sites > 4 else [0]), move)
    if name == "uniform":
        return Uniform(inverse, pairs, move)
    if name == "collapsed":
        return Collapsed(inverse, pairs, move, marginals=True)
    return Guided(inverse, pairs, marginals=True)


def formula_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Symbol accuracy and calculation accuracy, the paper's two figures."""
    result = {"calculation_accuracy": feasible.double().mean().item()}
    if symbols is not None:
        result["symbol_accuracy"] = (predicted == symbols).double().mean().item()
    return result
