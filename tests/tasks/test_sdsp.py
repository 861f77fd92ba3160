"""Shortest paths: graphs, A*, figures, networks, chains and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.sparse.csgraph import connected_components, dijkstra

from softground import Task
from softground.cli import main
from softground.dice import Sampler
from softground.errors import DataError, SoftgroundError
from softground.experiments import Experiment
from softground.learner import Learner, grounding_stages
from softground.reals import Gaussian
from softground.target import Target
from softground.tasks.sdsp import Differences, Intervals, ShortestPaths, random_graphs, sdsp_task
from softground.tasks.sdsp.graphs import solved
from softground.tasks.sdsp.networks import PathGNN, PathMLP
from softground.tasks.sdsp.path_task import search, shortest_found, spearman
from softground.tasks.sdsp.problem import PATH_KERNELS, dropped


def test_graphs_are_as_the_paper_describes() -> None:
    graphs = random_graphs(300, 30, seed=0)
    edges = (graphs.weights > 0).sum((1, 2)) // 2
    assert torch.equal(graphs.weights, graphs.weights.transpose(1, 2))
    assert int(edges.min()) >= 29
    assert int(edges.max()) <= 99
    assert int(edges.min()) < 35
    assert int(edges.max()) > 93
    assert 60 < float(edges.double().mean()) < 68
    used = graphs.weights[graphs.weights > 0]
    assert sorted(used.unique().tolist()) == list(range(1, 10))
    assert all(connected_components(w.numpy())[0] == 1 for w in graphs.weights)
    assert torch.equal(graphs.weights, random_graphs(300, 30, seed=0).weights)
    assert not torch.equal(graphs.weights, random_graphs(300, 30, seed=1).weights)
    assert bool((graphs.hops[:, 1:].sum(-1) >= 1).all())
    assert bool((graphs.hops.sum(-1) > 1).any())
    assert not bool(graphs.hops[:, 0].any())


def test_impossible_graphs_are_refused() -> None:
    with pytest.raises(DataError):
        random_graphs(0, 30, 0)
    with pytest.raises(DataError):
        random_graphs(1, 2, 0)
    for count, nodes in ((10**15, 30), (1, 10**9)):
        with pytest.raises(DataError, match="bytes of memory: ask for fewer"):
            random_graphs(count, nodes, 0)
    with pytest.raises(DataError, match="connected"):
        solved(torch.zeros(1, 3, 3))


def test_search_with_true_distances_finds_every_shortest_path() -> None:
    graphs = random_graphs(300, 30, seed=2)
    cost, steps = search(graphs.weights, graphs.distances)
    for g, weights in enumerate(graphs.weights.numpy()):
        assert np.array_equal(cost[g].numpy(), dijkstra(weights, directed=False, indices=0))
    assert bool(shortest_found(graphs.weights, graphs.hops, graphs.distances).all())
    assert bool((steps[..., -1] == 0).all())


def test_search_judges_paths_by_their_cost() -> None:
    """Next hops and costs tell the same story, whatever the estimates; failed walks count as failures."""
    graphs = random_graphs(100, 12, seed=3)
    noise = 3 * torch.randn(graphs.distances.shape, generator=torch.Generator().manual_seed(0))
    cost, steps = search(graphs.weights, graphs.distances + noise)
    found = shortest_found(graphs.weights, graphs.hops, graphs.distances + noise)
    assert torch.equal(found, cost == graphs.distances)
    assert bool(torch.isinf(cost).any())
    assert 0.2 < float(found.double().mean()) < 0.95
    for walk in steps[:20].flatten(0, 1).tolist():  # no vertex twice
        stays = [v for i, v in enumerate(walk) if i == 0 or v != walk[i - 1]]
        assert len(set(stays)) == len(stays)


@pytest.mark.parametrize("margin", [2.0**-10, 1.0])
def test_feasible_estimates_lead_everywhere(margin: float) -> None:
    graphs = random_graphs(100, 30, seed=4)
    task = sdsp_task(30, margin=margin)
    y = task.constraint.encode(graphs.examples().y)
    figures = task.figures(task.inverse.start(y, 0).z, y, None)
    assert figures == {"path_accuracy": 1.0, "path_accuracy_all": 1.0, "graph_accuracy": 1.0, "feasible": 1.0}


def test_spearman_is_scipys() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(0, 6, (20, 15), generator=generator).double() for _ in range(2))
    expected = [stats.spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    assert np.allclose(spearman(a, b).numpy(), expected)
    assert spearman(torch.zeros(1, 5), torch.arange(5.0)[None]).item() == 0.0


@pytest.mark.parametrize("kernel", ["metropolis", "gibbs", "blocks", "nearest"])
def test_every_state_a_chain_holds_is_feasible(kernel: Any) -> None:
    task = sdsp_task(30, margin=2.0**-10)
    graphs = random_graphs(40, 30, seed=5)
    y = task.constraint.encode(graphs.examples().y)
    state = task.inverse.start(y, 0).z
    dice, walk, moved = Sampler(0), PATH_KERNELS[kernel](ShortestPaths().walk(task), 1, True), 0.0
    for step, gamma in enumerate([10.0, 1.0, 0.1, 0.01, 0.001] if kernel != "nearest" else [0.0, 0.0]):
        output = graphs.distances * (step / 4) + torch.randn(40, 30, generator=torch.Generator().manual_seed(step))
        target = Target.at(task.space.belief(output), y, gamma)
        for _ in range(3):
            state, info = walk.step(dice, state, target)
            moved += float(info.moved.double().mean())
            assert bool(task.feasible(state, y).all())
            assert bool(shortest_found(graphs.weights, graphs.hops, state).all())
    assert moved > 0.5


def test_two_vertices_leave_nothing_to_project() -> None:
    with pytest.raises(SoftgroundError):
        dropped(2)


def test_networks_read_graphs() -> None:
    graphs = random_graphs(6, 10, seed=0).weights
    order = torch.tensor([0, 3, 1, 2, 9, 8, 7, 6, 5, 4])
    gnn = PathGNN(10).eval()
    renamed = gnn(graphs[:, order][:, :, order])
    assert torch.allclose(renamed, gnn(graphs)[:, order], atol=1e-5)
    plain, relabelling = PathMLP(10), PathMLP(10, relabel=True)
    relabelling.load_state_dict(plain.state_dict())
    assert sum(p.numel() for p in PathMLP(30).parameters()) == 900 * 128 + 128 + 128 * 30 + 30
    assert torch.equal(relabelling.eval()(graphs), plain(graphs))
    assert not torch.equal(relabelling.train()(graphs), plain(graphs))
    # A network that adds up each vertex's edges gives the same whatever the names.
    for layer in (relabelling,):
        with torch.no_grad():
            layer.layers[1] = torch.nn.Identity()
            layer.layers[2] = torch.nn.Identity()
            layer.layers[3] = torch.nn.Linear(100, 10)
            layer.layers[3].weight.copy_(torch.eye(10).repeat_interleave(10, 1))
            layer.layers[3].bias.zero_()
        assert torch.allclose(layer.train()(graphs), layer.eval()(graphs), atol=1e-5)
    with pytest.raises(DataError):
        plain(torch.zeros(2, 9, 9))


def test_a_task_of_ones_own_needs_no_inverse_and_no_kernel() -> None:
    graphs = random_graphs(40, 6, seed=0)
    space = Gaussian(6)
    task = Task(space, Differences(space, 0.5), metrics=lambda predicted, feasible, symbols: {"right": 0.0})
    assert isinstance(task.inverse, Intervals)
    learner = Learner(task, PathMLP(6), grounding_stages(task, epochs=2), device="cpu")
    data = graphs.examples()
    learner.fit(data)
    assert learner.history_[0]["loss"] > learner.history_[-1]["loss"]
    assert bool(task.feasible(learner.predict_codes(data.x, data.y), task.constraint.encode(data.y)).all())


def test_impossible_options_are_refused() -> None:
    with pytest.raises(DataError, match="margin"):
        Experiment.named("sdsp", margin=float("nan"), train_size=2, test_size=2)
    for sigma in (0.0, 1e-320, 1e308, float("nan")):
        with pytest.raises(DataError, match=r"sigma=.* was given; expected a spread"):
            Experiment.named("sdsp", sigma=sigma, train_size=2, test_size=2)
    assert ShortestPaths().recipe("paper", kernel="gibbs").warmup == 0


TINY = [
    "--nodes",
    "8",
    "--train-size",
    "160",
    "--test-size",
    "100",
    "--quiet",
    "--device",
    "cpu",
    "--network",
    "mlp",
    "--batch-size",
    "16",
    "--evaluate-every",
    "10",
]


@pytest.mark.parametrize(
    ("extra", "gain"),
    [
        (["--epochs", "8", "--relabel", "--learning-rate", "0.01"], 0.15),
        (["--epochs", "8", "--relabel", "--learning-rate", "0.01", "--kernel", "gibbs"], 0.15),
        (["--epochs", "3", "--preset", "paper", "--zero-epochs", "2"], 0.03),
        (["--epochs", "8", "--objective", "sup", "--learning-rate", "0.01"], 0.1),
    ],
    ids=["best", "gibbs", "paper", "sup"],
)
def test_the_command_line_learns(tmp_path: Path, extra: list[str], gain: float) -> None:
    out = tmp_path / "run"
    assert main(["train", "sdsp", *TINY, *extra, "--out", str(out)]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["task"] == "sdsp"
    assert {"path_accuracy", "spearman", "feasible"} <= set(summary)
    assert summary["path_accuracy"] > summary["before"]["path_accuracy"] + gain
    assert summary["spearman"] > 0.1
