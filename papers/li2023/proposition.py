r"""Proposition 1's ingredients in numbers: how far is the chain's law from Q*, and how large is the gradient's bias?

The proposition is about the gradient after K steps of descent, which :mod:`.descent` tests. Here two quantities in it
are measured: the total variation between the law Q̂ of the sampled z and Q*, and the bias of the gradient that comes of
it. On a space that can be listed both are known: Q* by its formula, the kernel's transition matrix P by going through
every outcome of its step, and Q̂ after T steps from z as the row of z in P^T. Reported for each γ, T, number of dropped
sites and kernel:

- :math:`d_{tv}(\hat Q, Q^*)`, averaged over all starts z ∈ S_y, and that of the worst start;
- after a million steps: what no walking mends, the bias of the solver's choice and of parts that are never reached;
- :math:`\|m\| = \|\sum_z (\hat Q(z) - Q^*(z)) \nabla \log P(z)\|` in the network's outputs, for the worst start.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from softground.constraints import Program
from softground.dice import stream
from softground.inverses import Table, solutions
from softground.kernels import Collapsed, Kernel, Metropolis
from softground.projections import ChangeOne, Drop
from softground.spaces.categorical import Categorical, CategoricalBelief
from softground.target import Target
from softground.tasks.formulas.data.alphabet import DIGITS, OPERATORS
from softground.tasks.formulas.data.alphabet import value as exact_value
from softground.tasks.formulas.rule import value
from tools.outcomes import transition_matrix

GAMMAS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
STEPS = (1, 10, 100, 1000)
SQUARINGS = 20
LONG = 2**SQUARINGS  # a million steps: what is left then, no run will walk off
SHARPNESS = 1.5  # spread of the outputs of the made-up network: neither flat nor settled
# Which sites are dropped: one digit, the paper's two, all digits, all but one operator.
DROPPED = ([2], [2, 4], [0, 2, 4], [0, 2, 3, 4])
LEAST = 16  # states that S_y must hold to be worth a walk


def laws(digits: int, seed: int) -> dict[str, Any]:
    """Distances for formulas of three digits from 1 … ``digits`` and two operators from + − ×.

    The answer and the network's output are decided by ``seed``; the formula that the answer comes from is drawn, so
    that answers occur as in a data set.
    """
    operators = OPERATORS[:3]
    numbers = DIGITS[:digits]
    program = Program(value, Categorical([numbers, operators, numbers, operators, numbers]), vectorised=True)
    space, table = program.space, Table(program)
    generator = torch.Generator().manual_seed(stream(seed, "law"))
    states = torch.zeros(0, space.sites)
    while len(states) < LEAST:
        y = program.answer_ids(space.states(torch.randint(space.size, (1,), generator=generator)))
        states = space.states(solutions(table, y).index)
    output = SHARPNESS * torch.randn(1, space.sites, space.outputs, generator=generator, dtype=torch.float64)
    rows, belief = [], space.belief(output)
    assert isinstance(belief, CategoricalBelief)
    for sites in DROPPED:
        kernels: dict[str, Kernel] = {
            "metropolis": Metropolis(table, Drop(space, sites), ChangeOne(space)),
            "first": Metropolis(table, Drop(space, sites), ChangeOne(space), completion="first"),
            "collapsed": Collapsed(table, Drop(space, sites), ChangeOne(space)),
        }
        for name, kernel in kernels.items():
            for gamma in GAMMAS:
                given = {"kernel": name, "dropped": len(sites), "gamma": gamma}
                rows += [given | row for row in distances(kernel, states, belief, y, gamma)]
    answer = exact_value(space.decode(states[:1])[0])  # type: ignore[arg-type]
    return {"answer": str(answer), "states": len(states), "rows": rows}


def distances(
    kernel: Kernel, states: Tensor, belief: CategoricalBelief, y: Tensor, gamma: float
) -> list[dict[str, Any]]:
    """Total variation and bias after T = 1, 10, 100, 1,000 and a million steps."""

    def target(rows: int) -> Target[CategoricalBelief]:
        return Target.at(belief.rows(torch.zeros(rows, dtype=torch.long)), y.expand(rows), gamma)

    log_p = target(len(states)).log_weight(states)
    law = log_p.softmax(0)
    matrix = transition_matrix(kernel, states, target, belief.space)
    gradient = score_gradients(belief, states)
    found = []
    powers = {t: torch.linalg.matrix_power(matrix, t) for t in STEPS}
    for _ in range(SQUARINGS):
        matrix = matrix @ matrix
    for t, power in (powers | {LONG: matrix}).items():
        error = power - law
        distance = error.abs().sum(1) / 2
        bias = (error @ gradient).norm(dim=1)
        found.append(
            {"steps": t, "distance": distance.mean().item(), "worst": distance.max().item(), "bias": bias.max().item()}
        )
    return found


def score_gradients(belief: CategoricalBelief, states: Tensor) -> Tensor:
    """∇ log P(z|x) in the network's outputs, one-hot minus P at every site, for each state: ``[states, sites · K]``."""
    p = belief.scores.double().softmax(-1)
    return (torch.nn.functional.one_hot(states, p.shape[2]).double() - p).flatten(1)


__all__ = ["GAMMAS", "LONG", "STEPS", "laws"]
