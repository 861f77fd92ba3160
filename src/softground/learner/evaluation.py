"""Predictions for a whole data set, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..spaces.categorical import CategoricalBelief
from ..task import Task
from .batches import Batches


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


def beliefs(task: Task, network: nn.Module, data: Batches, size: int = 256) -> Iterator[tuple[Tensor, CategoricalBelief]]:
    """``(positions, P(z|x))`` batch by batch."""
    with evaluating(network):
        for index, x in data.walk(data.in_order(size)):
            yield index, task.space.belief(network(x))


def predictions(task: Task, network: nn.Module, data: Batches) -> Tensor:
    """The most probable symbol vector of every example, ``[examples, sites]``."""
    return torch.cat([belief.mode() for _, belief in beliefs(task, network, data)])


def evaluate(task: Task, network: nn.Module, data: Batches, y: Tensor) -> dict[str, Any]:
    """The task's metrics on a data set with encoded answers ``y``."""
    predicted = predictions(task, network, data)
    return task.metrics(predicted, task.feasible(predicted, y), data.symbols)
