"""A small fully connected network for inputs that are rows of numbers, not images."""

from torch import nn

from .dropout import Dropout


def mlp(features: int, outputs: int, width: int = 128, dropout: float = 0.1) -> nn.Sequential:
    """Two hidden layers over the last axis, so that ``[batch, sites, features]`` gives ``[batch, sites, outputs]``.

    >>> import torch
    >>> mlp(features=16, outputs=10)(torch.zeros(2, 3, 16)).shape
    torch.Size([2, 3, 10])
    """
    first = [nn.Linear(features, width), nn.ReLU(), Dropout(dropout)]
    second = [nn.Linear(width, width), nn.ReLU(), Dropout(dropout)]
    return nn.Sequential(*first, *second, nn.Linear(width, outputs))
