"""A small fully connected network for inputs that are rows of numbers, not images."""

from __future__ import annotations

from torch import Tensor, nn

from .blueprint import LAYERS
from .dropout import Dropout


@LAYERS.register("softground.StandardiseFeatures")
class StandardiseFeatures(nn.Module):
    """Subtract each feature's mean and divide by its spread, both taken once from the training inputs."""

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    @classmethod
    def of(cls, x: Tensor) -> StandardiseFeatures:
        """For inputs ``[..., features]``; a feature that never changes is left at 0."""
        rows = x.reshape(-1, x.shape[-1]).float()
        return cls(rows.mean(0), rows.std(0, correction=0).clamp(min=1e-6))

    def forward(self, x: Tensor) -> Tensor:
        return (x.float() - self.mean) / self.scale


def mlp(features: int, outputs: int, width: int = 128, dropout: float = 0.1) -> nn.Sequential:
    """Two hidden layers over the last axis, so that ``[batch, sites, features]`` gives ``[batch, sites, outputs]``.

    >>> import torch
    >>> mlp(features=16, outputs=10)(torch.zeros(2, 3, 16)).shape
    torch.Size([2, 3, 10])
    """
    return nn.Sequential(
        nn.Linear(features, width),
        nn.ReLU(),
        Dropout(dropout),
        nn.Linear(width, width),
        nn.ReLU(),
        Dropout(dropout),
        nn.Linear(width, outputs),
    )
