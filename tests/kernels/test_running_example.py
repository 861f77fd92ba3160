"""The paper's running example: 4×9+3+3 = 42 is an isolated point of S_42, and the projection frees it."""

from __future__ import annotations

import pytest
import torch

from softground.dice import Sampler
from softground.kernels import Collapsed, Guided, Kernel, Metropolis, Uniform
from softground.projections import ChangeOne, Drop, Dropped
from softground.target import Target
from softground.tasks.formulas import formula_task

TASK = formula_task(7)
SPACE = TASK.space
STATE = SPACE.encode([(4, "*", 9, "+", 3, "+", 3)])
Y = TASK.constraint.encode([42])


def test_no_single_change_is_feasible() -> None:
    neighbours = []
    for site, size in enumerate(SPACE.sizes):
        for code in range(size):
            if code != STATE[0, site]:
                other = STATE.clone()
                other[0, site] = code
                neighbours.append(other)
    everyone = torch.cat(neighbours)
    assert len(everyone) == 4 * 8 + 3 * 3
    assert bool(TASK.feasible(STATE, Y).all())
    assert not bool(TASK.constraint.feasible(everyone, Y.expand(len(everyone))).any())


@pytest.mark.parametrize("dropped", [(0, 6), (2, 4)], ids=["the figure's projection", "the experiments' projection"])
@pytest.mark.parametrize("kind", [Metropolis, Uniform, Collapsed])
def test_with_a_projection_the_walk_leaves(kind: type, dropped: tuple[int, int]) -> None:
    leaves(kind(TASK.inverse, Drop(SPACE, dropped), ChangeOne(SPACE)))


def test_the_guided_kernel_leaves() -> None:
    leaves(Guided(TASK.inverse, Drop(SPACE, (2, 4))))


def leaves(kernel: Kernel) -> None:
    chains = 256
    belief = SPACE.belief(torch.zeros(chains, 7, 13))
    z, dice = STATE.expand(chains, -1), Sampler(0)
    target = Target.at(belief, Y.expand(chains), 1.0)
    for _ in range(20):
        z, _ = kernel.step(dice, z, target)
        assert bool(TASK.constraint.feasible(z, Y.expand(chains)).all())
    moved = (z != STATE).any(-1)
    assert float(moved.float().mean()) > 0.5
    assert len(torch.unique(z, dim=0)) > 10


def test_the_figures_own_move_exists() -> None:
    """From [×; 9; +; 3; +] to [×; 8; +; 3; +]: 4×8+3+7 = 42 is in the fibre."""
    proposal = SPACE.encode([(1, "*", 8, "+", 3, "+", 1)])
    fibre = TASK.inverse.fibre(proposal, Y, Dropped(torch.tensor([[0, 6]])))
    completions = fibre.values[0][fibre.mask[0]].tolist()
    assert [4 - 1, 7 - 1] in completions
