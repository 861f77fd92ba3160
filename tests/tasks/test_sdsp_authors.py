"""Shortest paths as the authors' code has them: graphs, network, margin, dropped vertices, accuracy and reward.

A statistical test here may fail a right generator with probability ``ALARM``; seeds are fixed, so a pass stays a pass.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from budget import p_value
from softground.errors import ConstraintError, DataError, SoftgroundError
from softground.experiments import Experiment
from softground.reals import Gaussian
from softground.tasks import ShortestPaths
from softground.tasks.sdsp import Differences, Intervals, random_graphs, sdsp_task
from softground.tasks.sdsp.graphs import recursive_tree, solved, uniform_tree
from softground.tasks.sdsp.networks import PathMLP, closeness
from softground.tasks.sdsp.problem import dropped

ALARM = 1e-5


@pytest.mark.parametrize("vertex", [2, 3, 5])
def test_a_vertex_of_a_recursive_tree_joins_any_earlier_one(vertex: int) -> None:
    rng = np.random.default_rng(0)
    trees = [recursive_tree(6, rng) for _ in range(3000)]
    assert all([b for _, b in tree] == [1, 2, 3, 4, 5] for tree in trees)
    counts = torch.bincount(torch.tensor([tree[vertex - 1][0] for tree in trees]), minlength=vertex)
    uniform = torch.full((vertex,), 1 / vertex, dtype=torch.float64)
    assert p_value(counts, uniform) > ALARM
    slanted = torch.arange(1, vertex + 1).double()
    assert p_value(counts, slanted / slanted.sum()) < ALARM  # the test can fail


def test_other_trees_are_uniform_on_all_labelled_ones() -> None:
    """Cayley: 16 trees of four vertices. The recursive ones are six of them."""
    rng = np.random.default_rng(0)

    def shapes(draw: Any, count: int) -> list[frozenset[frozenset[int]]]:
        return [frozenset(frozenset(edge) for edge in draw(4, rng)) for _ in range(count)]

    found = shapes(uniform_tree, 3200)
    kinds = sorted(set(found), key=str)
    assert len(kinds) == 16
    counts = torch.bincount(torch.tensor([kinds.index(tree) for tree in found]), minlength=16)
    assert p_value(counts, torch.full((16,), 1 / 16, dtype=torch.float64)) > ALARM
    assert len(set(shapes(recursive_tree, 400))) == 6


def test_the_destination_of_the_authors_graphs_is_a_hub() -> None:
    """Its mean degree is 1 + 1/2 + … + 1/29 = 3.96 in the tree, against 29/15 in a uniform one; 35 edges more.

    Over 1,000 graphs the standard error is below 0.1, and 4.5 of them are as far as 1e-5.
    """
    for trees, tree_degree in (("recursive", sum(1 / k for k in range(1, 30))), ("uniform", 58 / 30)):
        graphs = random_graphs(1000, 30, 0, trees)  # type: ignore[arg-type]
        degree = (graphs.weights[:, 0] > 0).sum(-1).double()
        expected = tree_degree + 35 * (29 - tree_degree) / (435 - 29)  # the rest are uniform on the pairs left
        assert abs(float(degree.mean()) - expected) < 4.5 * float(degree.std()) / 1000**0.5
        assert float(degree.std()) / 1000**0.5 < 0.1
        edges = (graphs.weights > 0).sum((1, 2)) // 2
        assert (int(edges.min()), int(edges.max())) == (29, 99)
        mean = graphs.distances.mean(0)
        assert (float(mean[20:].mean() - mean[1:11].mean()) > 1) == (trees == "recursive")  # low names are near


def test_the_authors_network_is_rectified() -> None:
    x = random_graphs(8, 10, 0).weights
    network = PathMLP(10, rectified=True)
    first, last = network.layers[1], network.layers[3]
    seen = torch.where(x == 0, 0.0, 1 - x / 10)
    assert torch.allclose(seen, closeness(x) * 0.9)
    expected = last(first(seen.flatten(1)).relu()).relu()
    assert torch.allclose(network(x), expected, atol=1e-6)
    assert bool((network(x) == 0).any())
    assert bool((network(x) >= 0).all())
    assert bool((PathMLP(10)(x) < 0).any())


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_has_the_largest_margin_that_has_a_solution(seed: int) -> None:
    """Against a search over all choices of one next hop per vertex, each a system of differences (Bellman, Ford)."""
    graphs = random_graphs(12, 7, seed, "recursive")
    task = sdsp_task(7, margin=6.0)
    y = task.constraint.encode(graphs.examples().y)
    margins = (-y[:, 1]).amax((1, 2))
    for graph in range(len(y)):
        has = [m for m in range(1, 7) if _solvable(graphs.weights[graph], graphs.hops[graph], m)]
        assert margins[graph] == max(has)
    assert len(margins.unique()) > 2
    start = task.inverse.start(y, 0)
    assert bool(start.found.all())
    assert task.figures(start.z, y, None)["feasible"] == 1.0
    closer = Differences(Gaussian(7), 7.0, 7.0)
    assert not bool(Intervals(closer).start(closer.encode(graphs.examples().y), 0).found.all())


def _solvable(weights: torch.Tensor, hops: torch.Tensor, margin: int) -> bool:
    n = len(weights)
    for choice in itertools.product(*(hops[j].nonzero().flatten().tolist() for j in range(1, n))):
        longest = torch.full((n, n), -torch.inf).fill_diagonal_(0.0)
        for j, h in enumerate(choice, start=1):
            for k in ((weights[j] > 0) & ~hops[j]).nonzero().flatten().tolist():  # z_k ≥ z_h + w_jh + m − w_jk
                longest[h, k] = max(float(longest[h, k]), float(weights[j, h] - weights[j, k]) + margin)
        for via in range(n):
            longest = torch.maximum(longest, longest[:, via, None] + longest[None, via])
        if bool((longest.diagonal() <= 0).all()):
            return True
    return False


def test_a_lowest_margin_above_the_margin_is_refused() -> None:
    with pytest.raises(ConstraintError, match=r"lowest=2.0 was given; expected a margin from 0 to 1\."):
        Differences(Gaussian(3), 1.0, 2.0)


def test_chains_for_a_rectified_network_start_at_zero_and_above() -> None:
    graphs = random_graphs(5, 8, 0).examples()
    for nonnegative in (True, False):
        task = sdsp_task(8, margin=1.0, nonnegative=nonnegative)
        z = task.inverse.start(task.constraint.encode(graphs.y), 0).z
        middle = z.amin(-1) if nonnegative else z.mean(-1)
        assert torch.allclose(middle, torch.zeros(5, dtype=torch.float64), atol=1e-5)


def test_dropped_vertices_are_those_of_the_text_or_of_the_code() -> None:
    assert dropped(30) == dropped(30, "fifth") == [4, 9, 14, 19, 24]
    assert dropped(30, "sixth") == [0, 6, 12, 18, 24]
    for which, first in (("fifth", 4), ("sixth", 0)):
        problem = ShortestPaths(dropped=which)  # type: ignore[arg-type]
        assert problem.walk(problem.task()).drop.sites[0] == first  # type: ignore[attr-defined]


def test_accuracy_counts_the_destination_or_not() -> None:
    """On the line 0 – 1 – 2 with a detour: z sends vertex 2 the long way, vertex 1 is right."""
    weights = torch.tensor([[[0.0, 1, 5], [1, 0, 1], [5, 1, 0]]])
    graphs = solved(weights)
    task = sdsp_task(3)
    y = task.constraint.encode(graphs.examples().y)
    wrong = torch.tensor([[-9.0, 0.0, 0.0]], dtype=torch.float64)
    assert task.reward(wrong, y).tolist() == [2.0]
    assert task.reward(graphs.distances.double(), y).tolist() == [3.0]
    figures = task.figures(wrong, y, None)
    assert figures["path_accuracy"] == pytest.approx(1 / 2)
    assert figures["path_accuracy_all"] == pytest.approx(2 / 3)


def test_the_authors_accuracy_is_ours_with_one_path_more() -> None:
    graphs = random_graphs(300, 30, 1, "recursive")
    task = sdsp_task(30)
    y = task.constraint.encode(graphs.examples().y)
    z = (graphs.distances + 2 * torch.randn(300, 30, generator=torch.Generator().manual_seed(0))).double()
    figures = task.figures(z, y, None)
    assert 0.2 < figures["path_accuracy"] < 0.9
    assert figures["path_accuracy_all"] == pytest.approx((29 * figures["path_accuracy"] + 1) / 30)
    assert float(task.reward(z, y).mean()) == pytest.approx(30 * figures["path_accuracy_all"])


def test_the_papers_preset_is_the_authors_setting() -> None:
    paper, best = (ShortestPaths().recipe(name).problem for name in ("paper", "best"))
    assert (paper["trees"], paper["rectified"], paper["dropped"]) == ("recursive", True, "sixth")
    assert (paper["margin"], paper["sigma"]) == (6.0, 15**0.5)
    assert (best["trees"], best["rectified"]) == ("uniform", False)
    assert ShortestPaths(trees="recursive").recipe("best").problem["trees"] == "recursive"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"margin": 100.5}, DataError, "margin=100.5 was given; expected a number from 0 to 100"),
        ({"margin": -1.0}, ConstraintError, "margin=-1.0 was given"),
        ({"trees": "binary"}, SoftgroundError, "trees='binary' was given; expected one of"),
        ({"dropped": "third"}, SoftgroundError, "dropped='third' was given; expected one of"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Experiment.named("sdsp", train_size=2, test_size=2, **options)
