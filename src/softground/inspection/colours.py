r"""Counts that a relabelling must keep: how often symbols occur at each site of each S_y, alone and in pairs.

If π(S_y) = S_y, then :math:`|\{z \in S_y : z_i = s\}| = |\{z \in S_y : z_i = \pi(s)\}|` for every site i, and the same
for two symbols at two sites. Symbols with equal counts get equal *colours*. For a scan the single counts are
|S_y| times its marginals under the uniform law, equal where they agree to within rounding.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from ..target import Target
from ..task import Task
from .elements import Elements
from .sample import Found, Sample, uniform

WIDEST = 512  # sites × symbols up to which pairs are counted
ROUNDING = 1e-9  # counts relative to |S_y| that are nearer than this are equal


def colours(task: Task, elements: Elements, sample: Sample) -> tuple[list[int], Tensor | None]:
    """A colour a symbol, and a colour a pair of symbols ``[M, M]`` (None where they were not counted)."""
    space = elements.space
    single = [row for found in sample.found for row in _single(task, found)]
    of_one = [
        torch.cat([_at(row, elements, e) for row in single]) if single else torch.zeros(0)
        for e in range(elements.count)
    ]
    small = space.sites * space.width <= WIDEST
    joint = [_pairs(space.width, f) for f in sample.listed] if small else []
    return _near(of_one), _paired(joint, elements) if joint else None


def _single(task: Task, found: Found) -> list[Tensor]:
    """Counts relative to \\|S_y\\| of an answer, ``[sites, K]``, where they are known for sure."""
    space = task.space
    if found.whole:
        return [torch.nn.functional.one_hot(found.z, space.width).double().mean(0)]
    if task.inverse.exact:
        return [task.inverse.law(Target(uniform(space, 1), found.y, 1.0)).marginals()[0]]
    return []


def _at(counts: Tensor, elements: Elements, element: int) -> Tensor:
    """A symbol's counts at each site; 0 where it cannot stand."""
    here = torch.tensor(elements.kind[element])
    return torch.where(here, counts.gather(1, elements.code[:, element, None]).squeeze(1), 0.0)


def _near(rows: list[Tensor]) -> list[int]:
    """Rows that agree to within rounding get equal numbers."""
    heads: list[Tensor] = []
    numbers = []
    for row in rows:
        same = [k for k, head in enumerate(heads) if torch.allclose(row, head, rtol=0, atol=ROUNDING)]
        if not same:
            heads.append(row)
        numbers.append(same[0] if same else len(heads) - 1)
    return numbers


def _pairs(width: int, found: Found) -> Tensor:
    """Counts of pairs ``[sites, K, sites, K]``."""
    hot = torch.nn.functional.one_hot(found.z, width).float().flatten(1)
    sites = found.z.shape[1]
    return (hot.T @ hot).view(sites, width, sites, width)


def _paired(joint: list[Tensor], elements: Elements) -> Tensor:
    stacked = torch.stack(joint)
    keys = []
    place = [(torch.tensor([i for i, here in enumerate(kind) if here]), e) for e, kind in enumerate(elements.kind)]
    for sites, a in place:
        for others, b in place:
            part = stacked[:, sites, elements.code[sites, a]][:, :, others, elements.code[others, b]]
            keys.append((tuple(sites.tolist()), tuple(others.tolist()), part.numpy().tobytes()))
    return torch.tensor(_numbered(keys)).view(elements.count, elements.count)


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Equal keys get equal numbers."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
