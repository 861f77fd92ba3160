"""Kand-Logic: the rule against brute force, its exact law, what is drawn, and runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import softground as sg
from softground.cli import main
from softground.errors import DataError
from softground.experiments import Experiment
from softground.inverses import Scanned
from softground.target import Target
from softground.tasks.kandinsky import KandLogic, boxes, covered, cut_out, kand_scan, place

RGB = np.array([[255, 0, 0], [255, 255, 0], [0, 0, 255]])


def equal_patterns(values: list[int]) -> bool:
    """Whether three figures of three values have one pattern."""
    return len({len(set(values[figure : figure + 3])) for figure in (0, 3, 6)}) == 1


@pytest.mark.parametrize(("form", "holds"), [("or", any), ("and", all)])
def test_the_rule_equals_brute_force(form: Any, holds: Any) -> None:
    z = torch.randint(9, (2000, 9), generator=torch.Generator().manual_seed(0))
    direct = [holds(map(equal_patterns, ((z[row] // 3).tolist(), (z[row] % 3).tolist()))) for row in range(len(z))]
    assert kand_scan(form).compute(z) == direct
    assert {True, False} == set(direct)


@pytest.mark.parametrize(("form", "true"), [("or", 202_242_825), ("and", 36_905_625)])
def test_the_law_counts_all_scenes(form: Any, true: int) -> None:
    rule = kand_scan(form)
    y = rule.encode([True, False])
    mass = Scanned(rule).law(Target(rule.space.uniform(2, torch.device("cpu")), y, 1.0)).log_mass().exp()
    assert mass.round().tolist() == [true, 3**18 - true]


def test_the_law_of_one_figure_is_that_of_brute_force() -> None:
    """With six objects known, the law is a sum over 9³ scenes."""
    rule = kand_scan()
    scores = torch.randn(1, 9, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    known = torch.tensor([[0, 4, 8, 1, 1, 5, -1, -1, -1]])
    belief = rule.space.belief(scores).given(known)
    rest = torch.cartesian_prod(*[torch.arange(9)] * 3)
    z = torch.cat([known[:, :6].expand(len(rest), -1), rest], 1)
    logs = scores.log_softmax(-1)[0]
    weight = sum(logs[site, z[:, site]] for site in (6, 7, 8))
    holds = torch.tensor(rule.compute(z))
    for answer in (True, False):
        mass = Scanned(rule).law(Target(belief, rule.encode([answer]), 1.0)).log_mass()
        assert math.isclose(float(mass), float(weight[holds == answer].logsumexp(0)), abs_tol=1e-9)


def test_objects_never_cover_one_another_and_stay_inside() -> None:
    rng = np.random.default_rng(0)
    shapes = rng.integers(3, size=(200, 3))
    size, centre = place(shapes, rng)
    pixels = np.tile(np.arange(120, dtype=np.float32) + 0.5, (600, 1))
    mask = covered(shapes.ravel(), size.ravel(), centre.reshape(-1, 2), pixels, pixels)
    assert mask.reshape(200, 3, 120, 120).sum(1).max() == 1
    assert size.min() >= 20
    assert size.max() <= 40
    assert {*np.unique(centre)} <= {*range(20, 101)}
    area = mask.sum((1, 2)) / size.ravel() ** 2
    expected = {0: 0.49, 1: 0.49 * 4 / math.pi, 2: 0.49 * 27 / 16 * math.sqrt(3) * 3 / 16}
    for shape, share in expected.items():
        assert abs(area[shapes.ravel() == shape].mean() - share) < 0.02
    box = boxes(shapes.ravel(), size.ravel(), centre.reshape(-1, 2))
    for own, (left, top, right, bottom) in zip(mask[:50], box[:50], strict=True):
        assert own.sum() == own[top:bottom, left:right].sum()


def test_cut_outs_show_shape_and_colour() -> None:
    rng = np.random.default_rng(1)
    shapes, colours = rng.integers(3, size=(100, 3)), rng.integers(3, size=(100, 3))
    drawn = cut_out(shapes, colours, rng)
    assert drawn.shape == (100, 3, 3, 28, 28)
    middle = drawn[:, :, :, 14, 14].astype(int)
    assert (middle == RGB[colours]).all()
    ink = (drawn != 255).any(2).mean((2, 3))
    order = [float(np.median(ink[shapes == shape])) for shape in range(3)]
    assert order[0] > 0.9 > order[1] > 0.7 > order[2] > 0.4  # a square fills its box, a circle π/4, a triangle half


def test_scenes_are_half_true_and_decided_by_the_seed() -> None:
    split, again, other = (KandLogic(train_size=40).load(seed) for seed in (0, 0, 1))
    assert (len(split.train), len(split.validation), len(split.test)) == (40, 10, 10)
    assert sum(split.train.y) == 20
    assert kand_scan().compute(split.train.symbols) == split.train.y
    assert torch.equal(split.train.x, again.train.x)
    assert not torch.equal(split.train.symbols, other.train.symbols)
    assert split.train.x.shape == (40, 9, 3, 28, 28)
    assert sum(KandLogic(train_size=40, form="and").load(0).train.y) == 20
    with pytest.raises(DataError, match="four scenes or more"):
        KandLogic(train_size=3).load(0)


def test_shapes_and_colours_by_themselves_are_a_product() -> None:
    made = Experiment.named("kandlogic", head="attributes", train_size=8, network="lenet")
    with torch.no_grad():
        belief = made.task.space.belief(made.network(made.train.x)).marginals().view(8, 9, 3, 3)
    product = belief.sum(3, keepdim=True) * belief.sum(2, keepdim=True)
    assert torch.allclose(belief, product, atol=1e-6)


def test_figures_of_objects() -> None:
    task = KandLogic().task()
    symbols = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8]])
    figures = task.figures(symbols // 3 * 3, task.constraint.encode([True]), symbols)
    assert figures == {
        "scene_accuracy": 1.0,
        "symbol_accuracy": pytest.approx(1 / 3),
        "shape_accuracy": 1.0,
        "colour_accuracy": pytest.approx(1 / 3),
    }


def test_a_run_with_three_labels(tmp_path: Path) -> None:
    tiny = ["--train-size", "16", "--epochs", "1", "--network", "lenet", "--device", "cpu", "--head", "attributes"]
    three = ["--anchor-symbols", "red-square", "yellow-square", "red-circle"]
    assert main(["train", "kandlogic", *tiny, *three, "--quiet", "--out", str(tmp_path / "run")]) == 0
    assert "attributes" in (tmp_path / "run" / "config.json").read_text()
    assert sg.load(tmp_path / "run" / "model").space.sites == 9
    made: Any = Experiment.named("kandlogic", "paper", train_size=8)
    assert made.recipe.kernel == "metropolis"
    walk = KandLogic().walk(made.task)
    assert walk.drop.draw(sg.dice.Sampler(0), 1, torch.device("cpu")).sites.tolist() == [[6, 7, 8]]
