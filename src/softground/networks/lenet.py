"""LeNet-5, the paper's network for formulas and Sudoku.

Reference: Y. LeCun et al., Gradient-based learning applied to document recognition, Proc. IEEE 86 (1998).
"""

from torch import nn

from ..errors import DataError
from .blueprint import IMAGE_NETWORKS


@IMAGE_NETWORKS.register("lenet")
def lenet(image: tuple[int, int, int], outputs: int) -> nn.Sequential:
    """Two 5×5 convolutions (6 and 16 maps) with pooling, then 120, 84 and ``outputs`` units."""
    channels, height, width = image
    # Small images are padded so that two 5×5 convolutions and poolings leave something to read.
    pad = 2 if min(height, width) < 28 else 0
    rows, columns = (((side + 2 * pad - 4) // 2 + 2 * pad - 4) // 2 for side in (height, width))
    if min(rows, columns) < 1:
        raise DataError(f"LeNet-5 cannot read {height}×{width} images; give images of at least 8×8.")
    first = [nn.Conv2d(channels, 6, 5, padding=pad), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(6, 16, 5, padding=pad), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    third = [nn.Linear(16 * rows * columns, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()]
    return nn.Sequential(*first, *second, *third, nn.Linear(84, outputs))
