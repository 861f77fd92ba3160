"""Constrained prediction: the most probable feasible z, given y or the rule alone."""

from __future__ import annotations

import heapq

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.listing import Listing
from ..inverses.table import Table
from ..kernels.exact import log_weights
from ..kernels.nearest import NearestPoint
from ..spaces.categorical import CategoricalBelief
from ..task import Task

BUDGET = 1_000_000


def most_probable(
    task: Task, belief: CategoricalBelief, y: Tensor | None, index: Tensor, budget: int = BUDGET
) -> Tensor:
    r""":math:`\arg\max_z P(z|x)` over S_y, or over all states with an answer where ``y`` is None: ``[batch, sites]``.

    Exact. Where the network's own prediction is feasible it is the answer. The others are looked up in the table of
    solutions where there is one; without a table, states are tried in the order of their probability until one is
    feasible, at most ``budget`` of them. ``index`` holds the examples' positions, for messages.
    """
    z = belief.mode()
    fine = task.constraint.admissible(z) if y is None else task.feasible(z, y)
    rest = (~fine).nonzero().flatten()
    if not len(rest):
        return z
    z = z.clone()
    if y is not None and isinstance(task.inverse, NearestPoint):
        z[rest] = task.inverse.nearest(z[rest], y[rest])
    elif y is not None and isinstance(task.inverse, Table | Listing):
        z[rest] = _from_table(task, task.inverse, belief.rows(rest), y[rest], index[rest])
    else:
        for row in rest.tolist():
            z[row] = _best_first(task, belief.scores[row], None if y is None else y[row], budget, int(index[row]))
    return z


def _from_table(task: Task, table: Table | Listing, belief: CategoricalBelief, y: Tensor, index: Tensor) -> Tensor:
    solutions = table.solutions(y)
    empty = solutions.count == 0
    if bool(empty.any()):
        raise _infeasible(task, y[empty], index[empty].tolist())
    blocks = belief.blocks()
    scores = log_weights(blocks, [b.position(solutions.owner, solutions.index) for b in blocks])
    peak = torch.full((len(y),), -torch.inf, device=scores.device, dtype=scores.dtype)
    peak = peak.scatter_reduce(0, solutions.owner, scores, "amax")
    # The first solution that reaches its example's maximum: ties go to the smallest state, always the same.
    place = torch.arange(len(scores), device=scores.device).masked_fill(scores < peak[solutions.owner], len(scores))
    first = torch.full_like(y, len(scores)).scatter_reduce(0, solutions.owner, place, "amin")
    return table.space.states(solutions.index[first])


def _best_first(task: Task, scores: Tensor, y: Tensor | None, budget: int, example: int) -> Tensor:
    """Walk down the states of one example in the order of their probability.

    The i-th best symbol of each site gives a state a rank vector; lowering one rank at a time from the all-best vector
    reaches every state once (only sites from the last lowered one on may be lowered), never before a likelier one.
    """
    ranked, symbols = scores.double().cpu().sort(-1, descending=True)
    sizes, score = task.space.sizes, ranked.tolist()
    heap = [(0.0, (0,) * len(sizes), 0)]
    tried = 0
    while heap and tried < budget:
        chunk: list[tuple[int, ...]] = []
        while heap and len(chunk) < 256 and tried + len(chunk) < budget:
            loss, ranks, site = heapq.heappop(heap)
            chunk.append(ranks)
            for i in range(site, len(sizes)):
                if ranks[i] + 1 < sizes[i]:
                    lower = (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
                    step = score[i][ranks[i]] - score[i][ranks[i] + 1]
                    heapq.heappush(heap, (loss + step, lower, i))
        # Popped in order, so the first feasible one of the chunk is the best.
        states = symbols.gather(1, torch.tensor(chunk).T).T.to(scores.device)
        tried += len(chunk)
        if y is None:
            good = task.constraint.admissible(states)
        else:
            good = task.feasible(states, y.expand(len(states), *y.shape))
        if bool(good.any()):
            return states[int(good.to(torch.uint8).argmax())]
    if heap:
        raise LearnerError(
            f"Example {example}: none of its {tried:,} most probable states is feasible. Raise the budget of "
            f"{budget:,} states (the space has {task.space.size:,}), or train further."
        )
    if y is None:
        raise LearnerError("The rule gives no answer for any state of the space. Correct the rule.")
    raise _infeasible(task, y[None], [example])


def _infeasible(task: Task, y: Tensor, examples: list[int]) -> InfeasibleAnswer:
    shown = ", ".join(f"{i} (answer {task.constraint.answer(a)!r})" for i, a in zip(examples[:5], y, strict=False))
    return InfeasibleAnswer(
        f"No symbols explain the answers of examples {shown}{' …' if len(examples) > 5 else ''}: S_y is empty. "
        "Correct or remove these answers.",
        tuple(examples),
    )
