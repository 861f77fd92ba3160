"""The inverse from a list of solutions, against enumeration of every completion."""

from __future__ import annotations

import pytest
import torch

from softground.constraints import Not, Program
from softground.errors import InverseError
from softground.inverses import Enumeration, Listing, solutions
from softground.kernels import Exact, default_kernel
from softground.projections import Dropped
from softground.spaces import Categorical
from softground.task import Task
from softground.tasks.sudoku.rule import sudoku_program
from softground.tasks.validity import Validity
from sudoku_cases import BOARDS, LISTING, SPACE


def small() -> tuple[Categorical, Program, Listing]:
    """Mixed alphabets; the rule's one answer is True."""
    space = Categorical([range(3), range(2), range(4), range(3)])
    program = Program(lambda a, b, c, d: (a + b + c + d) % 3 == 1, space)
    program.encode([True])
    everything = space.states(torch.arange(space.size))
    fine = program.feasible(everything, torch.zeros(space.size, dtype=torch.long))
    return space, program, Listing(space, everything[fine].flip(0))


@pytest.mark.parametrize("dropped", [(0,), (3,), (1, 2), (0, 2, 3)])
def test_fibres_are_those_of_enumeration(dropped: tuple[int, ...]) -> None:
    space, program, listing = small()
    z = space.states(torch.arange(space.size))
    y, sites = torch.zeros(len(z), dtype=torch.long), torch.tensor(dropped).expand(space.size, -1)
    ours, theirs = listing.fibre(z, y, Dropped(sites)), Enumeration(space, program).fibre(z, y, Dropped(sites))
    assert torch.equal(ours.count, theirs.count)
    assert bool(ours.complete.all())
    for row in range(len(z)):
        assert torch.equal(ours.values[row][ours.mask[row]], theirs.values[row][theirs.mask[row]])


def test_examples_may_drop_different_sites() -> None:
    space, program, listing = small()
    z = space.states(torch.arange(space.size))
    y = torch.zeros(len(z), dtype=torch.long)
    sites = torch.tensor([[0, 2], [1, 3], [2, 3], [0, 1]]).repeat(len(z) // 4, 1)
    ours, theirs = listing.fibre(z, y, Dropped(sites)), Enumeration(space, program).fibre(z, y, Dropped(sites))
    for row in range(len(z)):
        assert torch.equal(ours.values[row][ours.mask[row]], theirs.values[row][theirs.mask[row]])


def test_complements_elsewhere_cost_a_batch_without_any_nothing() -> None:
    """Valid boards beside Not(True) in another data set: two halves of a board have one completion, not 65,536."""
    task = Validity().task()
    y, listing = task.constraint.encode([True, Not(True)]), task.inverse
    z, dropped = BOARDS[[0, 0]], Dropped(torch.arange(8, 16).expand(2, -1))
    assert task.constraint.negates
    assert listing.fibre(z, y[[0, 0]], dropped).values.shape[1] < len(BOARDS)
    assert listing.fibre(z, y, dropped).count.sum() == 4**8


def test_feasibility_solutions_and_starts() -> None:
    space, program, listing = small()
    z = space.states(torch.arange(space.size))
    y = torch.zeros(len(z), dtype=torch.long)
    assert torch.equal(listing.feasible(z, y), program.feasible(z, y))
    all_states = solutions(listing, y[:3])
    assert all_states.count.tolist() == [len(all_states.index) // 3] * 3
    assert torch.equal(all_states.index[: all_states.count[0]], program.feasible(z, y).nonzero()[:, 0])
    start = listing.start(y, seed=1)
    assert bool(start.found.all())
    assert bool(program.feasible(start.z, y).all())
    assert torch.equal(start.z, listing.start(y, seed=1).z)
    assert not torch.equal(start.z, listing.start(y, seed=2).z)


def test_refuses_what_is_no_list_of_states() -> None:
    space = Categorical([range(2)] * 3)
    for states, message in (
        (torch.zeros(0, 3, dtype=torch.long), "one or more"),
        (torch.zeros(2, 4, dtype=torch.long), "3 sites"),
        (torch.zeros(2, 3, dtype=torch.long), "repeated"),
        (torch.tensor([[0, 0, 2]]), "outside its site's alphabet"),
    ):
        with pytest.raises(InverseError, match=message):
            Listing(space, states)


def test_the_default_kernel_of_a_listed_rule_is_exact() -> None:
    program = sudoku_program(4)
    task = Task(program.space, program, Listing(program.space, BOARDS))
    assert isinstance(default_kernel(task.inverse, task.space), Exact)
    assert (len(BOARDS), repr(LISTING), SPACE.sites) == (288, "Listing(288 states)", 16)
