r"""Shares that are right, and the names that fit best where a rule fixes none.

Where a rule does not tell symbols apart, a prediction and its renaming are feasible together. Symbols are then compared
with the true ones under the **one** renaming of the whole data set that agrees best,

.. math:: \hat\pi = \arg\max_\pi \sum_{b,i} [\, \pi(\hat z_{bi}) = z_{bi} \,],

an assignment problem on the counts of (predicted, true) symbols.

Reference: H. W. Kuhn, The Hungarian method for the assignment problem, Naval Res. Logist. Quart. 2 (1955).
"""

import torch
from torch import Tensor


def accuracies(
    predicted: Tensor, feasible: Tensor, symbols: Tensor | None, name: str = "answer_accuracy"
) -> dict[str, float]:
    """Share of predictions that give the right answer, under ``name``, and of symbols that are right; where these are
    real numbers, their root mean square ``error`` instead."""
    result: dict[str, float] = {name: feasible.double().mean().item()}
    if symbols is not None and predicted.is_floating_point():
        result["error"] = (predicted - symbols).square().mean().sqrt().item()
    elif symbols is not None:
        result["symbol_accuracy"] = (predicted == symbols).double().mean().item()
    return result


def best_relabelling(predicted: Tensor, symbols: Tensor, size: int = 0) -> Tensor:
    """The permutation π̂ that carries predicted codes closest to the true ones, of the codes that occur.

    With a ``size``, of at least so many codes.

    >>> best_relabelling(torch.tensor([[0, 1, 2, 1]]), torch.tensor([[2, 0, 1, 0]])).tolist()
    [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment  # here, because few tasks need it and it is slow to import

    size = max(size, int(max(predicted.max(), symbols.max())) + 1)
    counts = torch.bincount((predicted * size + symbols).flatten().cpu(), minlength=size**2).view(size, size)
    _, relabelled = linear_sum_assignment(counts.numpy(), maximize=True)
    return torch.as_tensor(relabelled, device=predicted.device)
