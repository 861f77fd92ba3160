r"""Figures of predictions: accuracy, F1, collapse, calibration and detection.

**Names that fit best.** If a rule does not distinguish symbols, a prediction and its renaming are feasible together.
Symbols are then compared with the true ones under the **one** renaming of the whole data set that agrees best,

.. math:: \hat\pi = \arg\max_\pi \sum_{b,i} [\, \pi(\hat z_{bi}) = z_{bi} \,],

an assignment problem on the counts of (predicted, true) symbols.

Reference: H. W. Kuhn, The Hungarian method for the assignment problem, Naval Res. Logist. Quart. 2 (1955).

**F1 and collapse.** With :math:`t_v` correct readings of a value v, :math:`p_v` readings of v and :math:`s_v` sites
whose true value is v,

.. math:: F_1(v) = \frac{2 t_v}{p_v + s_v}, \qquad
    \mathrm{macro\ } F_1 = \frac{1}{|V|} \sum_{v \in V} F_1(v), \qquad
    \mathrm{Cls} = 1 - \frac{|\{v : p_v > 0\}|}{|V|} .

V are the values that are read or occur (scikit-learn's convention for F1, rsbench's for both), or all ``classes`` of
the alphabet, in which case unread values that never occur have F1 = 0 (Soft-PNet; PNet for the collapse).

References: S. Bortolotti et al., rsbench, NeurIPS 2024; E. Marconato et al., BEARS, UAI 2024.

**Calibration.** The confidence of a reading is the largest probability that P(z|x) gives to a symbol at its site.
Readings fall into ten equal bins ((k − 1)/10, k/10], k = 1 … 10, and with :math:`n_k` of n readings in bin k

.. math:: \mathrm{ECE} = \sum_k \frac{n_k}{n} \left| \mathrm{accuracy}_k - \mathrm{mean\ confidence}_k \right| .

References: M. P. Naeini, G. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning,
AAAI 2015; C. Guo et al., On calibration of modern neural networks, ICML 2017.

**Detection.** The area under the receiver operating characteristic is the probability that a random example of the kind
has a higher score than a random other one, where equal scores count half: with the mean rank :math:`\bar r` of the n₁
examples of the kind among all n₀ + n₁,

.. math:: \mathrm{AUROC} = \frac{\bar r - (n_1 + 1)/2}{n_0} .

Reference: J. A. Hanley and B. J. McNeil, Radiology 143 (1982).
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor


def share(which: Tensor) -> float:
    """The share of entries that are true."""
    return which.double().mean().item()


def accuracies(
    predicted: Tensor, feasible: Tensor, symbols: Tensor | None, name: str = "answer_accuracy"
) -> dict[str, float]:
    """Share of predictions with the correct answer, under ``name``, and of correct symbols; for reals, the root mean
    square ``error`` of symbols."""
    result: dict[str, float] = {name: share(feasible)}
    if symbols is not None and predicted.is_floating_point():
        result["error"] = (predicted - symbols).square().mean().sqrt().item()
    elif symbols is not None:
        result["symbol_accuracy"] = share(predicted == symbols)
    return result


def best_relabelling(predicted: Tensor, symbols: Tensor, size: int = 0) -> Tensor:
    """The permutation π̂ of the occurring codes that brings predicted ones closest to the true ones.

    A ``size`` is the least number of codes.

        >>> best_relabelling(torch.tensor([[0, 1, 2, 1]]), torch.tensor([[2, 0, 1, 0]])).tolist()
        [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment  # here, because it is slow to import and rarely needed

    size = max(size, int(max(predicted.max(), symbols.max())) + 1)
    counts = torch.bincount((predicted * size + symbols).flatten().cpu(), minlength=size**2).view(size, size)
    _, relabelled = linear_sum_assignment(counts.numpy(), maximize=True)
    return torch.as_tensor(relabelled, device=predicted.device)


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
    """The share of values never predicted, among those that occur in either or all ``classes``; 0: all are used.

    >>> predicted, truth = torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 2, 2])
    >>> round(collapse(predicted, truth), 4), collapse(predicted, truth, classes=4)
    (0.3333, 0.5)
    """
    _, read, true = tallies(predicted, truth)
    return 1 - int((read > 0).sum()) / (classes or _values(read, true))


def tallies(predicted: Tensor, truth: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each value: the correct readings, all readings, and the sites with this true value."""
    predicted, truth = predicted.flatten(), truth.flatten()
    size = int(max(predicted.max(), truth.max())) + 1
    groups = (truth[predicted == truth], predicted, truth)
    right, read, true = (torch.bincount(group, minlength=size) for group in groups)
    return right, read, true


def numbered(space: Any, z: Tensor) -> Tensor:
    """Convert codes ``[rows, sites]`` of each site's alphabet to positions in ``space.symbols``."""
    union, most = {symbol: k for k, symbol in enumerate(space.symbols)}, max(map(len, space.named))
    table = torch.tensor([[union[s] for s in names] + [0] * (most - len(names)) for names in space.named])
    return table.to(z.device)[torch.arange(space.sites, device=z.device), z]


def _values(read: Tensor, true: Tensor) -> int:
    return int((read + true > 0).sum())


BINS = 10


class Reliability(NamedTuple):
    """Readings in ten bins of confidence: number, mean confidence and accuracy (NaN if none)."""

    readings: Tensor
    confidence: Tensor
    accuracy: Tensor


def reliability(confidence: Tensor, right: Tensor) -> Reliability:
    """Sort readings into ten bins, from their confidences and whether each is correct.

    >>> found = reliability(torch.tensor([0.05, 0.6, 0.62, 0.8]), torch.tensor([False, True, False, True]))
    >>> found.readings.tolist()  # 0.6 belongs to the bin below
    [1, 0, 0, 0, 0, 1, 1, 1, 0, 0]
    """
    confidence, right = confidence.cpu().flatten().contiguous(), right.cpu().flatten()  # where sums have one order
    edges = torch.arange(1, BINS, dtype=confidence.dtype) / BINS
    bins = torch.bucketize(confidence, edges)  # a bin has its upper edge, not its lower one
    count = torch.bincount(bins, minlength=BINS)
    sums = [torch.bincount(bins, weights.double(), minlength=BINS) for weights in (confidence, right)]
    return Reliability(count, sums[0] / count, sums[1] / count)


def calibration_error(confidence: Tensor, right: Tensor) -> float:
    """The expected calibration error of readings, from their confidences and whether each is correct.

    >>> calibration_error(torch.tensor([1.0, 1.0, 0.5, 0.5]), torch.tensor([True, False, True, False]))
    0.25
    """
    count, sure, share = reliability(confidence, right)
    return (((share - sure).abs() * count).nansum() / count.sum()).item()


def auroc(scores: Tensor, kind: Tensor) -> float:
    """The area for ``scores`` and a bool tensor of the examples of the kind; NaN if all or none are.

    >>> auroc(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([False, True, False, True]))
    0.875
    """
    _, place, count = torch.unique(scores, return_inverse=True, return_counts=True)
    ranks = (count.cumsum(0) - (count - 1) / 2).double()[place]  # equal scores share the mean of their ranks
    ones, others = int(kind.sum()), int((~kind).sum())
    return float((ranks[kind].mean() - (ones + 1) / 2) / others) if ones and others else float("nan")
