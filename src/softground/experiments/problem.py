"""A problem: data, rule, walk and presets of a task under one name, for ``softground train NAME``.

A problem's own fields are its options on the command line. Everything else that a run needs (network, schedule, kernel,
stages) is made here from the recipe, the same way for all problems; a problem overrides what is particular to it.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..data.augment import RandomAffine
from ..data.checks import check_activations
from ..data.examples import Split
from ..data.gathered import Gathered
from ..errors import LearnerError
from ..files import Json
from ..inverses import INVERSES, Inverse
from ..kernels import KERNELS, Kernel
from ..kernels.exact import exact_kernel
from ..learner.settings import check
from ..learner.stage import Stage, one_cycle
from ..networks import IMAGE_NETWORKS, PerSite, Standardise
from ..projections import ChangeOne, Drop, RandomDrop
from ..projections.base import Walk
from ..registry import Registry
from ..schedules import SCHEDULES, Schedule
from ..task import Family, Task
from ..training import OBJECTIVES, SoftenedGrounding, Teacher, Term, Usage, ZeroDegree
from .recipe import Recipe, resolved

# What presets of ours share wherever Q* is known without sampling: its marginals, scaled and annealed as the library
# chooses, further starts after one that has failed, no second stage, and a quicker optimiser.
EXACT: Json = {"kernel": "exact", "marginals": True, "steps": 1, "schedule": "auto", "floor": 0.0}
EXACT |= {"scaled": None, "restarts": 2, "warmup": 0, "optimizer": "adamw", "one_cycle": True, "zero_epochs": 0}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, weight_decay=0.01, fused=True),
}
NOT_IN_RECIPE = ("data_dir",)  # data may move, so their folder is no setting


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """Data, a rule, a walk and presets. Subclasses are frozen dataclasses; their fields are the task's options."""

    name: ClassVar[str]
    kernels: ClassVar[Mapping[str, Callable[..., Kernel]]] = KERNELS
    networks: ClassVar[Mapping[str, Callable[..., nn.Module]]] = IMAGE_NETWORKS
    inverses: ClassVar[Mapping[str, Callable[..., Inverse]]] = {"auto": INVERSES["auto"]}
    schedules: ClassVar[Mapping[str, Callable[[float, float, int, int], Schedule]]] = {}  # in place of the usual ones
    absent: ClassVar[tuple[str, ...]] = ()  # settings of a recipe that mean nothing here
    distortion: ClassVar[RandomAffine] = RandomAffine()

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def load(self, seed: int) -> Split:
        """Load training and test examples, determined by the run's ``seed``."""

    @abstractmethod
    def task(self, inverse: str = "auto", **solver: Any) -> Task | Family:
        """Space, rule and inverse, or those of each shape; ``solver`` are settings of the Z3 inverse."""

    @abstractmethod
    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        """The settings of the preset ``paper`` or ``best`` for this problem, where they are not the recipe's defaults.

        ``given`` are the settings that override it, on which others may depend.
        """

    def walk(self, task: Task) -> Walk:
        """How chains walk: by default the paper's kernel drops the second half, the others a random pair."""
        space = task.space
        drop = Drop(space, range((space.sites + 1) // 2, space.sites))
        return Walk(task.inverse, space, drop, RandomDrop(space, min(2, space.sites - 1)), ChangeOne(space))

    def support(self) -> Tensor | None:
        """The codes ``[combinations, sites]`` of the symbol vectors that occur; None if all may, or if unknown."""
        return None

    def schedule(self, recipe: Recipe) -> Schedule:
        """γ for each epoch of Stage I."""
        make = self.schedules.get(recipe.schedule) or SCHEDULES[recipe.schedule]
        return make(recipe.gamma, recipe.floor, recipe.warmup, recipe.epochs)

    def grounding(self, recipe: Recipe, task: Task) -> Teacher:
        """The paper's Stage I."""
        kernel: Kernel | None
        if recipe.kernel == "auto" and not task.inverse.exact:
            kernel = None  # the learner chooses, once it knows the answers
        elif recipe.kernel in ("exact", "auto"):  # needs no walk
            kernel = exact_kernel(task.inverse, recipe.marginals)
        else:
            kernel = self.kernels[recipe.kernel](self.walk(task), recipe.marginals)
        return SoftenedGrounding(kernel, self.schedule(recipe), recipe.steps)

    def zero(self, recipe: Recipe, task: Task) -> Teacher:
        """Stage II."""
        return ZeroDegree()

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        """Make the network for inputs like ``x``: one classifier that reads each site's image."""
        image = tuple(x.shape[2:])
        classifier = self.networks[recipe.network](image, space.outputs)
        if recipe.standardise:
            classifier = nn.Sequential(Standardise.to_fit(x.pool if isinstance(x, Gathered) else x), classifier)
        network: nn.Module = PerSite(classifier, image)  # type: ignore[arg-type]
        check_activations(network, x, max(recipe.batch_size, recipe.zero_batch_size or 0))
        return network

    def recipe(self, preset: str = "best", **given: Any) -> Recipe:
        """The recipe of a preset, with the settings that are ``given`` in their place.

        >>> from softground.tasks import TASKS
        >>> TASKS["hwf"]().recipe("paper", epochs=3).kernel
        'metropolis'
        """
        values = resolved(self.preset(preset, given), given)
        if (inverse := values.get("inverse", "auto")) not in self.inverses:
            raise LearnerError.of({"inverse": inverse}, f"{self.name} has {', '.join(self.inverses)}.")
        own = {f.name for f in fields(self)} - set(NOT_IN_RECIPE)
        # A field left at None takes the preset's value.
        filled = {name: values.pop(name) for name in own & values.keys()}
        problem = {name: filled.get(name) if (v := getattr(self, name)) is None else v for name in sorted(own)}
        return Recipe(task=self.name, problem=problem, preset=preset, **values)

    def stages(self, recipe: Recipe, task: Task) -> list[Stage]:
        """Stage I, a baseline or supervision, and Stage II, where the recipe has one."""
        rate = one_cycle() if recipe.one_cycle else None
        optimizer = _optimizer(recipe.optimizer, recipe.learning_rate, recipe.weight_decay)
        name = "SUP" if recipe.objective == "sup" else "I"
        objective, ends = self._objective(recipe, task), recipe.patience
        terms, keep = self.terms(recipe), recipe.keep
        how: Any = {"keep": keep, "patience": ends, "terms": terms, "wait": recipe.wait, "scaled": recipe.scaled}
        stages = [Stage(name, objective, recipe.epochs, optimizer, rate, **how)]
        if recipe.zero_epochs:
            adam = _optimizer("adam", recipe.zero_learning_rate, recipe.zero_weight_decay)
            zero, size = self.zero(recipe, task), recipe.zero_batch_size
            stages.append(Stage("II", zero, recipe.zero_epochs, adam, patience=ends, batch_size=size))
        return stages

    def terms(self, recipe: Recipe) -> list[Term]:
        """Terms added to Stage I's loss."""
        return [] if recipe.usage == "none" else [Usage.named(recipe.usage, recipe.usage_weight)]

    def _objective(self, recipe: Recipe, task: Task) -> Teacher:
        objective = OBJECTIVES[recipe.objective]
        if objective is SoftenedGrounding:
            return self.grounding(recipe, task)
        takes = inspect.signature(objective).parameters
        given: Json = {"steps": recipe.steps} if "steps" in takes else {}
        return objective(**given, **({"schedule": self.schedule(recipe)} if "schedule" in takes else {}))


def _optimizer(name: str, rate: float, decay: float | None) -> Callable[..., torch.optim.Optimizer]:
    return partial(OPTIMIZERS[name], lr=rate, **({} if decay is None else {"weight_decay": decay}))


TASKS: Registry[type[Problem]] = Registry("task")
"""Ready-made problems by name."""
