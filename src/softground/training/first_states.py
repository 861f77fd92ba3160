r"""First states of chains, and the treatment of examples without one.

The rule alone gives each example a first state in S_y. If none is found, either S_y is proved empty (the answer is
wrong) or a search gave up. In that case the example **waits**: it does not enter the loss, and every epoch tries again
from the network's reading. The inverse completes it after its least certain symbols are dropped,

.. math:: z_0 \in \{ (u, v) : v \in F(u) \}, \qquad u = \Pi(\hat z), \quad \hat z = \arg\max_z P_\theta(z|x),

and the likeliest completion is used. As the network learns, ẑ approaches S_y and a completion is found.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..dice import Dice
from ..inverses.base import complete, start_given
from ..kernels.base import fibre_weights, pick
from ..projections.base import Dropped
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from ..task import Task
from .step import CHAINS, Batch, Memory, TrainingSet

WAITING = "waiting"
"""The name in the memory of ``[examples]``: 0 for an example with a state, else :data:`WAITS` or :data:`EMPTY`.
The entry exists only if some example had no first state."""
WAITS, EMPTY = 1, 2
TRIES = 8  # sets of dropped sites, for each example and epoch
OPTIONS = 1000  # most combinations of the sites that are dropped at once


def first_states(train: TrainingSet, seed: int) -> Memory:
    """A feasible state per example, from the rule and the known symbols alone, and which examples have none."""
    inverse, y, known = train.task.inverse, train.y, train.known
    start = start_given(inverse, y, seed, known)
    if bool(start.found.all()):
        return {CHAINS: start.z}
    return {CHAINS: start.z, WAITING: torch.where(start.found, 0, torch.where(start.proved, EMPTY, WAITS))}


def ready(batch: Batch, ask: bool = True) -> tuple[Any, Tensor, Tensor]:
    """Evidence, answers and rows of the examples that have a state, after a search for the others' by the network."""
    waiting = batch.memory.get(WAITING)
    if waiting is None:
        return batch.evidence, batch.answers, batch.index
    rows = (waiting[batch.index] == WAITS).nonzero().flatten()
    if ask and len(rows) and batch.task.space.categorical:
        z, found = completed_readings(batch.task, batch.evidence.rows(rows), batch.answers[rows], batch.dice)
        if CHAINS in batch.memory:
            batch.memory[CHAINS][batch.index[rows[found]]] = z[found]
        waiting[batch.index[rows[found]]] = 0
    batch.taught = (waiting[batch.index] == 0).nonzero().flatten()
    return batch.evidence.rows(batch.taught), batch.answers[batch.taught], batch.index[batch.taught]


def completed_readings(task: Task, belief: CategoricalBelief, y: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
    """States among the completions of the network's own reading, and which examples got one."""
    z = belief.scores.argmax(-1)
    found = task.inverse.feasible(z, y)
    space: Any = belief.space
    most = max((d for d in range(1, space.sites + 1) if space.combinations(d) <= OPTIONS), default=1)
    for count in [1 + attempt % most for attempt in range(TRIES)]:
        rest = (~found).nonzero().flatten()
        if not len(rest):
            break
        some = belief.rows(rest)
        dropped = Dropped(_unsure(some, count, dice))
        fibre = task.inverse.fibre(z[rest], y[rest], dropped)
        weight, best = fibre_weights(Target(some, y[rest], 1.0), dropped, fibre).max(-1)
        hit = weight > -torch.inf  # that of a completion which contradicts a known symbol is −∞
        z[rest[hit]] = complete(z[rest], dropped, pick(fibre.values, best))[hit]
        found[rest[hit]] = True
    return z, found


def _unsure(belief: CategoricalBelief, count: int, dice: Dice) -> Tensor:
    """``count`` sites of each example, drawn by the probability that the network misreads them: ``[batch, count]``."""
    doubt = (1 - belief.marginals().amax(-1)).clamp(min=1e-6).log()
    sites: list[Tensor] = []
    for _ in range(count):
        sites.append(dice.categorical(doubt))
        doubt = doubt.scatter(1, sites[-1][:, None], -torch.inf)
    return torch.stack(sites, 1).sort(1).values
