"""Constrained prediction: the most probable feasible z, given y or the rule alone."""

from __future__ import annotations

import heapq

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.base import MaximisingInverse
from ..spaces.categorical import CategoricalBelief
from ..task import Task

BUDGET = 1_000_000


def most_probable(
    task: Task, belief: CategoricalBelief, y: Tensor | None, index: Tensor, budget: int = BUDGET
) -> Tensor:
    r""":math:`\arg\max_z P(z|x)` over S_y, or over all states with an answer where ``y`` is None: ``[batch, sites]``.

    Exact. Where the network's own prediction is feasible it is the answer. The others are left to the inverse where it
    can find them (a table, a list, a scan); else states are tried in the order of their probability until one is
    feasible, at most ``budget`` of them. ``index`` holds the examples' positions, for messages.
    """
    z = belief.mode()
    fine = task.constraint.admissible(z) if y is None else task.feasible(z, y)
    rest = (~fine).nonzero().flatten()
    if not len(rest):
        return z
    z = z.clone()
    if y is not None and isinstance(task.inverse, MaximisingInverse):
        z[rest], found = task.inverse.most_probable(belief.rows(rest), y[rest])
        if not bool(found.all()):
            raise _infeasible(task, y[rest][~found], index[rest][~found].tolist())
    else:
        for row in rest.tolist():
            z[row] = _best_first(task, belief.scores[row], None if y is None else y[row], budget, int(index[row]))
    return z


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
