"""``sdsp``: single-destination shortest paths as a ready-made problem, and its kernels by name.

A kernel is made by ``(walk, steps, marginals)``; a step is a sweep over all components.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from torch import Tensor, nn

from ...data.examples import Split
from ...dice import stream
from ...errors import DataError, LearnerError
from ...experiments.problem import EXACT, TASKS, Problem
from ...experiments.recipe import Recipe
from ...files import Json
from ...kernels import Composed, Kernel, Metropolis
from ...projections import Drop, RandomDrop
from ...projections.base import Walk
from ...reals import AddNoise, PointMass
from ...registry import Registry
from ...schedules import Schedule
from ...task import Task
from ...training import SoftenedGrounding, Teacher
from .gibbs import BlockGibbs, SiteGibbs
from .graphs import Trees, random_graphs
from .networks import PathGNN, PathMLP
from .path_task import PATH_INVERSES, sdsp_task

DroppedName = Literal["fifth", "sixth"]
NOISE = 5.0  # the paper's walk adds uniform noise from [−5, 5] to a kept component
PATH_KERNELS: Registry[Callable[[Walk, int, bool], Kernel]] = Registry("kernel")
PATH_NETWORKS: Registry[Any] = Registry("network")
PATH_NETWORKS.update(mlp=PathMLP, gnn=PathGNN)
EPOCHS, WARM_UP = 59, 10
MOST_MARGIN = 100.0
PRESETS: dict[str, Json] = {
    # Section 5.3: an MLP with 128 hidden units. The rest, on which the paper is silent, is as in the authors' code: its
    # graphs, its network, and its 500 epochs, which count every walk, are 10 of warm-up and 49 that update the network.
    # Its energy is the mean squared error of 30 distances, so that σ² is 15; its margin is the largest of 6, 5, …, 1
    # that a graph has in whole numbers.
    "paper": {"network": "mlp", "relabel": False, "rectified": True, "trees": "recursive", "dropped": "sixth"}
    | {"sigma": 15**0.5, "margin": 6.0, "epochs": EPOCHS, "optimizer": "adam", "learning_rate": 1e-3},
    # S_y is almost convex, so nothing is gained by starting warm: the nearest feasible points (γ = 0) from the first
    # epoch on. The whole margin that integer weights allow leaves the network room to err. σ, γ and the schedule count
    # only for another kernel.
    "best": EXACT
    | {"restarts": 0, "scaled": False, "schedule": "constant"}
    | {"network": "gnn", "kernel": "nearest", "epochs": 20, "learning_rate": 3e-3}
    | {"relabel": False, "rectified": False, "trees": "uniform", "dropped": "fifth", "sigma": 1.0, "margin": 1.0},
}


@PATH_KERNELS.register("metropolis")
def _paper(walk: Walk, steps: int, marginals: bool) -> Kernel:
    return Composed([Metropolis(walk.inverse, walk.drop, walk.move, completion="first")] * steps)


@PATH_KERNELS.register("blocks")
def _blocks(walk: Walk, steps: int, marginals: bool) -> Kernel:
    """Shifts of random triples, then single components, whose conditional means cover all of z."""
    rule: Any = walk.inverse.constraint
    blocks = BlockGibbs(rule, walk.family, marginals=False)
    return Composed(([blocks] * 8 + [SiteGibbs(rule, 1, marginals)]) * steps)


@PATH_KERNELS.register("gibbs")
def _gibbs(walk: Walk, steps: int, marginals: bool) -> Kernel:
    rule: Any = walk.inverse.constraint
    return SiteGibbs(rule, steps, marginals)


PATH_KERNELS["nearest"] = lambda walk, steps, marginals: PointMass(walk.inverse)


@dataclass(frozen=True)
class Zero(Schedule):
    """The schedule of Stage II: γ = 0."""

    def gamma(self, t: int) -> float:
        return 0.0


def point_mass(task: Task) -> SoftenedGrounding:
    """Learn from the nearest feasible points."""
    return SoftenedGrounding(PointMass(task.inverse), Zero())


def dropped(sites: int, which: DroppedName = "fifth") -> list[int]:
    """Every fifth component but the last (z₅, z₁₀, …, z₂₅ of 30, counted from 1: the paper's text), or every sixth.

    The latter are vertices 0, 6, …, 24, the destination among them, as in the authors' code.
    """
    if sites < 3:
        raise LearnerError(f"A graph of {sites} vertices leaves nothing to project; use the kernel gibbs.")
    return list(range(0, sites, 6)) if which == "sixth" else list(range(4, sites - 1, 5)) or [1]


@TASKS.register("sdsp")
@dataclass(frozen=True, kw_only=True)
class ShortestPaths(Problem):
    """Shortest paths to one vertex: learn distances that guide A* correctly, given only the paths."""

    name: ClassVar[str] = "sdsp"
    kernels = PATH_KERNELS
    networks = PATH_NETWORKS
    inverses = PATH_INVERSES
    absent: ClassVar[tuple[str, ...]] = ("standardise", "augment", "keep", "known", "noise")
    absent += ("anchors", "anchor_symbols", "usage", "usage_weight", "members", "scaled", "restarts")

    nodes: int = 30
    """Vertices of a graph."""
    train_size: int = 3000
    """Training graphs."""
    test_size: int = 1000
    """Test graphs."""
    trees: Trees | None = None
    """A graph's spanning tree: recursive (the authors': vertex 0 is a hub, low names are near it) or uniform."""
    rectified: bool | None = None
    """mlp only: a ReLU on the output, as in the authors' code."""
    relabel: bool | None = None
    """mlp only: name the vertices of a training graph anew each time it is seen."""
    sigma: float | None = None
    """σ, the spread the network is credited with at γ = 1."""
    margin: float | None = None
    """By how much true next hops must lead in a feasible z; above 1, by as much as a graph allows: 1 or more less."""
    dropped: DroppedName | None = None
    """Components that the paper's walk drops: every fifth (its text) or every sixth, from vertex 0 (its code)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("trees", Trees), ("dropped", DroppedName)):
            if (value := getattr(self, name)) not in (None, *get_args(kind)):
                raise LearnerError.of({name: value}, f"expected one of {', '.join(get_args(kind))}.")

    def load(self, seed: int) -> Split:
        trees = self.trees or "uniform"
        train = random_graphs(self.train_size, self.nodes, stream(seed, "train graphs"), trees)
        test = random_graphs(self.test_size, self.nodes, stream(seed, "test graphs"), trees)
        note = f"Random graphs of {self.nodes} vertices, weights 1 … 9: a {trees} spanning tree and more edges."
        return Split(train.examples(), test.examples(), note)

    def task(self, inverse: str = "intervals", **solver: Any) -> Task:
        margin = 0.0 if self.margin is None else self.margin
        sigma = 1.0 if self.sigma is None else self.sigma
        if not margin <= MOST_MARGIN:
            raise DataError.of({"margin": margin}, f"expected a number from 0 to {MOST_MARGIN:g}.")
        if not 1e-6 <= sigma <= 1e6:  # distances are whole numbers, most below a hundred
            raise DataError.of({"sigma": sigma}, "expected a spread from 1e-06 to 1e+06.")
        return sdsp_task(self.nodes, sigma, margin, inverse, bool(self.rectified), **solver)

    def walk(self, task: Task) -> Walk:
        space = task.space
        drop = Drop(space, dropped(space.sites, self.dropped or "fifth"))
        return Walk(task.inverse, space, drop, RandomDrop(space, min(3, space.sites - 1)), AddNoise(NOISE))

    def preset(self, name: str, given: Mapping[str, Any]) -> Json:
        # An unbounded set has no uniform law to draw from: only the paper's walk has a warm-up.
        walks = name == "paper" and given.get("kernel", "metropolis") == "metropolis"
        warmup = min(WARM_UP, given.get("epochs", EPOCHS) * WARM_UP // EPOCHS) if walks else 0
        return {"inverse": "intervals"} | PRESETS[name] | {"warmup": warmup}

    def grounding(self, recipe: Recipe, task: Task) -> Teacher:
        if recipe.kernel != "nearest":
            # Steps are sweeps here.
            kernel = PATH_KERNELS[recipe.kernel](self.walk(task), recipe.steps, recipe.marginals)
            return SoftenedGrounding(kernel, self.schedule(recipe))
        if recipe.objective != "grounding":
            raise LearnerError(
                f"The objective {recipe.objective} holds γ at {recipe.gamma:g}, but the kernel 'nearest' is γ = 0. Use "
                "the kernel gibbs, or the preset paper."
            )
        return point_mass(task)

    def zero(self, recipe: Recipe, task: Task) -> Teacher:
        """The nearest feasible points, the limit of Q* as γ → 0.

        The paper's Stage II learns from feasible predictions. A Gaussian's gradient at its mean is 0: nothing to learn.
        """
        return point_mass(task)

    def network(self, recipe: Recipe, x: Tensor, space: object) -> nn.Module:
        if recipe.network == "mlp":
            return PathMLP(self.nodes, relabel=bool(self.relabel), rectified=bool(self.rectified))
        return PathGNN(self.nodes)
