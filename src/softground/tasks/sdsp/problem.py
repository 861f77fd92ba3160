"""``sdsp``: single-destination shortest paths as a ready-made problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from ...data.examples import Split
from ...errors import DataError, LearnerError
from ...experiments.problem import EXACT, TASKS, Problem
from ...experiments.recipe import Recipe
from ...objectives import Objective, SoftenedGrounding
from ...registry import Registry
from ...seeds import stream
from ...task import Task
from .graphs import random_graphs
from .kernels import PATH_KERNELS, point_mass
from .networks import PathGNN, PathMLP
from .task import PATH_INVERSES, sdsp_task

PATH_NETWORKS: Registry[Any] = Registry("network")
PATH_NETWORKS.update(mlp=PathMLP, gnn=PathGNN)
PRESETS: dict[str, dict[str, Any]] = {
    # Section 5.3: an MLP with 128 hidden units. The paper does not give σ; the margin only keeps S_y free of ties.
    "paper": {"network": "mlp", "relabel": False, "sigma": 1.0, "margin": 2.0**-10},
    # S_y is almost convex, so nothing is gained by starting warm: the nearest feasible points (γ = 0) from the first
    # epoch on. The whole margin that integer weights allow leaves the network room to err. σ, γ and the schedule count
    # only for another kernel.
    "best": EXACT
    | {"network": "gnn", "kernel": "nearest", "epochs": 20, "learning_rate": 3e-3}
    | {"relabel": False, "sigma": 1.0, "margin": 1.0},
}


@TASKS.register("sdsp")
@dataclass(frozen=True, kw_only=True)
class ShortestPaths(Problem):
    """Shortest paths to one vertex: learn distances that lead A* right, from the paths alone."""

    name: ClassVar[str] = "sdsp"
    kernels = PATH_KERNELS
    networks = PATH_NETWORKS
    inverses = PATH_INVERSES
    absent: ClassVar[tuple[str, ...]] = ("projection", "standardise", "augment", "keep", "known", "anchors", "noise")

    nodes: int = 30
    """Vertices of a graph."""
    train_size: int = 3000
    """Training graphs."""
    test_size: int = 1000
    """Test graphs."""
    relabel: bool | None = None
    """mlp only: name the vertices of a training graph anew each time it is seen."""
    sigma: float | None = None
    """σ, the spread the network is credited with at γ = 1."""
    margin: float | None = None
    """By how much true next hops must lead in a feasible z, at most 1."""

    def load(self, seed: int) -> Split:
        train = random_graphs(self.train_size, self.nodes, stream(seed, "train graphs"))
        test = random_graphs(self.test_size, self.nodes, stream(seed, "test graphs"))
        note = f"Random graphs of {self.nodes} vertices, weights 1 … 9: a spanning tree and more edges, by networkx."
        return Split(train.examples(), test.examples(), note)

    def task(self, inverse: str = "intervals", **solver: Any) -> Task:
        margin = 0.0 if self.margin is None else self.margin
        sigma = 1.0 if self.sigma is None else self.sigma
        if not margin <= 1:
            raise DataError(f"margin={margin} was given; with whole-number weights a margin above 1 may empty S_y.")
        if not 1e-6 <= sigma <= 1e6:  # distances are whole numbers, most below a hundred
            raise DataError(f"sigma={sigma:g} was given; expected a spread from 1e-06 to 1e+06.")
        return sdsp_task(self.nodes, sigma, margin, inverse, **solver)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        # An unbounded set has no uniform law to draw from: only the paper's walk has a warm-up.
        walks = name == "paper" and given.get("kernel", "metropolis") == "metropolis"
        warmup = min(10, given.get("epochs", 110) * 10 // 110) if walks else 0
        return {"inverse": "intervals"} | PRESETS[name] | {"warmup": warmup}

    def grounding(self, recipe: Recipe, task: Task, answers: Sequence[Any] | None = None) -> Objective:
        if recipe.kernel != "nearest":
            kernel = PATH_KERNELS[recipe.kernel](task, recipe.steps, recipe.marginals)  # steps are sweeps here
            return SoftenedGrounding(kernel, self.schedule(recipe))
        if recipe.objective != "grounding":
            raise LearnerError(
                f"The objective {recipe.objective} holds γ at {recipe.gamma:g}, but the kernel 'nearest' is γ = 0. Use "
                "the kernel gibbs, or the preset paper."
            )
        return point_mass(task)

    def zero(self, recipe: Recipe, task: Task) -> Objective:
        """The nearest feasible points, the limit of Q* as γ → 0.

        The paper's Stage II learns from feasible predictions. A Gaussian's gradient at its mean is 0: nothing to learn.
        """
        if recipe.zero_objective == "ngs":
            raise LearnerError(
                f"Stage II was to learn by ngs; back-search corrects one symbol of an alphabet, and {task.space!r} has "
                "none. Leave it out."
            )
        return point_mass(task)

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        if recipe.network == "mlp":
            return PathMLP(self.nodes, relabel=bool(self.relabel))
        return PathGNN(self.nodes)
