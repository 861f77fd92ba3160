"""Checks that every batch gives finite numbers, without making the CPU wait for a GPU.

Outputs, loss and gradients are checked. A loss may be infinite although the outputs are finite (a feasible symbol of
probability 0), and a gradient although the loss is finite (a square root at 0). So the error names the batch that
caused it, not the next one, whose outputs come from a broken network.

A GPU works through a queue that the CPU fills. Asking for a result empties the queue, and the next kernels start late.
So on a GPU the answer for one batch is read when the next batch comes; by then it has long been there. Until then the
batch goes on with zeros in place of NaN. They do no harm, because the run stops before anything is saved. On a CPU the
answer is read at once, before the step is taken.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from ..errors import NonFiniteOutput
from ..objectives.base import Objective

SHOWN = 8  # names in a message


class FiniteOutputs:
    """Watches a run's outputs and what is learnt from them; an error is about the batch whose number is ``step``."""

    def __init__(self) -> None:
        self.step = 0
        self._open: Callable[[], None] | None = None  # a GPU's answer about the batch before

    def begin(self, step: int, index: Tensor) -> None:
        """A batch of examples ``index`` comes. Raises for the one before, if its answer is still open."""
        self.settle()
        self.step, self._index = step, index

    def watch(self, output: Tensor) -> Tensor:
        """The batch's output, safe to go on with. Raises on a CPU."""
        safe, self._good = masked(output)
        if not output.is_cuda and not bool(self._good.all()):
            raise complaint(~self._good, self._index)
        return safe

    def watched(self, good: Tensor) -> None:
        """Which rows of the batch's output are finite, where somebody else has looked."""
        self._good = good

    def learn(self, loss: Tensor, network: nn.Module, norm: Tensor | None = None) -> None:
        """Watch the loss of the output just seen, and the gradients it left in the network, or their ``norm``."""
        loss = loss.detach()
        # One reduction, which NaN and infinity pass through. (Not the largest number: that is slower on a CPU.)
        parts = gradients(network).values() if norm is None else [norm]
        usable = get_total_norm([loss, *parts]) < math.inf
        if not loss.is_cuda:
            if not bool(usable):
                raise unlearnable(loss, network)
            return
        index, good = self._index, self._good
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(good.all() & usable, non_blocking=True)
        ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
        ready.record()

        def read() -> None:
            ready.synchronize()
            if not bool(answer):  # the network's gradients stay until those of the next batch are computed
                raise unlearnable(loss, network) if bool(good.all()) else complaint(~good, index)

        self._open = read

    def settle(self) -> None:
        """Read the answer that is still open; ``step`` is still the number of its batch."""
        read, self._open = self._open, None
        if read is not None:
            read()


def masked(output: Tensor) -> tuple[Tensor, Tensor]:
    """The output, safe to go on with on a GPU: with zeros for what is not finite; and which rows are all finite."""
    finite = torch.isfinite(output)
    return torch.where(finite, output, 0.0) if output.is_cuda else output, finite.flatten(1).all(1)


def complaint(bad: Tensor, index: Tensor) -> NonFiniteOutput:
    """The error for the rows ``bad`` of a batch of examples ``index``."""
    rows = [row if row >= 0 else "an anchor" for row in index[bad].tolist()]
    return NonFiniteOutput(
        f"The network's output holds NaN or infinity for {len(rows)} of the {len(index)} examples of a batch: "
        f"{_listed(rows)}. Lower the learning rate, or look for NaN in the inputs."
    )


def unlearnable(loss: Tensor, network: nn.Module) -> NonFiniteOutput:
    """The error for a loss or a gradient that is not finite, or not when squared, though the outputs are."""
    remedy = "Lower the learning rate, or look for very large inputs or outputs."
    if not bool(torch.isfinite(loss)):
        return NonFiniteOutput(f"The loss is {float(loss):g}, though the network's outputs are finite. {remedy}")
    if not (names := broken(gradients(network))):
        what = "its square, or that of its gradient, is more than a number can hold"
        return NonFiniteOutput(f"The loss is {float(loss):g}: {what}. {remedy}")
    return NonFiniteOutput(
        f"The loss is {float(loss):g}, but its gradient holds NaN or infinity at the network's {_listed(names)}. Lower "
        "the learning rate, or look for a square root, logarithm or division at 0 in the network or the objective."
    )


def gradients(network: nn.Module) -> dict[str, Tensor]:
    """The gradients that the network's parameters hold, by name; of sparse ones the values that are there."""
    found = {name: value.grad for name, value in network.named_parameters() if value.grad is not None}
    return {name: grad.coalesce().values() if grad.is_sparse else grad for name, grad in found.items()}


def everything(network: nn.Module, optimizer: Any, objectives: Sequence[Objective]) -> dict[str, Tensor]:
    """What a checkpoint would hold of these, by what a message calls it."""
    parts = {f"network's {name}": value for name, value in network.state_dict().items()}
    for number, memory in optimizer.state_dict()["state"].items():
        parts |= {f"optimiser's {name} of parameter {number}": value for name, value in memory.items()}
    for number, objective in enumerate(objectives, start=1):
        of = f" (shape number {number})" if number > 1 else ""
        parts |= {f"objective's {name}{of}": value for name, value in objective.state().items()}
    return {name: value for name, value in parts.items() if isinstance(value, Tensor)}


def broken(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of those that hold NaN or infinity; a GPU is asked once.

    >>> broken({"weight": torch.tensor([1.0, torch.nan]), "bias": torch.zeros(2), "steps": torch.tensor(3)})
    ['weight']
    """
    able = {name: value for name, value in tensors.items() if value.is_floating_point() or value.is_complex()}
    if not able:
        return []
    device = next(iter(able.values())).device  # optimisers keep some of their numbers on the CPU
    finite = torch.stack([torch.isfinite(value).all().to(device, non_blocking=True) for value in able.values()])
    return [name for name, good in zip(able, finite.tolist(), strict=True) if not good]


def _listed(names: Sequence[int | str]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (" …" if len(names) > SHOWN else "")
