"""Figures as others have counted them, to be put beside theirs. No summary has them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .calibration import BINS, calibration_error
from .symbols import tallies


def weighted_f1(predicted: Tensor, truth: Tensor) -> float:
    """F1 of each value, weighted by how often it stands: what BEARS and the trainer of rsbench's ``rsseval`` print.

    scikit-learn's ``f1_score(truth, predicted, average="weighted")``.

    >>> round(weighted_f1(torch.tensor([0, 0, 0, 0]), torch.tensor([0, 0, 0, 1])), 4)
    0.6429
    """
    right, read, true = tallies(predicted, truth)
    return (2 * right.double() / (read + true).clamp(min=1) * true / true.sum()).sum().item()


def joint(codes: Tensor, sizes: Sequence[int]) -> Tensor:
    """Symbols that belong together as one class: codes ``[…, k]`` of alphabets of these ``sizes`` to ``[…]``.

    For figures of *objects*: Soft-PNet reads shape and colour of a Kandinsky object as one of nine classes, which is
    stricter than the mean over both. BEARS takes both digits of a sum as one class; on MNIST-Half its own code numbers
    predicted pairs 5a + b and true ones 10a + b, so that only pairs with a = 0 can be right.

    >>> joint(torch.tensor([[1, 2], [0, 1]]), (3, 3)).tolist()
    [5, 1]
    """
    index = torch.zeros_like(codes[..., 0])
    for site, size in enumerate(sizes):
        index = index * size + codes[..., site]
    return index


def site_calibration_error(confidence: Tensor, right: Tensor) -> float:
    """The mean over sites of each site's calibration error, from ``[examples, sites]``: NeSyDM's definition.

    E. van Krieken et al., Neurosymbolic diffusion models, NeurIPS 2025.

    >>> site_calibration_error(torch.tensor([[1.0, 1.0], [1.0, 0.5]]), torch.tensor([[True, True], [True, True]]))
    0.125
    """
    sites = zip(confidence.unbind(1), right.unbind(1), strict=True)
    return sum(calibration_error(*site) for site in sites) / confidence.shape[1]


def released_nesydm_error(confidence: Tensor, right: Tensor) -> float:
    """:func:`site_calibration_error` as NeSyDM's released code has it: readings surer than 0.9 are left out.

    Its bins are numbered 1 … 10 and compared with 0 … 9 (``expressive/util.py``), though n still counts every reading.
    A network that is certain and wrong thus has the error 0. The figures of the paper were evidently made otherwise.

    >>> released_nesydm_error(torch.tensor([[1.0], [0.5]]), torch.tensor([[False], [True]]))
    0.25
    """
    error = 0.0
    for sure, fine in zip(confidence.unbind(1), right.unbind(1), strict=True):
        kept = sure <= (BINS - 1) / BINS
        if kept.any():
            error += calibration_error(sure[kept], fine[kept]) * kept.double().mean().item()
    return error / confidence.shape[1]
