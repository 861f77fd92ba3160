r"""What a Sudoku prediction is worth.

Without clues the rule does not tell digits apart: with any permutation π of the digits, a board and its relabelling
are valid together. So the paper's accuracy is the validity of the predicted board, and accuracies against the truth
are given under the **one** relabelling of the whole data set that agrees best,

.. math:: \hat\pi = \arg\max_\pi \sum_{b,i} [\, \pi(\hat z_{bi}) = z_{bi} \,],

an assignment problem on the counts of (predicted, true) digits.

Reference: H. W. Kuhn, The Hungarian method for the assignment problem, Naval Res. Logist. Quart. 2 (1955).
"""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def best_relabelling(predicted: Tensor, symbols: Tensor) -> Tensor:
    """The permutation π̂ that carries predicted codes closest to the true ones, ``[digits]``.

    >>> best_relabelling(torch.tensor([[0, 1, 2, 1]]), torch.tensor([[2, 0, 1, 0]])).tolist()
    [2, 0, 1]
    """
    digits = int(max(predicted.max(), symbols.max())) + 1
    counts = torch.bincount((predicted * digits + symbols).flatten().cpu(), minlength=digits**2).view(digits, digits)
    _, relabelled = linear_sum_assignment(counts.numpy(), maximize=True)
    return torch.as_tensor(relabelled, device=predicted.device)


def sudoku_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Share of valid boards; where the truth is known, of right boards and symbols under the best relabelling."""
    result = {"board_accuracy": feasible.double().mean().item()}
    if symbols is not None:
        right = best_relabelling(predicted, symbols)[predicted] == symbols
        result["relabelled_board_accuracy"] = right.all(-1).double().mean().item()
        result["relabelled_symbol_accuracy"] = right.double().mean().item()
    return result
