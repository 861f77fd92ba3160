"""Penalise doubt: the entropy of the network's predictions, which falls to 0 as it becomes sure.

A term changes any teacher's step through the hooks ``inputs``, ``evidence``, ``weigh`` and ``loss``. ``batch.mean``
averages over the examples of all processes, and each process adds its share. Numbers that the loss depends on, such as
a weight, go into ``numbers``: every epoch records them, and a GPU's recording is made for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from softground.training import Batch, Moment, Term


@dataclass(frozen=True)
class Confident(Term):
    """Adds λ(t) times the mean entropy of P_i(s|x); λ doubles over the stage.

    >>> import softground as sg
    >>> stage = sg.Stage("I", sg.training.SemanticLoss(), 3, torch.optim.Adam, terms=[Confident(0.1)])
    """

    weight: float

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"doubt_weight": self.weight * (1 + moment.share)}

    def loss(self, batch: Batch) -> None:
        doubt = torch.special.entr(batch.belief.marginals()).sum(-1).mean(1)  # of each example
        price = self.weight * (1 + batch.moment.share)
        batch.losses.append(price * batch.mean(doubt) / batch.processes)
        batch.figures["doubt"] = doubt.detach()
