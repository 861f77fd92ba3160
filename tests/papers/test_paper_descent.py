"""Proposition 1's inequality: constants that are right, controls that fail, and bugs that are noticed."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from papers.li2023 import bias
from papers.li2023 import descent as module
from papers.li2023.cell import Where
from papers.li2023.descent import LAWS, Descent, Law, descent, holds, product, smoothness
from papers.li2023.plan import plan
from papers.li2023.summary import Results
from papers.li2023.walks import Walk, distance
from papers.li2023.work import run
from softground.constraints import Program
from softground.inverses import Table
from softground.kernels import Metropolis
from softground.projections import ChangeOne, Drop
from softground.spaces import Categorical
from softground.target import Target
from tools.outcomes import transition_matrix


def sides(law: Law, gamma: float = 2.0, steps: int = 2048, runs: int = 1, **given: Any) -> dict[str, Any]:
    """Without noise unless asked for: then nothing is left to chance."""
    eta = torch.full((runs,), 4 / math.sqrt(steps), dtype=torch.float64)
    made = Descent(law, gamma, eta, torch.full((runs,), steps), **({"noisy": False} | given))
    (row,) = made.sides(torch.Generator().manual_seed(0), runs)
    return row


def loss(theta: Tensor, gamma: float) -> Tensor:
    walk = product()
    log_p = torch.stack([theta[: module.SIZES[0]].log_softmax(0)[z[0]] for z in walk.states])
    log_p = log_p + torch.stack([theta[module.SIZES[0] :].log_softmax(0)[z[1]] for z in walk.states])
    return -gamma * (log_p / gamma).logsumexp(0)


@pytest.mark.parametrize("gamma", [2.0, 1.0, 0.5])
def test_the_constants_are_right(gamma: float) -> None:
    """At random logits, sharp ones too: the Hessian's norm, the gradients' length, the least loss."""
    generator = torch.Generator().manual_seed(0)
    steepest = 0.0
    for spread in (0.1, 1.0, 3.0) * 20:
        theta = spread * torch.randn(sum(module.SIZES), generator=generator, dtype=torch.float64)
        hessian = torch.autograd.functional.hessian(lambda t: loss(t, gamma), theta)
        steepest = max(steepest, float(torch.linalg.matrix_norm(hessian, 2)))  # type: ignore[arg-type]
        assert float(loss(theta, gamma)) >= -max(gamma - 1, 0) * math.log(4)
        gradient = torch.autograd.functional.jacobian(lambda t: loss(t, gamma), theta)
        assert float(gradient.square().sum()) <= module.L2  # type: ignore[union-attr]
    assert 0.3 * smoothness(gamma) < steepest <= smoothness(gamma)
    assert pytest.approx(1 / 2 + 2 / 3) == module.NOISE


def test_the_gradient_is_that_of_the_loss() -> None:
    """A tiny step without bias or noise lowers ℓ by η‖∇ℓ‖²."""
    made = Descent(LAWS["Q\\*"], 2.0, torch.tensor([1e-6]).double(), torch.tensor([1]), noisy=False)
    first = made.run(torch.Generator().manual_seed(0))
    theta = module.SPREAD * torch.randn(1, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float(first["first"]) == pytest.approx(float(loss(theta[0], 2.0)))
    gradient = torch.autograd.functional.jacobian(lambda t: loss(t, 2.0), theta[0])
    assert float(first["left"]) == pytest.approx(float(gradient.square().sum()))  # type: ignore[union-attr]


def test_matrices_are_those_of_the_code_that_runs() -> None:
    space = Categorical([range(3)] * 3)
    program = Program(lambda a, b, c: a + b * c, space)
    table, y = Table(program), program.encode([2])
    walk = Walk(table, (0,), y)
    output = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def target(rows: int) -> Target[Any]:
        return Target.at(space.belief(output.expand(rows, -1, -1)), y.expand(rows), 0.7)

    weight = target(len(walk.states)).log_weight(walk.states)
    kernel = Metropolis(table, Drop(space, [0]), ChangeOne(space))
    matrix = transition_matrix(kernel, walk.states, target, space)
    assert torch.allclose(walk.matrix(weight), matrix, atol=1e-12)
    place = torch.tensor([0, 3])
    both = weight.expand(2, -1)
    assert torch.allclose(walk.after(both, place, 5), torch.linalg.matrix_power(matrix, 5)[place], atol=1e-12)
    assert torch.allclose(walk.settled(both, place), torch.linalg.matrix_power(matrix, 2**20)[place], atol=1e-9)


def test_a_walk_that_cannot_leave_settles_where_it_is() -> None:
    space = Categorical([range(2)] * 3)
    program = Program(lambda a, b, c: a == b == c, space)
    walk = Walk(Table(program), (0,), program.encode([True]))
    assert walk.settled(torch.zeros(2), torch.tensor(1)).tolist() == [0.0, 1.0]


def test_the_inequality_holds_and_fails_without_its_last_term() -> None:
    row = sides(LAWS["π"])
    assert holds(row, "bound")
    assert holds(row, "bias")
    assert not holds(row, None)  # so the test can fail
    assert row["left"] > 0.7 * (row["descent"] + row["bias"])  # and nearly does with the lemma's term
    assert row["bound"] < module.L2  # which every gradient would pass
    assert 0.14 < row["epsilon"] < 3 - 2 * math.sqrt(2)  # the most there can be with one fibre of two
    assert holds(sides(LAWS["Q\\*"]), None)


def test_it_holds_with_draws_too() -> None:
    row = sides(LAWS["π"], steps=1024, runs=16, noisy=True)
    assert holds(row, "bound")
    assert holds(row, "bias")


def uniform(walk: Walk, log_weight: Tensor, place: Tensor) -> Tensor:
    """Every proposal accepted: the acceptance test was forgotten."""
    return walk.settled(0 * log_weight, place)


def first(walk: Walk, log_weight: Tensor, place: Tensor) -> Tensor:
    """The solver's favourite and nothing else."""
    return torch.eye(len(walk.states), dtype=torch.float64)[0].expand_as(log_weight)


@pytest.mark.parametrize("bug", [uniform, first])
def test_draws_from_another_law_than_claimed_are_noticed(bug: Law) -> None:
    assert not holds(sides(LAWS["Q\\*"], drawn=bug), "bound")


def test_a_wrong_gradient_is_noticed() -> None:
    """Uphill by mistake: η changes its sign for the step, not for the right side."""
    made = Descent(LAWS["Q\\*"], 2.0, torch.tensor([-0.1]).double(), torch.tensor([2048]), noisy=False)
    (row,) = made.sides(torch.Generator().manual_seed(0), 1)
    assert not holds(row | {"descent": -row["descent"]}, "bound")


@pytest.mark.parametrize("wrong", [{"bias": 0.5}, {"descent": 0.05, "bias": 0.8}])
def test_a_wrong_constant_is_noticed(wrong: dict[str, float]) -> None:
    row = sides(LAWS["π"])
    assert not holds(row | {name: factor * row[name] for name, factor in wrong.items()}, "bias")


def test_distance_is_half_the_sum() -> None:
    assert float(distance(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.5, 0.5]))) == 0.5


def test_a_record_has_every_law_twice_and_is_the_same_again() -> None:
    found = descent(runs=2, steps=65, seed=3)
    assert found == descent(runs=2, steps=65, seed=3)
    assert len(found["rows"]) == 2 * 5 * 2 * 3
    assert {row["law"] for row in found["rows"]} == {*LAWS, module.SILENT}
    assert all(row["eta"] <= 1 / smoothness(row["gamma"]) for row in found["rows"])


def test_training_is_watched() -> None:
    cell = next(cell for cell in plan("hwf", 1, real=False, quick=True) if cell.name == "sharpening/0")
    found = run(cell, Where("cpu"))["result"]
    assert [row["epoch"] for row in found["rows"]] == [1, 2]
    for row in found["rows"]:
        for at in (row["now"], row["one"]):
            assert 0 <= at["unreached"] <= at["settled"] + 1e-9
            assert at["settled"] <= 1
            assert 0 <= at["after"] <= 1
        assert 1 / 14 < row["sharpness"] < 1


def looks(*after: float) -> Results:
    """A record of training in which the distance took these values."""
    at = [{"after": a, "settled": a / 2, "unreached": a / 3, "bias": a, "entropy": 1.0} for a in after]
    rows = [{"epoch": 7 * k, "gamma": 0.9**k, "sharpness": 0.5, "now": a, "one": a} for k, a in enumerate(at, 1)]
    result = {"rows": rows, "test": {"symbol_accuracy": 0.9}, "states": 100.0, "steps": 10}
    return Results([], {"sharpening": [{"result": result}]})


@pytest.mark.parametrize(
    ("after", "said", "caught"),
    [
        ((0.4, 0.3, 0.01), "the distance is wiped out and the gradient's bias is wiped out.", False),
        ((0.4, 0.3, 0.2), "the distance falls but is not wiped out and the gradient's bias falls but", True),
        ((0.4, 0.3, 0.4), "the distance does not fall and the gradient's bias does not fall.", True),
    ],
)
def test_the_verdict_is_read_off_the_records(after: tuple[float, ...], said: str, caught: bool) -> None:
    text = "\n".join(bias.remark(looks(*after)))
    assert said in text
    assert f"from 0.40 to {after[-1]:.2f} after T steps" in text
    assert ("cannot reach" in text) == caught


def test_the_page_counts_what_holds() -> None:
    found = descent(runs=2, steps=65, seed=0)
    worse = [row | {"left": 10.0} for row in found["rows"][:2]]  # above every right side but those that say nothing
    results = Results([], {"descent": [{"result": found | {"rows": worse + found["rows"][2:]}}]})
    text = "\n".join(bias.inequality(results))
    assert f"(nεL)²: it holds in {len(found['rows']) - 2} of {len(found['rows'])} cases." in text
    assert "fails in 2 cases" in text
    assert "could not have failed" in "\n".join(bias.inequality(Results([], {"descent": [{"result": found}]})))
    assert bias.inequality(Results([], {})) == bias.remark(Results([], {})) == ["Not measured yet."]
