"""Predictions for a whole data set, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import NonFiniteOutput, SpaceError
from ..task import Task
from .batches import Batches
from .finite import FiniteOutputs, complaint

BATCH = 256


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode, no gradients; the network's own mode is put back at the end."""
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(was_training)


def believe(
    task: Task, network: nn.Module, x: Any, index: Tensor, watch: FiniteOutputs | None = None, step: int = 0
) -> Any:
    """P(z|x) of the examples at positions ``index``, as the space's own kind of belief.

    An output that is not finite is reported by those positions, at once or when the ``watch`` says so.
    """
    output = network(x)
    if isinstance(output, Tensor) and output.dim() == 3 and len(output) != len(index):
        raise SpaceError(f"The network gave {len(output)} rows for {len(index)} inputs; expected one row an input.")
    if watch is not None and isinstance(output, Tensor):
        return task.space.belief(watch.watch(output, step, index), finite=True)
    try:
        return task.space.belief(output)
    except NonFiniteOutput as error:
        raise complaint(~torch.isfinite(output).flatten(1).all(1), index) from error


def beliefs(task: Task, network: nn.Module, data: Batches) -> Iterator[tuple[Tensor, Any]]:
    """``(positions, P(z|x))`` batch by batch, to be asked for inside :func:`evaluating`."""
    for index, x in data.walk(data.in_order(BATCH)):
        yield index, believe(task, network, x, index)


def predictions(task: Task, network: nn.Module, data: Batches) -> Tensor:
    """The most probable symbol vector of every example, ``[examples, sites]``."""
    with evaluating(network):
        return torch.cat([belief.mode() for _, belief in beliefs(task, network, data)])


def evaluate(task: Task, network: nn.Module, data: Batches, y: Tensor) -> dict[str, Any]:
    """The task's metrics on a data set with encoded answers ``y``."""
    predicted = predictions(task, network, data)
    return task.figures(predicted, y, data.symbols)
