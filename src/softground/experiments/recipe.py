"""A recipe: every setting of a run, resolved, in one frozen object that goes to JSON and back.

Presets and command-line options only make recipes (:meth:`~softground.experiments.problem.Problem.recipe`). A run
folder keeps the recipe, so a run can be read, repeated and resumed even if a preset changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import CheckpointError, LearnerError, Setting
from ..files import Json, typed_fields
from ..learner.settings import TrainingSettings, setting
from ..learner.stage import KEPT
from ..schedules import SCHEDULES
from ..training.step import OBJECTIVES

IMPLIED: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Json]] = {}
"""Settings implied by an objective, by its name: functions of the preset's values and the given ones, which win."""


UNVARIED = {"scaled", "schedule", "gamma", "objective", "noise", "known", "anchors", "anchor_symbols", "members"}
"""Settings that switch off a preset's further starts: they fix how to train, or add labels."""


@dataclass(frozen=True, kw_only=True)
class Recipe(TrainingSettings):
    """Everything that determines a run. Defaults are the paper's (Appendix B.3), if it has one for all tasks.

    The paper's 1,000 epochs count every walk over the data as one: with T = 10 they are 100 epochs that update the
    network, after 10 of uniform sampling. The authors' code cools by 0.95 per epoch.

    >>> Recipe(task="hwf", problem={"length": 7}, kernel="exact").to_json()["kernel"]
    'exact'
    """

    task: str
    problem: Mapping[str, Any]
    preset: str = "paper"
    objective: str = setting(
        "grounding",
        "grounding: the paper's method; zero: its Stage II alone; sup: with labels, for comparison; semantic: the "
        "semantic loss; parts: the rule's parts one by one.",
        OBJECTIVES,
    )
    kernel: str = setting(
        "metropolis",
        "The transition; metropolis is the paper's, the others sample Q* exactly; auto: the exact one where Q* is "
        "known, else a walk on the projection that moves best in a trial.",
    )
    inverse: str = setting("auto", "The inverse, which finds solutions; auto takes the fastest that fits.")
    marginals: bool = setting(False, "Train on exact marginals instead of samples, if the kernel has them.")
    scaled: bool | None = setting(
        False,
        "Whether the rule sums over P(z|x) divided by the network's usage of the symbols, against readings that merge "
        "symbols; presets leave it to the library.",
    )
    schedule: str = setting("exp", "The schedule of γ; auto: the library chooses before training.", SCHEDULES)
    gamma: float = setting(1.0, "γ₀, the first temperature.")
    floor: float = setting(0.02, "The smallest γ of Stage I.")
    warmup: int = setting(10, "Start with this many epochs at γ = ∞.")
    steps: int = setting(10, "T, kernel steps per gradient step (0: chosen by a trial of the chains).")
    epochs: int = setting(110, "Epochs of Stage I.")
    wait: int = setting(
        0, "Hold γ and the learning rate until half of the answers are explained, for at most this many epochs."
    )
    zero_epochs: int = setting(30, "Epochs of Stage II (γ = 0).")
    optimizer: str = setting("sgd", "Stage I's optimiser.", ("sgd", "adam", "adamw"))
    learning_rate: float = setting(0.1, "Stage I's learning rate.")
    weight_decay: float | None = setting(None, "Stage I's weight decay (adamw: 0.01; other optimisers: 0).")
    one_cycle: bool = setting(False, "Raise the learning rate at first, then let it fall along a cosine.")
    zero_learning_rate: float = setting(1e-3, "Stage II's learning rate, for Adam.")
    zero_weight_decay: float | None = setting(None, "Stage II's weight decay, otherwise 0.")
    zero_batch_size: int | None = setting(None, "Stage II's examples per batch, otherwise Stage I's.")
    network: str = setting("lenet", "The network.")
    standardise: bool = setting(False, "Give the network images of mean 0 and standard deviation 1 instead of 0 … 1.")
    augment: bool = setting(False, "Distort the training images at random.")
    known: float = setting(0.0, "Share of the training symbols given as labels; for experiments.")
    anchors: int = setting(0, "Labelled images per symbol, out of the training data, to learn from; for experiments.")
    anchor_symbols: tuple[str, ...] = setting(
        (), "The symbols that anchors show, such as 0 1 (otherwise all); one image of each, unless --anchors says more."
    )
    usage: str = setting(
        "none",
        "A prior on how often symbols are used, against readings that merge symbols: uniform, or the shares in the "
        "order of the symbols, as in 0.2,0.5,0.3. It falls away in training.",
    )
    usage_weight: float = setting(3.0, "Weight of the usage prior, relative to the loss of a site.")
    members: int = setting(1, "Networks of an ensemble, each with its own loss.", least=1)
    keep: str = setting(
        "last",
        "Stage I leaves its last network, the one that explains most training answers (best), or the one with the best "
        "validation figure (validation).",
        KEPT,
    )
    validation: float = setting(
        0.0,
        "The share of the training examples to hold out for validation, or of the images, where examples are dealt "
        "from a pool; a task that has validation data takes those.",
    )
    patience: int = setting(0, "End a stage after this many epochs without a better validation figure; 0: never.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.validation and (self.patience or self.keep == "validation"):
            raise LearnerError.of(
                {"patience": self.patience} if self.patience else {"keep": self.keep},
                ", but no validation part to judge by; give one, as in ",
                Setting("validation", 0.1),
                ".",
            )

    def to_json(self) -> Json:
        """The recipe as plain JSON."""
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def of_json(cls, given: object, where: Path) -> Recipe:
        """Read a recipe from the file ``where``, checking each value."""
        if not isinstance(given, dict) or not isinstance(given.get("problem"), dict):
            raise CheckpointError(f"{where} holds no recipe. Restore the file, or start the run again.")
        values = checked(cls, given, where)
        try:
            return cls(**values)
        except LearnerError as error:
            raise CheckpointError(f"{where}: {error} Restore the file, or start the run again.") from error


def settings() -> dict[str, dataclasses.Field[Any]]:
    """The fields of a recipe that presets and options may set, by name."""
    return {f.name: f for f in fields(Recipe) if f.metadata}


def resolved(preset: Mapping[str, object], given: Mapping[str, object]) -> Json:
    """Combine a preset's values, the ``given`` ones, which win, and settings implied by the objective.

    Stage II is part of the paper's method; other objectives have it only on request (Table 3).
    """
    objective = given.get("objective", preset.get("objective", "grounding"))
    implied = IMPLIED[objective](preset, given) if objective in IMPLIED else {}
    values = {**preset, **implied, **given}
    if values.get("schedule") == "auto":
        if "schedule" not in given and given.keys() & {"gamma", "floor", "warmup"}:  # these describe a schedule
            values["schedule"] = "constant"
        if given.keys() & UNVARIED:
            values["restarts"] = given.get("restarts", 0)
    if given.get("schedule", "constant") not in ("constant", "auto") and not values.get("floor", 1.0):
        values["floor"] = Recipe.floor  # the preset does not cool, so it has no floor
    if objective != "grounding":
        values["zero_epochs"] = 0 if objective == "sup" else given.get("zero_epochs", 0)
        if not values["zero_epochs"]:  # then the preset's Stage II does not apply
            values["zero_weight_decay"] = given.get("zero_weight_decay", 0.0)
    # None in recipes of runs that are older than these settings, with the same meaning.
    values.setdefault("weight_decay", 0.01 if values.get("optimizer") == "adamw" else 0.0)
    values.setdefault("zero_weight_decay", 0.0)
    values.setdefault("zero_batch_size", values.get("batch_size", Recipe.batch_size))
    return values


def checked(kind: type[Any], given: Mapping[str, object], where: Path) -> Json:
    """Check the types of a dataclass's fields, read from the file ``where``."""
    try:
        return typed_fields(kind, given)
    except ValueError as error:
        raise CheckpointError(
            f"{where}: {error}. Restore the file, or use the version of softground that started the run; the file "
            "names it."
        ) from error
