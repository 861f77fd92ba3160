"""Back-search: the same corrections as a search on the formula's tree, the walk's law, and m steps."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest
import torch
from torch import Tensor

from exhaustive import Replay
from learner_cases import addition
from lessons import Lesson
from papers.li2023.baselines import BackSearch
from papers.li2023.baselines.back_search import back_search, correct_one, walk
from problems import PROBLEMS, Problem, small_sum
from reals import PROBLEMS as REALS
from softground import Task
from softground.dice import Sampler
from softground.errors import LearnerError
from softground.inverses import Enumeration, Fibre, Inverse, Start
from softground.projections import Dropped
from softground.spaces import CategoricalBelief
from softground.tasks.formulas import formula_task
from softground.tasks.formulas.data.alphabet import value
from tree_search import tree_search


@cache
def formulas_of(length: int) -> Task:
    """Their table takes half a second; all tests here can share it."""
    return formula_task(length)


def some_formulas(length: int, rows: int, seed: int) -> tuple[Task, CategoricalBelief, Tensor, Tensor, list[Fraction]]:
    """Random formulas with the value of another one or two symbols away, and a lopsided belief."""
    task = formulas_of(length)
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.tensor(task.space.sizes)
    z = (torch.rand(rows, length, generator=generator) * sizes).long()
    other = (torch.rand(rows, length, generator=generator) * sizes).long()
    near = torch.where(torch.rand(rows, length, generator=generator) < 1.3 / length, other, z)
    targets = [value(state) for state in task.space.decode(near)]
    output = 2 * torch.randn(rows, length, task.space.outputs, generator=generator, dtype=torch.float64)
    return task, task.space.belief(output), z, task.constraint.encode(targets), targets  # type: ignore[return-value]


@pytest.mark.parametrize("length", [1, 3, 5, 7])
@pytest.mark.parametrize("inverse", ["table", "enumeration"])
def test_one_site_fibres_are_the_corrections_of_the_tree_search(length: int, inverse: str) -> None:
    task, belief, z, y, targets = some_formulas(length, 150, seed=length)
    fibres = task.inverse if inverse == "table" else Enumeration(task.space, task.constraint)
    best = correct_one(fibres, belief, z, y)
    by_site = [fibres.fibre(z, y, Dropped(torch.full((150, 1), site))) for site in range(length)]
    corrected = 0
    for row, symbols in enumerate(task.space.decode(z)):
        tree = tree_search(symbols, targets[row], belief.scores[row])
        ours = {(site, int(v)) for site, f in enumerate(by_site) for v in f.values[row, f.mask[row], 0]}
        assert {(site, code) for _, site, code in tree} == ours
        assert bool(best.found[row]) == bool(tree)
        if tree:
            _, site, code = tree[0]  # the first that its queue reaches is the most probable
            expected = z[row].clone()
            expected[site] = code
            assert torch.equal(best.z[row], expected)
            corrected += not torch.equal(expected, z[row])
        else:
            assert torch.equal(best.z[row], z[row])
    assert corrected > 20
    assert length < 3 or int((~best.found).sum()) > 5
    assert bool(task.feasible(best.z, y)[best.found].all())


def test_a_feasible_prediction_is_its_own_label() -> None:
    task, belief, _, _, _ = some_formulas(7, 50, seed=0)
    prediction = belief.mode()
    y = task.constraint.encode([value(state) for state in task.space.decode(prediction)])
    label = back_search(Sampler(0), task.inverse, belief, y, 1)
    assert bool(label.found.all())
    assert torch.equal(label.z, prediction)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_walk_is_that_of_repeated_proposals(problem: Problem) -> None:
    """A uniform site, a symbol from the network, accepted by P(new)/P(old), until one is: written out as such."""
    space = problem.space
    z = space.states(torch.tensor([1]))
    belief = problem.belief(1)
    sites = space.sites
    accepted: dict[tuple[int, ...], float] = {}
    rejected = 0.0
    for site in range(sites):
        for code in range(len(space.symbols) if space.readings == "all" else space.sizes[site]):
            new = z.clone()
            new[0, site] = code
            proposed = math.exp(belief.read[0, site, code]) / sites
            accept = min(1.0, math.exp(belief.log_prob(new) - belief.log_prob(z)))
            key = tuple(new[0].tolist())
            accepted[key] = accepted.get(key, 0.0) + proposed * accept
            rejected += proposed * (1 - accept)
    law = {key: p / (1 - rejected) for key, p in accepted.items()}  # Σ over the number of rejections before
    dice = Replay(torch.zeros(1, 0, dtype=torch.long))
    walk(dice, belief, z)
    assert dice.next is not None
    ours: dict[tuple[int, ...], float] = {}
    for move, p in enumerate(dice.next[0].tolist()):
        if p > 0:
            key = tuple(walk(Replay(torch.tensor([[move]])), belief, z)[0].tolist())
            ours[key] = ours.get(key, 0.0) + p
    assert ours == pytest.approx(law, abs=1e-12)


class NoDice:
    """Nothing may be drawn."""

    def categorical(self, log_weights: Tensor) -> Tensor:
        raise AssertionError("a draw")


def test_one_step_draws_nothing_and_more_steps_correct_more() -> None:
    task, belief, _, y, _ = some_formulas(7, 300, seed=3)
    found = [torch.zeros(300, dtype=torch.bool)]
    for steps in (1, 2, 6):
        dice = NoDice() if steps == 1 else Sampler(0)
        label = back_search(dice, task.inverse, belief, y, steps)  # type: ignore[arg-type]
        assert torch.equal(task.feasible(label.z, y), label.found)
        assert not bool(label.unknown.any())
        assert bool((label.found | ~found[-1]).all())  # what fewer steps had found
        assert int(label.found.sum()) > int(found[-1].sum())
        found.append(label.found)


def test_an_example_is_corrected_alike_in_any_company() -> None:
    """Draws are made for every row, whoever still searches."""
    task, belief, _, y, _ = some_formulas(7, 40, seed=4)
    first = (~correct_one(task.inverse, belief, belief.mode(), y).found).nonzero()[0]  # one that has to walk
    labels = []
    for others in ([3, 5], [7, 9], [11, 2]):
        rows = torch.cat([torch.tensor(others), first])
        labels.append(back_search(Sampler(8), task.inverse, belief.rows(rows), y[rows], 4).z[2])
    assert torch.equal(labels[0], labels[1])
    assert torch.equal(labels[0], labels[2])


def test_the_loss_is_the_cross_entropy_with_the_labels_found() -> None:
    task = addition()
    y = task.constraint.encode([9, 0, 3])  # (3, 3, 3) and (0, 0, 0) are three changes away, (1, 1, 1) none
    output = torch.zeros(3, 3, 4)
    output[..., 1] = 2.0
    lesson = Lesson(BackSearch(1), task, y)
    outcome = lesson.loss(task.space.belief(output))
    assert outcome.figures["used"].tolist() == [False, False, True]
    log_p = 2.0 - math.log(3 + math.exp(2.0))
    assert float(outcome.loss) == pytest.approx(-log_p)
    lost = output[:2].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(lesson.loss(task.space.belief(lost)).loss, lost)
    assert not bool(gradient.any())


def test_a_solver_that_gave_up_is_counted_where_nothing_was_found() -> None:
    task, belief, _, y, _ = some_formulas(3, 60, seed=5)

    class Unsure(Inverse):
        """An inverse that never knows whether there is more."""

        def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
            fibre = task.inverse.fibre(z, y, dropped)
            return Fibre(fibre.values, fibre.mask, torch.zeros_like(fibre.complete))

        def start(self, y: Tensor, seed: int) -> Start:
            return task.inverse.start(y, seed)

    label = back_search(Sampler(0), Unsure(), belief, y, 1)
    assert torch.equal(label.unknown, ~label.found)
    assert bool(label.found.any())
    assert not bool(label.found.all())


def test_unknown_is_told_row_by_row() -> None:
    task, belief, z, y, _ = some_formulas(3, 40, seed=6)
    hard = y % 2 == 0

    class Partly(Inverse):
        def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
            fibre = task.inverse.fibre(z, y, dropped)
            return Fibre(fibre.values, fibre.mask, fibre.complete & ((y % 2 == 1) | (dropped.sites[:, 0] > 0)))

        def start(self, y: Tensor, seed: int) -> Start:
            return task.inverse.start(y, seed)

    assert bool(hard.any())
    assert torch.equal(correct_one(Partly(), belief, z, y).unknown, hard)  # one site's fibre is enough


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(LearnerError, match="steps=0 was given"):
        BackSearch(0)
    rule = REALS[0].rule
    with pytest.raises(LearnerError, match="Back-search corrects one symbol of an alphabet"):
        BackSearch().begin(Task(rule.space, rule))


def test_back_search_does_not_correct_known_symbols() -> None:
    problem = small_sum()
    z, y = torch.tensor([[0, 0, 2]] * 2), problem.program.encode([5] * 2)
    known = torch.tensor([[0, 0, -1], [-1, 0, -1]])  # (3, 0, 2) would do, if the first were unknown
    found = correct_one(problem.table, problem.belief(2).given(known), z, y)
    assert found.found.tolist() == [False, True]
    assert found.z.tolist() == [[0, 0, 2], [3, 0, 2]]
