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


def believe(task: Task, network: nn.Module, x: Any, index: Tensor) -> Any:
    """P(z|x) of the examples at positions ``index``, as the space's own kind of belief.

    An output that is not finite is reported by those positions.
    """
    output = network(x)
    if isinstance(output, Tensor) and output.dim() == 3 and len(output) != len(index):
        raise SpaceError(f"The network gave {len(output)} rows for {len(index)} inputs; expected one row an input.")
    try:
        return task.space.belief(output)
    except NonFiniteOutput as error:
        bad = index[(~torch.isfinite(output)).flatten(1).any(1)].tolist()
        shown = ", ".join(map(str, bad[:8])) + (" …" if len(bad) > 8 else "")
        raise NonFiniteOutput(
            f"The network's output holds NaN or infinity for {len(bad)} of the {len(index)} examples of a batch: "
            f"{shown}. Lower the learning rate, or look for NaN in the inputs."
        ) from error


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
