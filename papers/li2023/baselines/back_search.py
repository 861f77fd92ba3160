r"""Back-search (NGS): correct the network's own prediction until the rule accepts it, and learn from the correction.

One step (1-BS) looks at all :math:`z' \in S_y` that differ from ẑ in at most one symbol and takes the one the network
finds most probable,

.. math:: z^* = \arg\max \{ P(z'|x) : z' \in S_y,\ d(z', \hat z) \le 1 \} .

Where there is none, one symbol of ẑ is changed at random and the step repeated, m times at most (m-BS). Corrections
found are pseudo-labels; examples without one are left out of the batch. The search begins at the prediction
:math:`\hat z = \arg\max_z P(z|x)`, so a feasible prediction is its own label.

**On trees.** NGS searches a formula's syntax tree from the root: a node's wanted value and its siblings' values give
the wanted value of each child, until a leaf can take it. With one change allowed, everything off the path to the
changed leaf keeps its value, so a digit is found at a leaf exactly when that digit alone makes the root right. The
corrections visited are therefore those of the fibres :math:`F(\hat z)` with one site dropped, which every inverse
returns, for any rule: one batched call, not one tree per example. NGS's queue, ordered by P(new)/P(old), ends with
the most probable correction too. The tests compare such a tree search with this one.

**The walk between steps** is NGS's: a site is drawn uniformly and a symbol from the network, accepted with probability
min(1, P(z')/P(ẑ)) and tried again until accepted. All of that is one draw of a pair (i, s) with weights
:math:`P_i(s) \min(1, P_i(s)/P_i(\hat z_i))`; like there, ẑ may stay what it was. Two departures: values are compared
exactly and not to three decimals, and NGS redraws two sites or more at once in 1 of 20 cases. Its authors used m = 5 in
their code, the paper's comparison m = 6.

**Readings that are no state** (a network that may read an operator where a digit belongs) are corrected like any other:
one such symbol can be the one that is changed, two are too many for one step.

Reference: Q. Li, S. Huang, Y. Hong, Y. Chen, Y. N. Wu and S.-C. Zhu, Closed loop neural-symbolic learning via
integrating neural perception, grammar parsing, and symbolic reasoning, ICML 2020.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from softground.dice import Dice
from softground.errors import LearnerError
from softground.experiments.recipe import IMPLIED
from softground.inverses.base import Inverse
from softground.projections.base import Dropped
from softground.spaces.categorical import CategoricalBelief
from softground.task import Task
from softground.training.step import OBJECTIVES, Batch, Teacher

from .adam import ADAM


@dataclass(frozen=True, eq=False)
class Correction:
    """What a search found: ``z[batch, sites]``, feasible where ``found``; ``unknown`` where a solver gave up."""

    z: Tensor
    found: Tensor
    unknown: Tensor


@OBJECTIVES.register("ngs")
@dataclass(frozen=True)
class BackSearch(Teacher):
    """m-step back-search, for any categorical task; ``steps`` is m.

    >>> BackSearch()
    BackSearch(steps=6)
    """

    steps: int = 6

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise LearnerError.of({"steps": self.steps}, "expected at least one step of back-search.")

    def begin(self, task: Task) -> Teacher:
        if not task.space.categorical:
            raise LearnerError(
                f"Back-search corrects one symbol of an alphabet; {task.space!r} has none. Use SoftenedGrounding or "
                "Reinforce for real symbols."
            )
        return self

    def teach(self, batch: Batch) -> Tensor:
        label = back_search(batch.dice, batch.task.inverse, batch.evidence, batch.y, self.steps)
        batch.scale(label.found)
        batch.figures |= {"used": label.found, "unknown": label.unknown}
        return label.z


IMPLIED["ngs"] = lambda preset, given: ADAM | {"steps": BackSearch.steps}


def back_search(dice: Dice, inverse: Inverse, belief: CategoricalBelief, y: Tensor, steps: int) -> Correction:
    """m-BS from the most probable symbols."""
    z = belief.mode()
    found = torch.zeros(len(z), dtype=torch.bool, device=z.device)
    unknown = found.clone()
    for step in range(steps):
        rest = (~found).nonzero().squeeze(1)  # only these ask the inverse, which may be a solver
        if not len(rest):
            break
        if step:
            moved = walk(dice, belief, z)  # drawn for all, so that no example's draw depends on the others' luck
            z = torch.where(found[:, None], z, moved)
        one = correct_one(inverse, belief.rows(rest), z[rest], y[rest])
        z = z.index_copy(0, rest, one.z)
        found = found.index_copy(0, rest, one.found)
        unknown = unknown.index_copy(0, rest, unknown[rest] | one.unknown)
    return Correction(z, found, unknown & ~found)


def correct_one(inverse: Inverse, belief: CategoricalBelief, z: Tensor, y: Tensor) -> Correction:
    """1-BS: the most probable feasible vector that differs from z in one symbol at most; z itself where there is none.

    Fibres that are known in part count as far as they are known.
    """
    batch, sites = z.shape
    row = torch.arange(batch, device=z.device).repeat_interleave(sites)
    site = torch.arange(sites, device=z.device).repeat(batch)
    strange = (z >= belief.space.layout(z.device).sizes).long()  # symbols that cannot stand where they were read
    apt = (strange.sum(1, keepdim=True) == strange).flatten()  # no other symbol than the one to be changed is strange
    fibre = inverse.fibre((z * (1 - strange))[row], y[row], Dropped(site[:, None]))
    symbols = fibre.values.squeeze(2)  # [batch · sites, options]
    # log P(z′) − log P(z): all but one term cancel.
    gain = (belief.scores.flatten(0, 1).gather(1, symbols) - belief.site_scores(z).view(-1, 1)).view(batch, -1)
    # Known symbols are not corrected: any other has the score −∞ there.
    mask = (fibre.mask & apt[:, None]).view(batch, -1) & (gain > -torch.inf)
    best = gain.masked_fill(~mask, -torch.inf).argmax(1, keepdim=True)
    found = mask.any(1)
    corrected = z.scatter(1, best // symbols.shape[1], symbols.view(batch, -1).gather(1, best))
    unknown = ~(fibre.complete | ~apt).view(batch, -1).all(1)
    return Correction(torch.where(found[:, None], corrected, z), found, unknown)


def walk(dice: Dice, belief: CategoricalBelief, z: Tensor) -> Tensor:
    """One accepted move of the random walk: a site and its new symbol, in one draw."""
    scores, now = belief.read, belief.site_scores(z)[..., None]
    move = dice.categorical((scores + (scores - now).clamp(max=0)).flatten(1))
    width = scores.shape[2]
    return z.scatter(1, (move // width)[:, None], (move % width)[:, None])
