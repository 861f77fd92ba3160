r"""Least solutions of difference constraints with ties.

The rows min_h (w_jh + z_h) + m ≤ min_k (w_jk + z_k) are closed under the entrywise minimum, so above any point there
is a **least** solution, if there is one at all. It is reached from below: raise every component that is too low,

.. math:: z_k \leftarrow \max\Big(z_k,\; \max_j \big( \min_h (w_{jh} + z_h) + m - w_{jk} \big)\Big),

until nothing changes. Where no row has ties this is Bellman and Ford's algorithm.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .differences import Rows

# Rounds after which a rise is given up. Gains are sums of weights, so that a few rounds per component are usual.
ROUNDS = 2_000
PAUSE = 4  # rounds of a rise between looks at whether it has ended, for which a GPU must be waited for


def raised(rows: Rows, z: Tensor, free: Tensor | None = None, rounds: int = ROUNDS) -> tuple[Tensor, Tensor]:
    """The least solution above z that agrees with it outside ``free``, and whether the rise came to an end.

    Components that are not free may leave rows violated; the caller checks.
    """
    settled = torch.zeros(len(z), dtype=torch.bool, device=z.device)
    pause = PAUSE if z.is_cuda else 1
    gap = rows.margin - rows.others
    silent = torch.isinf(rows.marked).all(-1)  # rows without marks
    for number in range(1, rounds + 1):
        least = (rows.marked + z[:, None]).amin(-1).masked_fill(silent, 0.0)
        need = (least[:, :, None] + gap).amax(1)
        higher = torch.maximum(z, need)
        if free is not None:
            higher = torch.where(free, higher, z)
        settled = (higher == z).all(-1)
        z = higher
        if number % pause == 0 and bool(settled.all()):
            break
    return z, settled
