"""What the Sudoku tests share: the 288 boards, a lopsided belief about one, and where MNIST may lie."""

from __future__ import annotations

import math
import os
from pathlib import Path

import torch
from torch import Tensor

from softground.inverses import Listing
from softground.kernels import Kernel
from softground.spaces import CategoricalBelief
from softground.target import Target
from softground.task import Task
from softground.tasks.sudoku.boards import all_boards
from softground.tasks.sudoku.rule import sudoku_space
from softground.tasks.sudoku.walks import BOARD_KERNELS, board_walk

SPACE = sudoku_space(4)
BOARDS = torch.from_numpy(all_boards(4))
LISTING = Listing(SPACE, BOARDS)
MNIST = Path(os.environ.get("SOFTGROUND_DATA", Path(__file__).parents[3] / "shared" / "data"))
HAS_MNIST = (MNIST / "t10k-images-idx3-ubyte.gz").is_file()


def belief(batch: int) -> CategoricalBelief:
    """The same for every chain, far from symmetric."""
    output = torch.randn(1, 16, 4, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    return SPACE.belief(output.expand(batch, -1, -1))


def target(batch: int, gamma: float) -> Target[CategoricalBelief]:
    return Target.at(belief(batch), torch.zeros(batch, dtype=torch.long), gamma)


def law(gamma: float) -> Tensor:
    """Q* on the 288 boards, by brute force."""
    log_p = belief(len(BOARDS)).log_prob(BOARDS)
    return (torch.zeros_like(log_p) if gamma == float("inf") else log_p / gamma).softmax(0)


def board_kernel(name: str, task: Task, marginals: bool) -> Kernel:
    """A kernel of boards by its name, with the walk that suits their size."""
    return BOARD_KERNELS[name](board_walk(math.isqrt(task.space.sites), task), marginals)
