"""Collapsed and guided steps entry by entry: v is drawn anew from its conditional law, also where u was rejected."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from exhaustive import transition_matrix
from problems import PROBLEMS, Problem
from softground.kernels import Collapsed, Guided, Kernel
from softground.projections import ChangeOne, Drop

GAMMA = 0.7


def by_hand(problem: Problem, dropped: tuple[int, ...], guided: bool) -> Tensor:
    """Metropolis on the u that can be completed, then Gibbs on v: written out over all states."""
    space, states = problem.space, problem.states
    weight = (problem.belief(1).tempered(GAMMA).scores[0]).exp()  # [sites, K], P^{1/γ}
    kept = [site for site in range(space.sites) if site not in dropped]
    w_u = torch.stack([weight[site][states[:, site]] for site in kept]).prod(0)
    w_v = torch.stack([weight[site][states[:, site]] for site in dropped]).prod(0)
    same_u = (states[:, None, kept] == states[None, :, kept]).all(-1)
    mass = (same_u * w_v).sum(1)  # W(u) of each state's u
    redraw = same_u * w_v / mass[:, None]  # the conditional law of v, from any state of the fibre
    if guided:
        propose = w_u / weight[kept].sum(1).prod()
        ratio = mass / mass[:, None]
    else:
        apart = (states[:, None, kept] != states[None, :, kept]).sum(-1) == 1
        others = torch.tensor([space.sizes[site] - 1.0 for site in kept], dtype=torch.float64)
        propose = ((states[:, None, kept] != states[None, :, kept]) / others).sum(-1) / len(kept) * apart
        ratio = (w_u * mass) / (w_u * mass)[:, None]
    # A fibre's u is proposed once, whichever of its states stands for it.
    first = torch.tensor([i == int(row.nonzero()[0]) for i, row in enumerate(same_u)])
    go = propose * ratio.clamp(max=1.0) * first * ~same_u
    stay = 1 - go.sum(1)
    return go @ redraw + stay[:, None] * redraw


@pytest.mark.parametrize("kind", ["guided", "collapsed"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_every_entry_is_as_documented(problem: Problem, kind: str) -> None:
    for dropped in problem.drops:
        projection = Drop(problem.space, dropped)
        kernel: Kernel = Guided(problem.table, projection)
        if kind == "collapsed":
            kernel = Collapsed(problem.table, projection, ChangeOne(problem.space))
        matrix = transition_matrix(kernel, problem.states, lambda rows: problem.target(rows, GAMMA), problem.space)
        assert torch.allclose(matrix, by_hand(problem, dropped, kind == "guided"), atol=1e-12)
