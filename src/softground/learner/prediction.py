"""Constrained prediction: the most probable feasible z, given y or the rule alone."""

from __future__ import annotations

import heapq

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.table import Table
from ..kernels.exact import log_weights
from ..spaces.categorical import CategoricalBelief
from ..task import Task


def most_probable(task: Task, belief: CategoricalBelief, y: Tensor | None, budget: int = 1_000_000) -> Tensor:
    r""":math:`\arg\max_z P(z|x)` over S_y, or over all states that have an answer where ``y`` is None: ``[batch, sites]``.

    Exact. Where the network's own prediction is feasible it is the answer. The others are looked up in the table of
    solutions where there is one; without a table, states are tried in the order of their probability until one is
    feasible, at most ``budget`` of them.
    """
    z = belief.mode()
    fine = task.constraint.admissible(z) if y is None else task.feasible(z, y)
    rest = (~fine).nonzero().flatten()
    if not len(rest):
        return z
    z = z.clone()
    if y is not None and isinstance(task.inverse, Table):
        z[rest] = _from_table(task.inverse, belief.rows(rest), y[rest], rest)
    else:
        for row in rest.tolist():
            z[row] = _best_first(task, belief.scores[row], None if y is None else y[row], budget, row)
    return z


def _from_table(table: Table, belief: CategoricalBelief, y: Tensor, rows: Tensor) -> Tensor:
    solutions = table.solutions(y)
    if bool((solutions.count == 0).any()):
        lost = rows[solutions.count == 0].tolist()
        raise InfeasibleAnswer(f"No symbols explain the answers of examples {lost}: S_y is empty.", tuple(lost))
    blocks = belief.blocks()
    scores = log_weights(blocks, [b.position(solutions.owner, solutions.index) for b in blocks])
    peak = torch.full((len(y),), -torch.inf, device=scores.device, dtype=scores.dtype)
    peak = peak.scatter_reduce(0, solutions.owner, scores, "amax")
    # The first solution that reaches its example's maximum: ties go to the smallest state, always the same.
    place = torch.arange(len(scores), device=scores.device).masked_fill(scores < peak[solutions.owner], len(scores))
    first = torch.full_like(y, len(scores)).scatter_reduce(0, solutions.owner, place, "amin")
    return table.space.states(solutions.index[first])


def _best_first(task: Task, scores: Tensor, y: Tensor | None, budget: int, row: int) -> Tensor:
    """Walk down the states of one example in the order of their probability.

    The i-th best symbol of each site gives a state a rank vector; lowering one rank at a time from the all-best vector
    reaches every state once (only sites from the last lowered one on may be lowered), never before a likelier one.
    """
    ranked, symbols = scores.double().cpu().sort(-1, descending=True)
    sizes = task.space.sizes
    heap = [(0.0, (0,) * len(sizes), 0)]
    tried = 0
    while heap and tried < budget:
        chunk = []
        while heap and len(chunk) < 256 and tried + len(chunk) < budget:
            loss, ranks, site = heapq.heappop(heap)
            chunk.append((loss, ranks))
            for i in range(site, len(sizes)):
                if ranks[i] + 1 < sizes[i]:
                    lower = (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
                    step = float(ranked[i, ranks[i]] - ranked[i, ranks[i] + 1])
                    heapq.heappush(heap, (loss + step, lower, i))
        # Popped in order, so the first feasible one of the chunk is the best.
        states = torch.stack([symbols[range(len(sizes)), list(r)] for _, r in chunk]).to(scores.device)
        tried += len(chunk)
        if y is None:
            good = task.constraint.admissible(states)
        else:
            good = task.feasible(states, y.expand(len(states), *y.shape))
        if bool(good.any()):
            return states[int(good.to(torch.uint8).argmax())]
    if heap:
        raise LearnerError(
            f"Example {row}: none of the {tried:,} most probable states is feasible. Raise the budget, or train further."
        )
    raise InfeasibleAnswer(f"Example {row}: no state of the space is feasible.", (row,))
