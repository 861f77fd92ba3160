r"""The information of answers about symbols, from the rule and the training answers only.

An answer y leaves |S_y| possible states. On average over the training answers its information is

.. math:: \tau = \log |Z| - E \log |S_y| \text{ nats}, \qquad \iota = \tau / \log |Z|

for a space of |Z| states; ι is the share of the total. An exact inverse gives both: with zero scores its log-mass is
log |S_y|. Known symbols count as known.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..inverses.composite import composite
from ..target import Target
from ..task import Task

ROWS, SITES = 64, 2**13  # minimum number of examples, and batch size; maximum number of sites beyond that


def spread(count: int, most: int) -> Tensor:
    """The numbers of at most this many examples, evenly spread."""
    return torch.arange(count)[:: max(1, math.ceil(count / most))]


def left_open(task: Task, y: Tensor, known: Tensor | None = None) -> Tensor:
    """log |S_y| of each answer, given the known symbols; −∞ where S_y is empty."""
    found = []
    for rows in torch.split(torch.arange(len(y), device=y.device), ROWS):
        weights = task.space.uniform(len(rows), y.device)
        weights = weights if known is None else weights.given(known[rows])
        found.append(task.inverse.law(Target(weights, y[rows], 1.0, checked=True)).log_mass(quiet=True).double())
    return torch.cat(found)


def told(task: Task, y: Tensor, known: Tensor | None = None) -> tuple[float, float]:
    """τ, and log |Z|, in nats."""
    rows = spread(len(y), max(ROWS, SITES // task.space.sites)).to(y.device)
    known = None if known is None else known[rows]
    log_sizes = torch.tensor(task.space.sizes, dtype=torch.double, device=y.device).log()
    states = (log_sizes * (torch.ones_like(log_sizes) if known is None else (known < 0).double().mean(0))).sum()
    left = left_open(task, y[rows], known)
    left = left[left.isfinite()]
    return float(states - left.mean()) if len(left) else 0.0, float(states)


def drawn_usage(task: Task, y: Tensor, known: Tensor | None = None) -> Tensor:
    """How often uniform draws from the S_y of these answers use each symbol at an unknown site, ``[symbols]``.

    Without an exact inverse, draw from the parts' S_y, or else from all states.
    """
    space, where = task.space, task.space.layout(y.device).symbols
    in_parts = not task.inverse.exact and bool(task.constraint.parts())
    parts = composite(task.constraint, task.inverse) if in_parts else None
    total = torch.zeros(len(space.symbols), dtype=torch.double, device=y.device)
    for rows in torch.split(torch.arange(len(y), device=y.device), ROWS):
        weights = space.uniform(len(rows), y.device)
        weights = weights if known is None else weights.given(known[rows])
        if task.inverse.exact:
            each = task.inverse.law(Target(weights, y[rows], 1.0, checked=True)).marginals()
        elif parts is not None and parts.exact:
            each = parts.marginals(weights.scores, *parts.answers(y[rows]))
        else:
            each = weights.scores.exp()
        each = each.double() / each.double().sum(2, keepdim=True).clamp(min=1e-9)
        each = each if known is None else each * (known[rows] < 0)[..., None]
        total.index_add_(0, where[:, : each.shape[2]].flatten(), each.sum(0).flatten())
    return total / total.sum().clamp(min=1)
