"""A training batch's passes through the network, with distortion; on a GPU, forward and backward are recorded.

Outputs, loss and gradients are checked to be finite. A loss may be infinite although the outputs are finite (a feasible
symbol of probability 0), and a gradient although the loss is finite (a square root at 0). So the error names the batch
that caused it, not the next one, whose outputs come from a broken network.

A GPU works through a queue that the CPU fills. Reading a result empties the queue, and the next kernels start late. So
on a GPU, the check of one batch is read when the next batch comes. Until then, zeros replace NaN. They do no harm,
because the run stops before anything is saved. On a CPU, the check is read at once, before the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from ..data.augment import RandomAffine
from ..data.gathered import Gathered
from ..dice import Streams
from ..errors import NonFiniteOutput
from ..networks.blueprint import of_known_layers
from ..networks.layers import draw_from
from .datasets import length
from .device import PRECISIONS
from .evaluation import check_rows, complaint, each_once, some_of
from .plan import Plan
from .recording import NotRecordable, Passes


class FiniteOutputs:
    """Check a run's outputs, losses and gradients; an error concerns the batch number ``step``."""

    def __init__(self) -> None:
        self.step = 0
        self._open: Callable[[], None] | None = None  # a GPU's check of the last batch

    def begin(self, step: int, at: Callable[[Tensor], Tensor], index: Tensor) -> None:
        """Begin a batch of the rows ``index``; ``at`` gives their positions in the data set.

        Raises for the previous batch, if its check is still open.
        """
        if self._open is not None:
            self.settle()
        self.step, self._at, self._index = step, at, index

    def watch(self, output: Tensor) -> Tensor:
        """Check the batch's output and return it without NaN. Raises on a CPU."""
        finite = torch.isfinite(output)
        if output.is_cuda:
            self._good = finite.flatten(1).all(1)
            return torch.where(finite, output, 0.0)
        if not bool(finite.all()):
            raise complaint(~finite.flatten(1).all(1), self._at(self._index))
        return output

    def learn(self, loss: Tensor, network: nn.Module, norm: Tensor | None = None) -> None:
        """Check the output's loss and the network's gradients, or their ``norm``."""
        watched = [loss := loss.detach()]
        if norm is not None:
            watched.append(norm)
        else:
            for weight in network.parameters():
                if weight.grad is not None:
                    watched.append(weight.grad.coalesce().values() if weight.grad.is_sparse else weight.grad)
        # One reduction that keeps NaN and infinity. (The maximum would be slower on a CPU.)
        usable = get_total_norm(watched) < math.inf
        if not loss.is_cuda:
            if not bool(usable):
                raise unlearnable(loss, network)
            return
        at, index, good = self._at, self._index, self._good
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(good.all() & usable, non_blocking=True)
        ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
        ready.record()

        def read() -> None:
            ready.synchronize()
            if not bool(answer):  # the network's gradients stay until those of the next batch are computed
                raise unlearnable(loss, network) if bool(good.all()) else complaint(~good, at(index))

        self._open = read

    def settle(self) -> None:
        """Read the open check; ``step`` is still the number of its batch."""
        read, self._open = self._open, None
        if read is not None:
            read()


class Outputs:
    """The network's outputs for the batches of a stage.

    Its passes are recorded (:class:`~softground.learner.recording.Passes`) on one GPU, if its layers do the same every
    time, and gradients are not added up over batches.
    """

    def __init__(self, plan: Plan, module: nn.Module, streams: Streams) -> None:
        self.module, self.streams, self.watch = module, streams, FiniteOutputs()
        self.network, self.fabric, self.augment = plan.network, plan.fabric, plan.augment
        fabric, network = plan.fabric, plan.network
        self.dtype = next((p.dtype for p in network.parameters() if p.is_floating_point()), None)
        alone = fabric.device.type == "cuda" and fabric.world_size == 1 and plan.settings.accumulate == 1
        self.passes: Passes | None = None
        if alone and of_known_layers(network) and plan.precision in PRECISIONS:
            self.passes = Passes(self._recorded, network, lambda: [streams.distortion, streams.chance])

    def __call__(self, x: object) -> Any:
        """Compute the output for inputs x, on the gradient tape; check rows and finite numbers."""
        # A recurring image gets one distortion, in whatever number of rows it appears.
        output = each_once(self.network, x, self._read) if isinstance(x, Gathered) else self._read(x)
        if not isinstance(output, Tensor):
            return output
        if len(output) != (rows := len(x) if isinstance(x, Tensor) else length(x)):
            check_rows(output, rows)
        return self.watch.watch(output)

    def _read(self, x: object) -> Any:
        if self.augment is not None and not isinstance(self.augment, RandomAffine):
            x = self.augment(x, self.streams.distortion)  # which may vary
        if self.passes is not None and isinstance(x, Tensor):
            try:
                return self.passes(x)
            except NotRecordable as error:
                self.passes = None
                self.streams.renew(*error.places)
                draw_from(self.network, self.streams.chance)
        return self._through(self.module, x)

    def _through(self, network: nn.Module, x: Any) -> Any:
        if isinstance(self.augment, RandomAffine):
            x = self.augment(x, self.streams.distortion)
        if isinstance(x, Tensor) and x.is_floating_point() and self.dtype is not None:
            x = x.to(self.dtype)
        output = network(x)
        if isinstance(output, Tensor) and output.dtype in (torch.float16, torch.bfloat16):
            output = output.float()  # sums over S_y need more precision
        return output

    def _recorded(self, x: Tensor) -> Any:
        # Not Fabric's module, whose outputs require Fabric's backward; on one device, it only adds the precision.
        with self.fabric.autocast():
            return self._through(self.network, x)


def unlearnable(loss: Tensor, network: nn.Module) -> NonFiniteOutput:
    """Make the error for a loss or gradient that is not finite, or overflows when squared."""
    remedy = "Lower the learning rate, or look for very large inputs or outputs."
    if not bool(torch.isfinite(loss)):
        return NonFiniteOutput(f"The loss is {float(loss):g}, though the network's outputs are finite. {remedy}")
    if not (names := not_finite(gradients(network))):
        what = "its square, or that of its gradient, is more than a number can hold"
        return NonFiniteOutput(f"The loss is {float(loss):g}: {what}. {remedy}")
    return NonFiniteOutput(
        f"The loss is {float(loss):g}, but its gradient holds NaN or infinity at the network's {some_of(names)}. Lower "
        "the learning rate, or look for a square root, logarithm or division at 0 in the network or the teacher's loss."
    )


def gradients(network: nn.Module) -> dict[str, Tensor]:
    """The parameters' gradients, by name; of sparse ones, the stored values."""
    found = {name: value.grad for name, value in network.named_parameters() if value.grad is not None}
    return {name: grad.coalesce().values() if grad.is_sparse else grad for name, grad in found.items()}


def saved_tensors(
    network: nn.Module, optimizer: Optimizer, memories: Sequence[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """The tensors that a checkpoint would hold, by their names in messages."""
    parts = {f"network's {name}": value for name, value in network.state_dict().items()}
    for number, memory in optimizer.state_dict()["state"].items():
        parts |= {f"optimiser's {name} of parameter {number}": value for name, value in memory.items()}
    for number, memory in enumerate(memories, start=1):
        of = f" (shape number {number})" if number > 1 else ""
        parts |= {f"examples' {name}{of}": value for name, value in memory.items()}
    return {name: value for name, value in parts.items() if isinstance(value, Tensor)}


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of tensors with NaN or infinity, found with one read of the device.

    >>> not_finite({"weight": torch.tensor([1.0, torch.nan]), "bias": torch.zeros(2), "steps": torch.tensor(3)})
    ['weight']
    """
    able = {name: value for name, value in tensors.items() if value.is_floating_point() or value.is_complex()}
    if not able:
        return []
    device = next(iter(able.values())).device  # optimisers keep some of their numbers on the CPU
    finite = torch.stack([torch.isfinite(value).all().to(device, non_blocking=True) for value in able.values()])
    return [name for name, good in zip(able, finite.tolist(), strict=True) if not good]
