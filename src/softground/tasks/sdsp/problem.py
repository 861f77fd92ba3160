"""``sdsp``: single-destination shortest paths as a ready-made problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from torch import Tensor, nn

from ...data.examples import Split
from ...errors import DataError, LearnerError
from ...experiments.problem import EXACT, TASKS, Problem
from ...experiments.recipe import Recipe
from ...projections import Drop, RandomDrop
from ...projections.base import Walk
from ...reals import AddNoise
from ...registry import Registry
from ...seeds import stream
from ...task import Task
from ...training import SoftenedGrounding, Teacher
from .graphs import Trees, random_graphs
from .kernels import NOISE, PATH_KERNELS, DroppedName, dropped, point_mass
from .networks import PathGNN, PathMLP
from .task import PATH_INVERSES, sdsp_task

PATH_NETWORKS: Registry[Any] = Registry("network")
PATH_NETWORKS.update(mlp=PathMLP, gnn=PathGNN)
EPOCHS, WARM_UP = 59, 10
MOST_MARGIN = 100.0
PRESETS: dict[str, dict[str, Any]] = {
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
    | {"network": "gnn", "kernel": "nearest", "epochs": 20, "learning_rate": 3e-3}
    | {"relabel": False, "rectified": False, "trees": "uniform", "dropped": "fifth", "sigma": 1.0, "margin": 1.0},
}


@TASKS.register("sdsp")
@dataclass(frozen=True, kw_only=True)
class ShortestPaths(Problem):
    """Shortest paths to one vertex: learn distances that lead A* right, from the paths alone."""

    name: ClassVar[str] = "sdsp"
    kernels = PATH_KERNELS
    networks = PATH_NETWORKS
    inverses = PATH_INVERSES
    absent: ClassVar[tuple[str, ...]] = ("standardise", "augment", "keep", "known", "noise")
    absent += ("anchors", "anchor_symbols", "usage", "usage_weight")
    absent += ("members", "scouts")

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
                raise LearnerError(f"{name}={value} was given; expected one of {', '.join(get_args(kind))}.")

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
            raise DataError(f"margin={margin} was given; expected a number from 0 to {MOST_MARGIN:g}.")
        if not 1e-6 <= sigma <= 1e6:  # distances are whole numbers, most below a hundred
            raise DataError(f"sigma={sigma:g} was given; expected a spread from 1e-06 to 1e+06.")
        return sdsp_task(self.nodes, sigma, margin, inverse, bool(self.rectified), **solver)

    def walk(self, task: Task) -> Walk:
        space = task.space
        drop = Drop(space, dropped(space.sites, self.dropped or "fifth"))
        return Walk(task.inverse, space, drop, RandomDrop(space, min(3, space.sites - 1)), AddNoise(NOISE))

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
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

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        if recipe.network == "mlp":
            return PathMLP(self.nodes, relabel=bool(self.relabel), rectified=bool(self.rectified))
        return PathGNN(self.nodes)
