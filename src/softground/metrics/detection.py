r"""How well a score tells examples of one kind from the others.

The area under the receiver operating characteristic is the probability that a random example of the kind has a higher
score than a random other one, where equal scores count half: with the mean rank :math:`\bar r` of the n₁ examples of
the kind among all n₀ + n₁,

.. math:: \mathrm{AUROC} = \frac{\bar r - (n_1 + 1)/2}{n_0} .

Reference: J. A. Hanley and B. J. McNeil, Radiology 143 (1982).
"""

import torch
from torch import Tensor


def auroc(scores: Tensor, kind: Tensor) -> float:
    """The area for ``scores`` and a bool tensor that says which examples are of the kind; NaN where all or none are.

    >>> auroc(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([False, True, False, True]))
    0.875
    """
    _, place, count = torch.unique(scores, return_inverse=True, return_counts=True)
    ranks = (count.cumsum(0) - (count - 1) / 2).double()[place]  # equal scores share the mean of their ranks
    ones, others = int(kind.sum()), int((~kind).sum())
    return float((ranks[kind].mean() - (ones + 1) / 2) / others) if ones and others else float("nan")
