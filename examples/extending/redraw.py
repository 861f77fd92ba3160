"""Redraw some sites given the others: a Gibbs step.

With v the dropped and u the kept sites, v′ ~ Q*(v|u) leaves Q* invariant, whatever is dropped. It never changes u, so
S_y is connected only if the dropped sets vary, as in ``RandomDrop``.

Every random choice goes through ``dice``, never through a generator: the tests then visit all outcomes and check that
Q* is invariant. A method ``static(target)`` may tell that a GPU can record the step. The registered name stands for a
function of the task's ``Walk`` and of whether marginals are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from softground.dice import Dice
from softground.inverses import Inverse, complete
from softground.kernels import KERNELS, Info, Kernel, fibre_weights, pick
from softground.projections import Projection, Walk
from softground.target import Target


@dataclass(frozen=True)
class Redraw(Kernel):
    """Target Q*; detailed balance holds for each set of dropped sites.

    >>> import softground as sg
    >>> space = sg.Categorical([range(4)] * 3)
    >>> task = sg.Task(space, sg.Program(lambda a, b, c: a + b + c, space))
    >>> [stage.name for stage in sg.grounding_stages(task, Redraw(task.inverse, sg.projections.RandomDrop(space, 2)))]
    ['I']
    """

    inverse: Inverse
    projection: Projection

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        """One transition of every chain; a chain whose fibre is incomplete stays."""
        dropped = self.projection.draw(dice, len(z), z.device)
        fibre = self.inverse.fibre(z, target.answers, dropped)
        known = fibre.complete
        weights = torch.where(known[:, None], fibre_weights(target, dropped, fibre), 0.0)
        drawn = complete(z, dropped, pick(fibre.values, dice.categorical(weights)))
        after = torch.where(known[:, None], drawn, z)
        return after, Info(known.float(), (after != z).any(-1), ~known)


@KERNELS.register("redraw")
def by_name(walk: Walk, marginals: bool) -> Kernel:
    return Redraw(walk.inverse, walk.family)
