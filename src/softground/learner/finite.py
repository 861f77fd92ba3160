"""Are the network's outputs finite? Asked of every batch, without making the CPU wait for a GPU.

A GPU works through a queue that the CPU fills; asking it a question empties the queue, and the next kernels begin late.
So on a GPU the answer for one batch is read when the next one comes, by which time it has long been there. Meanwhile
the batch goes on with zeros in place of NaN, which harm nothing: the run stops before anything is saved.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import NonFiniteOutput


@dataclass(frozen=True, eq=False)
class _Question:
    step: int
    index: Tensor
    bad: Tensor  # [batch] which rows hold NaN or infinity
    answer: Tensor  # pinned, on the CPU
    ready: torch.cuda.Event


class FiniteOutputs:
    """Watches a run's outputs; an error carries the number of the batch it is about in ``step``."""

    def __init__(self) -> None:
        self._asked: _Question | None = None
        self.step = 0

    def watch(self, output: Tensor, step: int, index: Tensor) -> Tensor:
        """The output, safe to go on with. Raises for this batch on a CPU, for the one before on a GPU."""
        self.settle()
        self.step = step
        finite = torch.isfinite(output)
        bad = ~finite.flatten(1).all(1)
        if not output.is_cuda:
            if bool(bad.any()):
                raise complaint(bad, index)
            return output
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(bad.any(), non_blocking=True)
        ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
        ready.record()
        self._asked = _Question(step, index, bad, answer, ready)
        return torch.where(finite, output, 0.0)

    def settle(self) -> None:
        """Read the answer that is still open."""
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.ready.synchronize()
            if bool(asked.answer):
                self.step = asked.step
                raise complaint(asked.bad, asked.index)


def complaint(bad: Tensor, index: Tensor) -> NonFiniteOutput:
    """The error for the rows ``bad`` of a batch of examples ``index``."""
    rows = index[bad].tolist()
    shown = ", ".join(map(str, rows[:8])) + (" …" if len(rows) > 8 else "")
    return NonFiniteOutput(
        f"The network's output holds NaN or infinity for {len(rows)} of the {len(index)} examples of a batch: "
        f"{shown}. Lower the learning rate, or look for NaN in the inputs."
    )
