"""Draws against a law: the test behind the suite's budget for false alarms."""

from __future__ import annotations

import torch
from scipy.stats import chi2
from torch import Tensor


def p_value(counts: Tensor, law: Tensor) -> float:
    """χ² of counts against a law; cells with fewer than 5 expected draws are pooled."""
    expected = law * counts.sum()
    small = expected < 5
    observed = torch.cat([counts[~small], counts[small].sum()[None]])
    expected = torch.cat([expected[~small], expected[small].sum()[None]])
    keep = expected > 0
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    return float(chi2.sf(float(statistic), int(keep.sum()) - 1))
