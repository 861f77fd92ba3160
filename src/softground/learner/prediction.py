"""Constrained prediction: the most probable feasible z, given y or the rule alone."""

import heapq
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..preparing import many
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from ..task import Task

BUDGET = 1_000_000
CHUNK = 256  # states that are looked at together


def most_probable(
    task: Task, belief: CategoricalBelief, y: Tensor | None, index: Tensor, budget: int = BUDGET
) -> Tensor:
    r""":math:`\arg\max_z P(z|x)` over S_y, or over all states with an answer where ``y`` is None: ``[batch, sites]``.

    Exact. Where the network's own prediction is feasible it is the answer. The others are left to the inverse where it
    can find them (a table, a list, a scan); else states are tried in the order of their probability until one is
    feasible, at most ``budget`` of them. ``index`` holds the examples' positions, for messages.
    """
    z = belief.mode()
    if y is None and (sole := task.inverse.sole()) is not None:
        y = sole.to(z.device).expand(len(z), *sole.shape[1:])
    fine = task.admissible(z) if y is None else task.feasible(z, y)
    rest = (~fine).nonzero().flatten()
    if not len(rest):
        return z
    left = belief.rows(rest)
    try:
        best = None if y is None else task.inverse.most_probable(Target(left, y[rest], 1.0))
    except InfeasibleAnswer as error:  # which knows the rows of the rest only
        lost = rest[list(error.examples)]
        raise task.infeasible(y[lost], index[lost].tolist()) from error  # type: ignore[index]
    if best is not None and y is not None:
        lost = ~task.feasible(best, y[rest])
        gone = torch.isneginf(left.log_prob(best)) | (lost & task.inverse.exact)
        if bool(gone.any()):
            raise task.contradicted(y[rest[gone]], index[rest[gone]].tolist())
        if bool(lost.any()):
            raise LearnerError(
                f"Example {int(index[rest[lost][0]])}: no feasible state was found. The network is too unsure of it "
                "for a search, or known symbols contradict each other. Train further, or correct them."
            )
    if best is None:
        rows = [(belief.scores[row], None if y is None else y[row], int(index[row])) for row in rest.tolist()]
        best = torch.stack([_best_first(task, scores, answer, budget, at) for scores, answer, at in rows])
    return z.index_copy(0, rest, best)


def _best_first(task: Task, scores: Tensor, y: Tensor | None, budget: int, example: int) -> Tensor:
    """Walk down the states of one example in the order of their probability."""
    size = math.prod((scores > -torch.inf).sum(-1).tolist())  # known symbols leave less than the space
    tried = 0
    for states in likeliest(scores):
        states = states[: budget - tried]
        tried += len(states)
        good = task.admissible(states) if y is None else task.feasible(states, y.expand(len(states), *y.shape))
        if bool(good.any()):  # they come in order, so that the first feasible one is the best
            return states[int(good.to(torch.uint8).argmax())]
        if tried == budget < size:
            raise LearnerError(
                f"Example {example}: none of its {tried:,} most probable states is feasible. Raise the budget of "
                f"{budget:,} states (the space has {many(task.space.size)}), or train further."
            )
    if y is None:
        raise LearnerError("The rule gives no answer for any state of the space. Correct the rule.")
    raise (task.infeasible if size == task.space.size else task.contradicted)(y[None], [example])


def likeliest(scores: Tensor) -> Iterator[Tensor]:
    """The states of a space from the most probable one down, as codes ``[CHUNK or fewer, sites]`` at a time.

    The i-th best symbol of each site gives a state a rank vector; lowering one rank at a time from the all-best vector
    reaches every state once (only sites from the last lowered one on may be lowered), never before a likelier one.
    """
    ranked, symbols = scores.double().cpu().sort(-1, descending=True)
    sizes, score = (ranked > -torch.inf).sum(-1).tolist(), ranked.tolist()  # known symbols leave one
    heap = [(0.0, (0,) * len(sizes), 0)]
    while heap:
        chunk: list[tuple[int, ...]] = []
        while heap and len(chunk) < CHUNK:
            loss, ranks, site = heapq.heappop(heap)
            chunk.append(ranks)
            for i in range(site, len(sizes)):
                if ranks[i] + 1 < sizes[i]:
                    lower = (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
                    step = score[i][ranks[i]] - score[i][ranks[i] + 1]
                    heapq.heappush(heap, (loss + step, lower, i))
        yield symbols.gather(1, torch.tensor(chunk).T).T.to(scores.device)
