"""Steps one after the other, what they report together, and which kernel is taken where none is named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from problems import PROBLEMS
from softground.constraints import Program
from softground.dice import Dice, Sampler
from softground.errors import LearnerError
from softground.inverses import Listing, own_kernel
from softground.inverses.base import Inverse
from softground.kernels import Composed, DirectWalk, Exact, Guided, Info, Kernel, Uniform
from softground.kernels.base import redrawn
from softground.kernels.composed import default_kernel
from softground.kernels.exact import exact_kernel
from softground.projections import ChangeOne, RandomDrop, Stay
from softground.spaces import Categorical
from softground.target import Target
from softground.task import Task

PROBLEM = PROBLEMS[0]
MOVE, FAMILY = ChangeOne(PROBLEM.space), RandomDrop(PROBLEM.space, PROBLEM.drops)


class Adds(Kernel):
    """Adds to every site, and reports what it was told."""

    def __init__(self, number: int, acceptance: float, unknown: bool) -> None:
        self.number, self.acceptance, self.unknown = number, acceptance, unknown

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        rows = len(z)
        moved = torch.full((rows,), self.number != 0)
        unknown = torch.tensor([self.unknown] + [False] * (rows - 1))
        return z + self.number, Info(torch.full((rows,), self.acceptance), moved, unknown)


def test_a_composition_reports_means_anys_and_the_whole_way() -> None:
    target: Any = None
    one, back, none = Adds(1, 1.0, False), Adds(-1, 0.25, True), Adds(0, 0.25, False)
    z = torch.zeros(2, 3, dtype=torch.long)
    after, info = Composed([one, back, none]).step(target, z, target)
    assert torch.equal(after, z)
    assert info.acceptance.tolist() == [0.5, 0.5]
    assert info.moved.tolist() == [False, False]  # there and back again
    assert info.unknown.tolist() == [True, False]
    after, info = Composed([one, none, one]).step(target, z, target)
    assert (after.unique().tolist(), info.moved.tolist(), info.unknown.tolist()) == ([2], [True] * 2, [False] * 2)


def test_a_composition_says_what_it_is_made_of() -> None:
    kernel = Exact(PROBLEM.table)
    assert repr(Composed([kernel, kernel])) == f"Composed([{kernel!r}, {kernel!r}])"
    with pytest.raises(LearnerError, match="at least one kernel"):
        Composed([])


class Plain(Inverse):
    """An inverse that knows no law, with or without a kernel of its own."""

    def __init__(self, own: Kernel | None = None) -> None:
        self.own = own

    def fibre(self, *given: Any) -> Any:
        raise NotImplementedError

    def start(self, *given: Any) -> Any:
        raise NotImplementedError


@own_kernel.register
def _(inverse: Plain) -> Kernel | None:
    return inverse.own


def test_the_kernel_where_none_is_named() -> None:
    table = PROBLEM.table
    assert default_kernel(table, PROBLEM.space) == Exact(table)
    own = DirectWalk(Stay())
    assert default_kernel(Plain(own), PROBLEM.space) is own
    assert default_kernel(Plain(own), Categorical(["ab"])) is own
    for sites, drops in ((2, 1), (3, 2), (7, 2)):
        inverse = Plain()
        composed: Any = default_kernel(inverse, Categorical(["ab"] * sites))
        assert [type(kernel) for kernel in composed.kernels] == [Guided] * 4
        for guided in composed.kernels:
            assert (guided.inverse, guided.marginals) == (inverse, True)
            assert {len(s) for s in guided.projection.sets} == {drops}
    with pytest.raises(LearnerError, match="single site"):
        default_kernel(Plain(), Categorical(["ab"]))


def test_the_exact_kernel_is_for_inverses_that_know_the_law() -> None:
    listing = Listing(PROBLEM.space, PROBLEM.states)
    for inverse in (PROBLEM.table, listing):
        for marginals in (True, False):
            assert exact_kernel(inverse, marginals) == Exact(inverse, marginals)
    with pytest.raises(LearnerError, match="knows all of S_y"):
        exact_kernel(PROBLEM.enumeration, True)


@pytest.mark.parametrize("marginals", [True, False])
def test_the_exact_kernel_gives_what_it_was_asked_for(marginals: bool) -> None:
    z, kernel = PROBLEM.states[:1].expand(40, -1), Exact(PROBLEM.table, marginals)
    assert kernel.walks is not marginals
    after, info = kernel.step(Sampler(0), z, PROBLEM.target(40, 1.0))
    assert (info.marginals is not None) is marginals
    assert not torch.equal(after, z)
    assert torch.equal(info.moved, (after != z).any(-1))
    assert info.acceptance.tolist() == [1.0] * 40
    assert not info.unknown.any()


def test_a_kernel_is_bound_to_the_task_that_it_is_to_walk_in() -> None:
    table = PROBLEM.table
    own = Task(PROBLEM.space, PROBLEM.program, table)
    other = Task(PROBLEM.space, Program(lambda *z: 0, PROBLEM.space))
    for kernel in (Guided(table, FAMILY), Uniform(table, FAMILY, MOVE), Exact(table)):
        assert kernel.bound(own) is kernel
        bound: Any = kernel.bound(other)
        assert (type(bound), bound.inverse) == (type(kernel), other.inverse)
        assert kernel.inverse is table
    walk = DirectWalk(MOVE, PROBLEM.program)
    assert walk.bound(own) is walk
    assert walk.bound(other) == DirectWalk(MOVE, other.constraint)
    both: Any = Composed([Exact(table), walk]).bound(other)
    assert both.kernels == (Exact(other.inverse), DirectWalk(MOVE, other.constraint))
    strange = Categorical(["ab"] * 2)
    with pytest.raises(LearnerError, match="made for another space"):
        Guided(table, FAMILY).bound(Task(strange, Program(lambda a, b: a, strange)))


def test_redrawn_states_are_accepted_and_known() -> None:
    before, after = torch.tensor([[0, 1], [2, 3]]), torch.tensor([[0, 1], [2, 2]])
    info = redrawn(before, after, None)
    assert info.acceptance.tolist() == [1.0, 1.0]
    assert info.acceptance.dtype == torch.float32
    assert info.moved.tolist() == [False, True]
    assert info.unknown.tolist() == [False, False]
    assert info.marginals is None
