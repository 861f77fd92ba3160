r"""Whether a network knows what it does not know: expected calibration error and the bins behind it.

The confidence of a reading is the largest probability that P(z|x) gives to a symbol at its site. Readings fall into ten
equal bins ((k − 1)/10, k/10], k = 1 … 10, and with :math:`n_k` of n readings in bin k

.. math:: \mathrm{ECE} = \sum_k \frac{n_k}{n} \left| \mathrm{accuracy}_k - \mathrm{mean\ confidence}_k \right| .

References: M. P. Naeini, G. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning,
AAAI 2015; C. Guo et al., On calibration of modern neural networks, ICML 2017.
"""

from typing import NamedTuple

import torch
from torch import Tensor

BINS = 10


class Reliability(NamedTuple):
    """Readings by confidence, ten bins: how many, their mean confidence and the share that is right (NaN if none)."""

    readings: Tensor
    confidence: Tensor
    accuracy: Tensor


def reliability(confidence: Tensor, right: Tensor) -> Reliability:
    """Readings in ten bins, from their confidences and whether each is right.

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
    """The expected calibration error of readings, from their confidences and whether each is right.

    >>> calibration_error(torch.tensor([1.0, 1.0, 0.5, 0.5]), torch.tensor([True, False, True, False]))
    0.25
    """
    count, sure, share = reliability(confidence, right)
    return (((share - sure).abs() * count).nansum() / count.sum()).item()
