r"""How the values of symbols are read: macro-F1, and how many of them are never read at all.

With :math:`t_v` readings of a value v that are right, :math:`p_v` readings of v and :math:`s_v` sites where v stands,

.. math:: F_1(v) = \frac{2 t_v}{p_v + s_v}, \qquad
    \mathrm{macro\ } F_1 = \frac{1}{|V|} \sum_{v \in V} F_1(v), \qquad
    \mathrm{Cls} = 1 - \frac{|\{v : p_v > 0\}|}{|V|} .

V are the values that are read or stand somewhere (scikit-learn's convention for F1, rsbench's for both), or all
``classes`` of the alphabet, where one that neither is read nor occurs has F1 = 0 (Soft-PNet; PNet for the collapse).

References: S. Bortolotti et al., rsbench, NeurIPS 2024; E. Marconato et al., BEARS, UAI 2024.
"""

from typing import Any

import torch
from torch import Tensor


def macro_f1(predicted: Tensor, truth: Tensor, classes: int | None = None) -> float:
    """The mean F1 over the values that occur in either, or over all ``classes``; codes of one shape, from 0.

    >>> predicted, truth = torch.tensor([0, 1, 1, 2]), torch.tensor([0, 1, 2, 2])
    >>> round(macro_f1(predicted, truth), 4), round(macro_f1(predicted, truth, classes=4), 4)
    (0.7778, 0.5833)
    """
    right, read, true = tallies(predicted, truth)
    f1 = 2 * right.double() / (read + true).clamp(min=1)
    return (f1.sum() / (classes or _values(read, true))).item()


def collapse(predicted: Tensor, truth: Tensor, classes: int | None = None) -> float:
    """The share of values never predicted, of those that occur in either or of all ``classes``; 0: all are used.

    >>> predicted, truth = torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 2, 2])
    >>> round(collapse(predicted, truth), 4), collapse(predicted, truth, classes=4)
    (0.3333, 0.5)
    """
    _, read, true = tallies(predicted, truth)
    return 1 - int((read > 0).sum()) / (classes or _values(read, true))


def tallies(predicted: Tensor, truth: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each value: the readings that are right, all readings, and the sites where it stands."""
    predicted, truth = predicted.flatten(), truth.flatten()
    size = int(max(predicted.max(), truth.max())) + 1
    groups = (truth[predicted == truth], predicted, truth)
    right, read, true = (torch.bincount(group, minlength=size) for group in groups)
    return right, read, true


def numbered(space: Any, z: Tensor) -> Tensor:
    """Codes ``[rows, sites]``, which count in each site's own alphabet, as positions in ``space.symbols``."""
    union, most = {symbol: k for k, symbol in enumerate(space.symbols)}, max(map(len, space.named))
    table = torch.tensor([[union[s] for s in names] + [0] * (most - len(names)) for names in space.named])
    return table.to(z.device)[torch.arange(space.sites, device=z.device), z]


def _values(read: Tensor, true: Tensor) -> int:
    return int((read + true > 0).sum())
