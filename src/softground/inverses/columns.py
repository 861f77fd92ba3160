"""A table of the whole space on one device: each state's answer, and the states sorted by it; how long it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints.program import NO_ANSWER, Program

SAMPLE, SAMPLE_VECTORISED = 256, 2**16  # states whose time is measured


@dataclass(frozen=True, eq=False)
class Columns:
    """The table on one device."""

    answer: Tensor  # [states] int32 id of each state's answer, −1 for none
    # State indices sorted by answer, then by index; those without an answer come first. At the end zeros, as many as
    # the most states of an answer, so that a window of that size fits anywhere.
    by_answer: Tensor
    offsets: Tensor  # [answers + 1] where each answer's states begin in by_answer

    @classmethod
    def of(cls, answer: Tensor, known: int) -> Columns:
        """From the states' answers, of which ``known`` have ids."""
        order = torch.sort(answer, stable=True)
        none = int((answer == NO_ANSWER).sum())
        count = torch.bincount(order.values[none:].long(), minlength=known)
        longest = int(count.max()) if len(count) else 0
        begins = torch.nn.functional.pad(count.cumsum(0), (1, 0)) + none
        return cls(answer, torch.nn.functional.pad(order.indices, (0, longest)), begins)

    def to(self, device: torch.device) -> Columns:
        """A copy on ``device``."""
        return Columns(self.answer.to(device), self.by_answer.to(device), self.offsets.to(device))


def seconds_for(rule: Program) -> float:
    """How long a table of a rule will take to make, by a sample of its states; half a second of them is enough."""
    size, spent, tried = rule.space.size, 0.0, 0
    sample = min(size, SAMPLE_VECTORISED if rule.vectorised else SAMPLE)
    states = rule.space.states(torch.randint(size, (sample,), generator=torch.Generator().manual_seed(0)))
    for part in torch.split(states, len(states) if rule.vectorised else 16):
        if spent < 0.5:
            began = time.perf_counter()
            rule.answer_ids(part, remember=False)
            spent, tried = spent + time.perf_counter() - began, tried + len(part)
    return spent / tried * size
