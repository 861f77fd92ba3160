"""MNIST addition: the rule, the data, the kernels by name, and learning from sums alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground import Examples, Stage
from softground.data.digits import Digits
from softground.errors import DataError, LearnerError, SpaceError
from softground.experiments import Experiment
from softground.kernels import Collapsed, Exact, Guided, Metropolis, Uniform
from softground.learner import Learner, one_cycle
from softground.schedules import Constant
from softground.tasks.addition import Addition, addition_program, addition_scan, addition_task, deal
from softground.training import SoftenedGrounding


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_scan_and_program_agree(digits: int) -> None:
    scan, program = addition_scan(digits), addition_program(digits)
    generator = torch.Generator().manual_seed(digits)
    z = torch.randint(10, (500, 2 * digits), generator=generator)
    numbers = [int("".join(map(str, row[:digits]))) + int("".join(map(str, row[digits:]))) for row in z.tolist()]
    wrong = [n + d for n, d in zip(numbers, torch.randint(-1, 2, (500,), generator=generator).tolist(), strict=True)]
    wrong = [max(0, n) for n in wrong]
    expected = torch.tensor([a == b for a, b in zip(numbers, wrong, strict=True)])
    for rule in (scan, program):
        assert torch.equal(rule.feasible(z, rule.encode(wrong)), expected)


@pytest.mark.parametrize(("digits", "rule"), [(2, "scan"), (2, "program"), (30, "scan")])
def test_predicted_digits_are_added_up(digits: int, rule: Any) -> None:
    z = torch.randint(10, (20, 2 * digits), generator=torch.Generator().manual_seed(0))
    constraint = addition_task(digits, rule).constraint
    found = constraint.compute(z)
    assert found[0] == sum(10 ** (digits - 1 - site % digits) * d for site, d in enumerate(z[0].tolist()))
    assert bool(constraint.feasible(z, constraint.encode(found)).all())


def test_every_image_is_used_once() -> None:
    labels = np.arange(47, dtype=np.uint8) % 10
    images = np.arange(47, dtype=np.uint8)[:, None, None].repeat(2, 1).repeat(2, 2)
    pairs = deal(Digits(images, labels), 2, np.random.default_rng(0))
    assert tuple(pairs.x.shape) == (11, 4, 1, 2, 2)
    shown = pairs.x[:, :, 0, 0, 0].flatten().tolist()
    assert len(set(shown)) == 44
    assert pairs.symbols is not None
    assert [n % 10 for n in shown] == pairs.symbols.flatten().tolist()
    assert [10 * a + b + 10 * c + d for a, b, c, d in pairs.symbols.tolist()] == list(pairs.y)


def test_training_and_test_images_are_disjoint_and_decided_by_the_seed() -> None:
    one, again, other = (Addition(digits=2).load(seed) for seed in (0, 0, 1))
    assert torch.equal(one.train.x, again.train.x)
    assert not torch.equal(one.train.x, other.train.x)
    seen = {row.tobytes() for row in one.train.x.flatten(0, 1).flatten(1).numpy()}
    held_out = [row.tobytes() for row in one.test.x.flatten(0, 1).flatten(1).numpy()]
    assert sum(row in seen for row in held_out) <= len(held_out) // 50  # a few of the small images are equal by chance


@pytest.mark.parametrize(
    ("name", "kind"),
    [("exact", Exact), ("guided", Guided), ("collapsed", Collapsed), ("uniform", Uniform), ("metropolis", Metropolis)],
)
def test_kernels_by_name(name: Any, kind: type) -> None:
    for rule in ("scan", "program"):
        problem = Addition(digits=2, rule=rule)  # type: ignore[arg-type]
        objective = problem.grounding(problem.recipe(kernel=name), problem.task())
        assert isinstance(objective, SoftenedGrounding)
        assert isinstance(objective.kernel, kind)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"digits": 0}, SpaceError, "at least one digit"),
        ({"digits": 10**15}, SpaceError, "at most 4,000"),
        ({"digits": 10**20}, LearnerError, "digits=1.* was given; whole numbers stay below"),
        ({"digits": 400}, DataError, "fewer digits"),
        ({"digits": 19, "rule": "program", "train_size": 1}, SpaceError, "Use the scan"),
        ({"digits": 9, "rule": "program", "train_size": 1}, LearnerError, "a listing or a scan"),
        ({"train_size": 10**6}, DataError, "make 1 to"),
        ({"data": "mnist"}, DataError, "give the folder that holds"),
    ],
)
def test_bad_options(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Experiment.named("addition", **given)


EXACT = {"network": "lenet", "epochs": 4}
GUIDED = {"network": "convnet", "epochs": 8, "train_size": 500, "kernel": "guided", "steps": 2}


@pytest.mark.parametrize("options", [EXACT, EXACT | {"rule": "program"}, GUIDED], ids=["scan", "program", "guided"])
def test_digits_are_learnt_from_sums(options: dict[str, Any]) -> None:
    """Clearly above the 10 % of chance after a short run; nothing but sums was seen."""
    experiment = Experiment.named("addition", learning_rate=3e-3, augment=False, **options)
    learner = Learner(
        experiment.task, experiment.network, experiment.stages, batch_size=16, device="cpu", evaluate_every=100
    )
    learner.fit(experiment.train, experiment.test)
    assert learner.results_["I"]["symbol_accuracy"] > 0.5
    assert learner.results_["I"]["sum_accuracy"] > 0.3


def test_a_number_of_fifteen_digits_can_be_trained_on(tmp_path: Path) -> None:
    experiment = Experiment.named("addition", digits=15, network="lenet", epochs=1, augment=False)
    assert experiment.batch_size == 17
    learner = Learner(experiment.task, experiment.network, experiment.stages, batch_size=16, device="cpu")
    learner.fit(experiment.train, experiment.test, out=tmp_path / "run")
    assert learner.loop.parts[0].memory == [{}]  # the law needs no chains


def columns(digits: int, warmup: int, seed: int) -> float:
    """Share of digits that a small network reads rightly after learning from sums of long numbers."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randint(10, (100, 2 * digits), generator=generator)
    x = torch.nn.functional.one_hot(z, 10).float() + 0.3 * torch.randn(100, 2 * digits, 10, generator=generator)
    rows = ["".join(map(str, row)) for row in z.tolist()]
    task = addition_task(digits)
    torch.manual_seed(100 + seed)
    network = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    objective = SoftenedGrounding(Exact(task.inverse), Constant(1.0, warmup=warmup))
    stage = Stage("I", objective, 5, lambda p: torch.optim.AdamW(p, lr=2e-2), one_cycle())
    learner = Learner(task, network, [stage], batch_size=2, seed=seed, device="cpu")
    learner.fit(Examples(x, [int(row[:digits]) + int(row[digits:]) for row in rows]))
    return (learner.predict_codes(x) == z).double().mean().item()


def test_a_warm_up_decides_between_a_digit_and_five_more() -> None:
    """Without it runs read every digit d as d + 5 modulo 10, which fits every column that knows no carry."""
    assert min(columns(100, 1, seed) for seed in (0, 1)) > 0.9
    assert columns(100, 0, 0) < 0.1


def test_long_numbers_have_a_warm_up() -> None:
    assert Addition(digits=100).recipe().warmup == 1
    assert Addition(digits=4).recipe().warmup == 0
    assert Addition(digits=100).recipe(warmup=0).warmup == 0
