"""``kandlogic``: Kand-Logic as a ready-made problem.

A scene shows nine objects, three of each figure. 4,000 scenes are for training, a quarter as many for validation, and
as many again to test on; half of them follow the rule, uniform over those that do, the others over those that do not.

Names of shapes and of colours may be exchanged, and shapes with colours, without any answer changing: 72 readings, all
one-to-one. Three labelled objects, as of ``--anchor-symbols red-square yellow-square red-circle``, leave one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ...data.examples import Examples, Split
from ...errors import DataError
from ...experiments.problem import EXACT, TASKS, Problem
from ...experiments.recipe import Recipe
from ...networks.blueprint import LAYERS
from ...projections import ChangeOne, Drop, RandomDrop, Walk
from ...seeds import stream
from ...task import Task
from .drawing import cut_out
from .rule import COLOURS, OBJECTS, SHAPES, Form, kand_scan

SHARE = 0.25  # of the training scenes, so many more for validation, and to test on
PRESETS: dict[str, dict[str, Any]] = {
    # The paper does not treat scenes. This is its kernel, annealing and optimiser, as for formulas.
    "paper": {"warmup": 2, "epochs": 30, "zero_epochs": 10, "keep": "best", "batch_size": 64},
    # Drawn objects vary so little that distortions would only hide what is seen.
    "best": EXACT | {"network": "convnet", "epochs": 20, "learning_rate": 1e-3, "batch_size": 64},
}


@TASKS.register("kandlogic")
@dataclass(frozen=True, kw_only=True)
class KandLogic(Problem):
    """Kand-Logic: recognise shapes and colours from whether figures have equal patterns."""

    name: ClassVar[str] = "kandlogic"

    form: Form = "or"
    """Whether patterns of shapes or of colours must be equal, or (and) both."""
    head: Literal["objects", "attributes"] = "attributes"
    """The network tells shapes and colours apart, each by itself as reference networks do, or nine types of objects."""
    train_size: int = 4000
    """Training scenes."""

    def load(self, seed: int) -> Split:
        if self.train_size < 4:
            raise DataError(f"train_size is {self.train_size}; give four scenes or more.")
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(stream(seed, "data")).spawn(3)]
        sizes = [self.train_size] + [round(SHARE * self.train_size)] * 2
        train, validation, test = (self.scenes(count, rng) for count, rng in zip(sizes, rngs, strict=True))
        return Split(train, test, "Kandinsky figures, drawn here; half of the scenes follow the rule.", validation)

    def scenes(self, count: int, rng: np.random.Generator) -> Examples:
        """Scenes that follow the rule and scenes that do not, in turn."""
        rule, answers = kand_scan(self.form), [turn % 2 == 0 for turn in range(count)]
        found: list[list[int]] = [[], []]
        z = np.empty((0, rule.space.sites), np.int64)
        while min(map(len, found)) < count:
            z = np.concatenate([z, rng.integers(rule.space.width, size=(2 * count, rule.space.sites))])
            found = [np.flatnonzero(np.array(rule.compute(torch.from_numpy(z))) == y).tolist() for y in (False, True)]
        z = z[[found[answer][turn] for turn, answer in enumerate(answers)]]
        shapes, colours = (part.reshape(-1, OBJECTS) for part in np.divmod(z, len(COLOURS)))
        images = torch.from_numpy(cut_out(shapes, colours, rng))
        return Examples(images.view(count, rule.space.sites, *images.shape[2:]), answers, torch.from_numpy(z))

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        rule = kand_scan(self.form)
        return Task(rule.space, rule, metrics=kand_metrics, name=self.name)

    def walk(self, task: Task) -> Walk:
        """The paper's kernel drops the last figure, the others any."""
        figures = [range(first, first + OBJECTS) for first in range(0, task.space.sites, OBJECTS)]
        drop, family = Drop(task.space, figures[-1]), RandomDrop(task.space, figures)
        return Walk(task.inverse, task.space, drop, family, ChangeOne(task.space))

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        if self.head == "objects":
            return super().network(recipe, x, space)
        network = super().network(recipe, x, SimpleNamespace(outputs=len(SHAPES) + len(COLOURS)))
        network.classifier = nn.Sequential(network.classifier, Attributes())  # type: ignore[arg-type]
        return network

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return PRESETS[name]


@LAYERS.register("softground.Attributes")
class Attributes(nn.Module):
    """Scores of three shapes and three colours, added up to those of the nine types of objects: P(s, c) = P(s) P(c)."""

    def forward(self, scores: Tensor) -> Tensor:
        return (scores[:, : len(SHAPES), None] + scores[:, None, len(SHAPES) :]).flatten(1)


def kand_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Scenes judged right by what is read, and of objects the type (``symbol_accuracy``), the shape and the colour."""
    found = {"scene_accuracy": feasible}
    if symbols is not None:
        (shape, colour), (true_shape, true_colour) = (
            (z // len(COLOURS), z % len(COLOURS)) for z in (predicted, symbols)
        )
        found |= {"symbol_accuracy": predicted == symbols, "shape_accuracy": shape == true_shape}
        found["colour_accuracy"] = colour == true_colour
    return {name: right.double().mean().item() for name, right in found.items()}
