"""``softground train addition``: options, and the experiment they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from torch import Tensor

from ...data.augment import RandomAffine
from ...errors import LearnerError
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
from ..stages import make_stages
from .data import Source, load
from .presets import LONG, PRESETS, KernelName, NetworkName, Preset
from .rule import addition_program, addition_scan

RuleName = Literal["scan", "program"]


@dataclass(frozen=True, kw_only=True)
class AdditionOptions(RunOptions):
    """MNIST addition: recognise digits from the sums of pairs of handwritten numbers."""

    name: ClassVar[str] = "addition"

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST in IDX format from --data-dir."""
    data_dir: Path | None = None
    """Where MNIST's IDX files lie."""
    digits: int = 1
    """Digits of each number."""
    train_size: int | None = None
    """Training pairs (default: as many as the images make, each used once)."""
    rule: RuleName = "scan"
    """scan: addition with carry, read from the last digits on; program: the sum as a whole number (18 digits)."""
    network: NetworkName | None = None
    """lenet: LeNet-5; convnet: a small convolutional network with batch normalisation."""
    kernel: KernelName | None = None
    """exact: by the scan's recursion, or the program's table; metropolis is the paper's; the others project as well."""
    marginals: bool | None = None
    """Learn from the kernel's marginals, where it has them, instead of its draws."""
    warmup: int | None = None
    """Epochs at γ = ∞ to begin with (best: 1 for long numbers, else 0)."""
    augment: bool | None = None
    """Random affine distortions of the training images."""

    def settings(self) -> Preset:
        """The preset with this command's overrides."""
        settings = overridden(PRESETS[self.preset], self)
        if self.preset == "best" and self.warmup is None and self.digits > LONG:
            settings = replace(settings, warmup=1)
        return settings

    def build(self) -> Experiment:
        """Deal out the images and make task, network and stages."""
        settings = self.settings()
        task = addition_task(self.digits, self.rule)
        data = load(self.data, self.data_dir, self.digits, self.train_size, stream(self.seed, "data"))
        image = tuple(data.train.x.shape[2:])
        make = {"lenet": lenet, "convnet": convnet}[settings.network]
        with seeded(stream(self.seed, "weights")):
            network = PerSite(make(image, task.space.outputs), image)  # type: ignore[arg-type]
        augment = RandomAffine() if settings.augment else None
        batch = settings.pairs(self.digits)
        return Experiment(task, network, self.stages(task, settings), data.train, data.test, batch, augment, data.note)

    def stages(self, task: Task, settings: Preset) -> list[Stage]:
        """Supervision or a baseline, or Stage I and, where asked for, Stage II."""
        epochs = settings.epochs

        def grounding(fixed: float | None) -> SoftenedGrounding:
            name, start = (settings.schedule, settings.gamma) if fixed is None else ("constant", fixed)
            schedule = by_name(name, start, settings.floor, settings.warmup, epochs)
            return SoftenedGrounding(make_kernel(settings.kernel, task, settings.marginals), schedule, settings.steps)

        return make_stages(self, settings, task, epochs, grounding, keep=settings.keep)


def addition_task(digits: int = 1, rule: RuleName = "scan") -> Task:
    """Sums of numbers of so many digits as a task."""
    constraint = addition_scan(digits) if rule == "scan" else addition_program(digits)
    return Task(constraint.space, constraint, metrics=addition_metrics, name="addition")


def make_kernel(name: KernelName, task: Task, marginals: bool = True) -> Kernel:
    """A kernel by its name. The paper's drops the second number; the others draw a random pair at every step."""
    space, inverse = task.space, task.inverse
    if name == "exact":
        if not inverse.exact:
            raise LearnerError(
                f"The exact kernel needs the scan or a table of the whole space; the inverse is {inverse!r}. "
                "Use --rule scan, or --kernel guided."
            )
        return Exact(inverse, marginals)
    pairs, move = RandomDrop(space, min(2, space.sites - 1)), ChangeOne(space)
    if name == "metropolis":
        return Metropolis(inverse, Drop(space, range(space.sites // 2, space.sites)), move)
    if name == "uniform":
        return Uniform(inverse, pairs, move)
    if name == "collapsed":
        return Collapsed(inverse, pairs, move, marginals)
    return Guided(inverse, pairs, marginals)


def addition_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Share of right sums, the field's figure, and of right digits."""
    result = {"sum_accuracy": feasible.double().mean().item()}
    if symbols is not None:
        result["symbol_accuracy"] = (predicted == symbols).double().mean().item()
    return result
