r"""``kandlogic``: recognise shapes and colours from whether the figures of a scene follow one pattern.

**The rule.** Three values have the pattern *same*, *two* (exactly two are equal) or *different*: how many different
ones there are. The answer is true if the three figures have equal patterns of shapes **or** equal patterns of colours
(``or``: true of 202,242,825 of the 3¹⁸ scenes), or of both (``and``).

It is read object by object. For shapes, and separately for colours, the state holds the pattern of the figures before,
or that they differ, and the values of this figure so far: at most 19 states each, 361 together.

Reference: S. Bortolotti et al., rsbench, NeurIPS 2024 (``mini_patterns`` has the form ``or``, the 64×64 models have
``and``).

**Drawing.** A figure has 120×120 pixels. An object's centre is uniform over whole pixels 20 … 100, its size s over 20 …
40. A square has side 0.7 s, a circle the diameter 0.7 s · 4/π, and a triangle, with u = 0.7 s · 3√3/4, its apex u/2
above the centre and a base of u cos 30° a quarter of u below it. A figure is drawn anew while a pixel is covered twice.
An object is cut out by the whole pixels that it touches and rescaled to 28×28; where another one reaches into that box,
it shows.

All shapes are given by half their width at a height, so that a whole batch is drawn at once: a pixel's colour is that
of 2×2 points in it. rssgen draws four times as large and shrinks instead.

Reference: rssgen's Kandinsky generator, in S. Bortolotti et al., rsbench, NeurIPS 2024.

**The problem.** A scene shows nine objects, three of each figure. 4,000 scenes are for training, a quarter as many for
validation and a quarter for testing. Half of them are drawn uniformly from the scenes that follow the rule, the others
from those that do not.

Names of shapes and of colours may be exchanged, and shapes with colours, without any answer changing: 72 readings, all
one-to-one. Three labelled objects, as of ``--anchor-symbols red-square yellow-square red-circle``, leave one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..constraints import Scan
from ..data.examples import Examples, Split
from ..dice import stream
from ..errors import DataError
from ..experiments.problem import EXACT, TASKS, Problem
from ..experiments.recipe import Recipe
from ..files import Json
from ..metrics import share
from ..networks.blueprint import LAYERS
from ..projections import ChangeOne, Drop, RandomDrop, Walk
from ..spaces.categorical import Categorical
from ..task import Task
from . import of_digits

SHAPES, COLOURS = ("square", "circle", "triangle"), ("red", "yellow", "blue")
TYPES = [f"{colour}-{shape}" for shape in SHAPES for colour in COLOURS]  # a type's code is 3 · shape + colour
FIGURES, OBJECTS = 3, 3
SITES = FIGURES * OBJECTS
Form = Literal["or", "and"]
DIFFER: tuple[int, tuple[int, ...]] = (-1, ())  # the patterns of two figures are not equal
AttributeState = tuple[int, tuple[int, ...]]  # the figures' pattern, 0 before the first ends; this figure's values
FIGURE, CENTRES, SIZES = 120, (20, 100), (20, 40)
SIDE, POINTS = 28, 2  # pixels of a cut-out, and points that are looked at in a pixel, in each direction
TOGETHER = 1024
INK = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=np.uint8)  # what red, yellow and blue take from white
Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
HELD_OUT = 0.25  # scenes for validation, and for testing, over those for training
PRESETS: dict[str, Json] = {
    "paper": of_digits.PRESETS["paper"] | {"batch_size": 64},
    # Drawn objects vary so little that distortions would only hide what is seen.
    "best": EXACT | {"network": "convnet", "epochs": 20, "learning_rate": 1e-3, "batch_size": 64},
}


def kand_scan(form: Form = "or") -> Scan:
    """The rule as a scan over objects.

    >>> rule = kand_scan()
    >>> rule.compute(rule.space.encode([["red-square", "red-circle", "blue-triangle"] * 3]))
    [True]
    """
    space = Categorical([TYPES] * SITES)
    codes = {name: divmod(code, len(COLOURS)) for code, name in enumerate(TYPES)}
    holds = any if form == "or" else all

    def step(state: Any, name: str, site: int) -> Any:
        after = tuple(follow(own, value) for own, value in zip(state, codes[name], strict=True))
        return holds(own != DIFFER for own in after) if site == SITES - 1 else after

    return Scan(step, space, start=((0, ()), (0, ())))


def follow(state: AttributeState, value: int) -> AttributeState:
    """The state of an attribute after one more object.

    >>> follow((2, (0, 1)), 1), follow((2, (0, 1)), 2)
    ((2, ()), (-1, ()))
    """
    pattern, values = state
    values = tuple(sorted((*values, value)))
    if state == DIFFER:
        return DIFFER
    if len(values) < OBJECTS:
        return pattern, values
    own = len(set(values))
    return (own, ()) if pattern in (0, own) else DIFFER


def half_width(shape: Whole, size: Floats, dy: Floats) -> Floats:
    """Half the width of each object at heights ``dy[objects, heights]`` below its centre; negative outside.

    >>> half_width(np.array([0, 1, 2]), np.full(3, 20.0), np.zeros((3, 1))).ravel().astype(int).tolist()
    [7, 8, 5]
    """
    a = 0.7 * size[:, None]
    radius, u = a * 2 / np.pi, a * 3 * np.sqrt(3) / 4
    square = np.where(np.abs(dy) <= a / 2, a / 2, -1)
    circle = np.where(np.abs(dy) <= radius, np.sqrt(np.maximum(radius**2 - dy**2, 0)), -1)
    triangle = np.where(dy <= u / 4, (dy + u / 2) / np.sqrt(3), -1)
    return np.choose(shape[:, None], [square, circle, triangle]).astype(np.float32)


def covered(shape: Whole, size: Floats, centre: Floats, x: Floats, y: Floats) -> Mask:
    """Find the points that each object covers, ``[objects, len(y), len(x)]``; each object has its own coordinates."""
    wide = half_width(shape, size, y - centre[:, 1:])
    found: Mask = np.abs(x - centre[:, :1])[:, None] <= wide[:, :, None]
    return found


def boxes(shape: Whole, size: Floats, centre: Floats) -> Whole:
    """The whole pixels that each object touches: left, top, right and bottom, ``[objects, 4]``."""
    a = 0.7 * size
    radius, u = a * 2 / np.pi, a * 3 * np.sqrt(3) / 4
    side = np.choose(shape, [a / 2, radius, u * np.sqrt(3) / 4])
    up, down = np.choose(shape, [a / 2, radius, u / 2]), np.choose(shape, [a / 2, radius, u / 4])
    low = np.floor(centre - np.stack([side, up], 1))
    return np.concatenate([low, np.ceil(centre + np.stack([side, down], 1))], 1).astype(np.int64)


def place(shapes: Whole, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sizes ``[figures, objects]`` and centres ``[figures, objects, 2]`` of objects that do not cover one another."""
    size, centre = np.empty(shapes.shape, np.float32), np.empty((*shapes.shape, 2), np.float32)
    left = np.arange(len(shapes))
    while len(left):
        size[left] = rng.integers(SIZES[0], SIZES[1] + 1, (len(left), shapes.shape[1]))
        centre[left] = rng.integers(CENTRES[0], CENTRES[1] + 1, (len(left), shapes.shape[1], 2))
        left = left[_overlap(shapes[left], size[left], centre[left])]
    return size, centre


def _overlap(shapes: Whole, size: Floats, centre: Floats) -> Mask:
    """Whether some pixel of each figure is covered by two objects; looked at in the first one's box."""
    found = np.zeros(len(shapes), np.bool_)
    for one, other in combinations(range(shapes.shape[1]), 2):
        box = boxes(shapes[:, one], size[:, one], centre[:, one])
        near = np.flatnonzero(meet(box, boxes(shapes[:, other], size[:, other], centre[:, other])) & ~found)
        x, y = (box[near, i, None] + np.arange(2 * SIZES[1]) + np.float32(0.5) for i in (0, 1))
        both = [covered(shapes[near, k], size[near, k], centre[near, k], x, y) for k in (one, other)]
        found[near] |= (both[0] & both[1]).any((1, 2))
    return found


def meet(one: Whole, other: Whole) -> Mask:
    """Whether two boxes have a pixel in common."""
    return np.asarray(((one[:, :2] < other[:, 2:]) & (other[:, :2] < one[:, 2:])).all(1))


def cut_out(shapes: Whole, colours: Whole, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Every object of figures ``[figures, objects]`` as it is seen, ``[figures, objects, 3, 28, 28]``."""
    size, centre = place(shapes, rng)
    box = [boxes(shapes[:, k], size[:, k], centre[:, k]) for k in range(shapes.shape[1])]
    drawn = np.full((*shapes.shape, 3, SIDE, SIDE), 255, np.uint8)
    steps = (np.arange(SIDE * POINTS, dtype=np.float32) + np.float32(0.5)) / np.float32(SIDE * POINTS)
    for own, other in product(range(shapes.shape[1]), repeat=2):
        seen = np.flatnonzero(meet(box[own], box[other]))
        for part in np.array_split(seen, len(seen) // TOGETHER + 1):
            low, high = (box[own][part, i : i + 2].astype(np.float32) for i in (0, 2))
            x, y = (low[:, i, None] + (high - low)[:, i, None] * steps for i in (0, 1))
            mask = covered(shapes[part, other], size[part, other], centre[part, other], x, y)
            rows = mask[:, ::POINTS].astype(np.uint16) + mask[:, 1::POINTS]
            shade = ((rows[:, :, ::POINTS] + rows[:, :, 1::POINTS]) * 255 // POINTS**2).astype(np.uint8)
            ink, below = INK[colours[part, other]][:, :, None, None] * shade[:, None], drawn[part, own]
            drawn[part, own] = below - np.minimum(ink, below)
    return drawn


@TASKS.register("kandlogic")
@dataclass(frozen=True, kw_only=True)
class KandLogic(Problem):
    """Kand-Logic: recognise shapes and colours from whether figures have equal patterns."""

    name: ClassVar[str] = "kandlogic"

    form: Form = "or"
    """Whether patterns of shapes or of colours must be equal, or (and) both."""
    head: Literal["objects", "attributes"] = "attributes"
    """What the network outputs: shapes and colours separately, as reference networks do, or nine types of objects."""
    train_size: int = 4000
    """Training scenes."""

    def load(self, seed: int) -> Split:
        if self.train_size < 4:
            raise DataError.of({"train_size": self.train_size}, "give four scenes or more.")
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(stream(seed, "data")).spawn(3)]
        sizes = [self.train_size] + [round(HELD_OUT * self.train_size)] * 2
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

    def network(self, recipe: Recipe, x: Tensor, space: object) -> nn.Module:
        if self.head == "objects":
            return super().network(recipe, x, space)
        network = super().network(recipe, x, SimpleNamespace(outputs=len(SHAPES) + len(COLOURS)))
        network.classifier = nn.Sequential(network.classifier, Attributes())  # type: ignore[arg-type]
        return network

    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        return PRESETS[name]


@LAYERS.register("softground.Attributes")
class Attributes(nn.Module):
    """Scores of three shapes and three colours, added up to those of the nine types of objects: P(s, c) = P(s) P(c)."""

    def forward(self, scores: Tensor) -> Tensor:
        return (scores[:, : len(SHAPES), None] + scores[:, None, len(SHAPES) :]).flatten(1)


def kand_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Accuracy of scenes, and of objects' types (``symbol_accuracy``), shapes and colours."""
    found = {"scene_accuracy": feasible}
    if symbols is not None:
        (shape, colour), (true_shape, true_colour) = (
            (z // len(COLOURS), z % len(COLOURS)) for z in (predicted, symbols)
        )
        found |= {"symbol_accuracy": predicted == symbols, "shape_accuracy": shape == true_shape}
        found["colour_accuracy"] = colour == true_colour
    return {name: share(right) for name, right in found.items()}
