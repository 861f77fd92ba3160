"""Growth on shortest paths: seconds and quality of a step against the number of vertices.

Graphs are the task's own. The true distances with normal noise of standard deviation 3 stand in for the network, so
that every size has an equally good one: most of its single distances are wrong, and so are many of its paths.

- **gibbs**: one sweep of the truncated-normal Gibbs sampler over all components (σ = 2, γ = 1).
- **nearest**: the nearest feasible points, the step of ``--preset best``.
- **quality**: after 5 sweeps from the least solution, and for the nearest points: the share of feasible states, of
  shortest paths that A* finds, and Spearman's correlation with the true distances; the noisy distances' own stand
  beside them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from measure import timed

from softground.dice import Sampler
from softground.kernels import Kernel
from softground.target import Target
from softground.tasks import ShortestPaths
from softground.tasks.sdsp.graphs import random_graphs
from softground.tasks.sdsp.kernels import PATH_KERNELS
from softground.tasks.sdsp.task import PathTask, sdsp_task

VERTICES = (30, 100, 300)
GRAPHS = 16
NOISE = 3.0
SWEEPS = 5


def vertices(device: str, quick: bool, seed: int) -> dict[str, Any]:
    """Seconds of a step of both kernels, and what they reach."""
    series: dict[str, Any] = {"gibbs": [], "nearest": [], "quality": []}
    for nodes in (10, 20) if quick else VERTICES:
        task = sdsp_task(nodes, sigma=2.0, margin=2.0**-10)
        graphs = random_graphs(GRAPHS, nodes, seed)
        examples = graphs.examples()
        y = task.constraint.encode(examples.y).to(device)
        truth = graphs.distances.double().to(device)
        noise = torch.randn(truth.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        guess = truth + NOISE * noise.to(device)
        target = Target.at(task.space.belief(guess), y, 1.0)
        start = task.inverse.start(y, seed).z
        walk = ShortestPaths().walk(task)
        kernels: dict[str, Kernel] = {name: PATH_KERNELS[name](walk, 1, True) for name in ("gibbs", "nearest")}
        point: dict[str, Any] = {"size": nodes, "network": worth(task, guess, y, truth)}
        for name, kernel in kernels.items():
            dice = Sampler(seed, device)
            seconds = timed(partial(kernel.step, dice, start, target), 2 if quick or nodes > 100 else 5, 1, device)
            series[name].append({"size": nodes, "seconds": seconds})
            state = start
            for _ in range(SWEEPS if name == "gibbs" else 1):
                state, _ = kernel.step(dice, state, target)
            point[name] = worth(task, state, y, truth)
        series["quality"].append(point)
    return series


def worth(task: PathTask, z: Any, y: Any, truth: Any) -> dict[str, float]:
    """Feasible states, paths found, Spearman's correlation."""
    figures = task.figures(z, y, truth)
    return {name: figures[name] for name in ("feasible", "path_accuracy", "spearman")}
