"""The one network of the comparison, in torch alone: LeNet-5 as ``softground.networks.lenet`` builds it.

Every runner imports this file, ``run_softground.py`` checks that the library's own network has the same layers, and one
seed gives all of them the same first weights.

Reference: Y. LeCun et al., Gradient-based learning applied to document recognition, Proc. IEEE 86 (1998).
"""

from __future__ import annotations

from torch import nn


def lenet(side: int = 28, outputs: int = 10) -> nn.Sequential:
    """Two 5×5 convolutions (6 and 16 maps) with pooling, then 120, 84 and ``outputs`` units, on grey square images."""
    left = ((side - 4) // 2 - 4) // 2  # what two convolutions without padding and two poolings leave of a side
    return nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * left * left, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, outputs),
    )
