"""The inverse of a sum of digits, by subtraction: the other digits determine the last missing one.

``fibre`` returns all completions of the dropped sites in lexicographic order, ``start`` a feasible state per answer. A
method ``set``, which returns S_y of each answer as a ``softground.inverses.Set``, would add the exact distribution, and
``exact = True`` the exact kernel, the semantic loss and constrained prediction. To make an inverse the default for a
type of constraint, register it with ``softground.inverses.default_inverse``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from softground import Program
from softground.inverses import Fibre, Inverse, Start
from softground.projections import Dropped


class Missing(Inverse):
    """Fibres of a rule that adds up digits 0 … K − 1.

    >>> import softground as sg
    >>> space = sg.Categorical([range(10)] * 3)
    >>> rule = sg.Program(lambda a, b, c: a + b + c, space)
    >>> y = rule.encode([12, 12])
    >>> z, dropped = space.encode([(0, 4, 5), (9, 9, 0)]), sg.projections.Dropped(torch.tensor([[0], [2]]))
    >>> fibre = Missing(rule).fibre(z, y, dropped)
    >>> fibre.values.flatten().tolist(), fibre.mask.flatten().tolist()
    ([3, 0], [True, False])
    >>> task = sg.Task(space, rule, Missing(rule))
    >>> stages = sg.grounding_stages(task, sg.kernels.Guided(task.inverse, sg.projections.RandomDrop(space, 1)))
    """

    def __init__(self, rule: Program) -> None:
        self.space, self.constraint = rule.space, rule

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        """All but one of the dropped digits take every value; subtraction gives the last."""
        base, free = self.space.width, dropped.count - 1
        powers = base ** torch.arange(free, device=z.device).flip(0)
        first = torch.arange(base**free, device=z.device)[:, None] // powers % base
        rest = self._totals(y) - z.scatter(1, dropped.sites, 0).sum(1)
        last = rest[:, None] - first.sum(1)
        possible = (last >= 0) & (last < base)
        values = torch.cat([first.expand(len(z), -1, -1), last.where(possible, 0)[..., None]], 2)
        return Fibre(values, possible, torch.ones(len(z), dtype=torch.bool, device=z.device))

    def start(self, y: Tensor, seed: int) -> Start:
        """Digits drawn one after the other, each so that the others can still make up the total."""
        generator = torch.Generator().manual_seed(seed)
        rest, sites, most = self._totals(y), self.space.sites, self.space.width - 1
        digits, found = [], (rest >= 0) & (rest <= most * sites)
        for left in reversed(range(sites)):
            low, high = (rest - most * left).clamp(0, most), rest.clamp(0, most)
            uniform = torch.rand(len(y), generator=generator, dtype=torch.float64).to(y.device)
            digits.append(low + (uniform * (high - low + 1)).long())
            rest = rest - digits[-1]
        return Start(torch.stack(digits, 1), found, torch.ones_like(found))

    def _totals(self, y: Tensor) -> Tensor:
        """Encoded answers as the numbers they stand for."""
        return torch.tensor([int(self.constraint.answer(answer)) for answer in y], device=y.device)
