r"""The parts of a rule, each with an exact inverse.

In a conjunction, S_y = ∩ S_y^c, every part touches few sites, so its Q* is cheap, whatever the whole S_y costs. Parts
that share a rule are one batch: nine sums of four digits are one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint, Part
from ..errors import InfeasibleAnswer
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .base import Inverse
from .enumeration import default_inverse
from .lists import Lists
from .sets import Law

SMALL = 10_000  # states of a part that may be tried for each of its answers
ROWS = 4096  # rows of all parts at a time, to find empty parts


class Group:
    """Parts that share a rule, and its inverse."""

    def __init__(self, parts: list[Part], inverse: Inverse) -> None:
        self.parts, self.inverse = parts, inverse
        self._sites = {torch.device("cpu"): torch.tensor([part.sites for part in parts])}

    def sites(self, device: torch.device) -> Tensor:
        """The sites of each part, ``[parts, sites of each]``, copied once."""
        if device not in self._sites:
            self._sites[device] = self._sites[torch.device("cpu")].to(device)
        return self._sites[device]

    def answers(self, y: Tensor) -> Tensor:
        """The parts' own answers, for ``batch · parts`` rows; equal readers are called once."""
        read = {reader: reader(y) for reader in dict.fromkeys(part.answers for part in self.parts)}
        return torch.stack([read[part.answers] for part in self.parts], 1).flatten(0, 1)

    def target(self, scores: Tensor, answers: Tensor) -> Target[CategoricalBelief]:
        """The parts as rows of one batch, by the whole space's weights and their own answers."""
        space: Categorical = self.inverse.space
        own = scores[:, self.sites(scores.device), : space.width].flatten(0, 1)
        return Target(CategoricalBelief(space, own), answers, 1.0, checked=True)


def _lawful(rule: Any) -> Inverse:
    """The inverse of a part: exact, if necessary by lists that are made when needed, if the part is small."""
    own = default_inverse(rule, rule.space)
    return own if own.exact or rule.space.size > SMALL else Lists(own, {})


class Composite:
    """The parts of a ``rule``; a rule without parts is its own only part, with the inverse ``whole``."""

    def __init__(self, rule: Constraint, whole: Inverse | None = None) -> None:
        parts = list(rule.parts())
        shared: dict[Constraint, list[Part]] = {}
        for part in parts:
            shared.setdefault(part.rule, []).append(part)
        self.groups = [Group(some, _lawful(own)) for own, some in shared.items()]
        if not parts and whole is not None:
            self.groups = [Group([Part(tuple(range(whole.space.sites)), rule, lambda y: y)], whole)]
        self.count = sum(len(group.parts) for group in self.groups)
        self.visits = sum(
            len(part.sites) for group in self.groups for part in group.parts
        )  # sites of all parts together

    def touching(self, sites: int) -> Tensor:
        """The number of parts that touch each of the space's ``sites``."""
        every = [site for group in self.groups for part in group.parts for site in part.sites]
        return torch.bincount(torch.tensor(every), minlength=sites)

    @property
    def exact(self) -> bool:
        """Whether every part has an exact inverse."""
        return bool(self.groups) and all(group.inverse.exact for group in self.groups)

    def answers(self, y: Tensor) -> list[Tensor]:
        """The parts' own answers, group by group."""
        return [group.answers(y) for group in self.groups]

    def laws(self, scores: Tensor, answers: Sequence[Tensor]) -> Iterator[tuple[Group, Law]]:
        """The law of each group, for ``batch · parts`` rows, made lazily."""
        for group, own in zip(self.groups, answers, strict=True):
            yield group, group.inverse.law(group.target(scores, own))

    def log_mass(self, target: Target[CategoricalBelief]) -> Tensor:
        r""":math:`\sum_c \log \sum_{z \in S_y^c} w(z)`, differentiable; −∞ where a part is empty: ``[batch]``."""
        laws = self.laws(target.weights.scores, self.answers(target.answers))
        masses = [law.log_mass(quiet=True).view(len(target), -1).sum(1) for _, law in laws]
        return torch.stack(masses, 1).sum(1)

    def marginals(self, scores: Tensor, *answers: Tensor) -> Tensor:
        r""":math:`\sum_c Q^c_i(s)` over the parts that touch site i, by log-weights and the parts' own answers.

        All are ``[batch, sites, K]``.
        """
        total = torch.zeros_like(scores)
        for group, law in self.laws(scores, answers):
            try:
                each = law.marginals()
            except InfeasibleAnswer as error:  # its rows are those of all parts
                rows = tuple(dict.fromkeys(row // len(group.parts) for row in error.examples))
                raise InfeasibleAnswer(*error.args, examples=rows) from error
            sites = group.sites(total.device).flatten()
            each = each.to(total.dtype).view(len(total), len(sites), -1)
            total[..., : each.shape[2]].index_add_(1, sites, each)
        return total

    def empty(self, space: Any, y: Tensor, known: Tensor | None = None) -> Tensor:
        """Whether some part has no state with the known symbols, which proves that S_y is empty: ``[rows]``."""
        if known is None:
            y, place = torch.unique(y, dim=0, return_inverse=True)
        found = []
        for rows in torch.split(torch.arange(len(y), device=y.device), max(1, ROWS // self.count)):
            weights = space.uniform(len(rows), y.device)
            weights = weights if known is None else weights.given(known[rows])
            found.append(torch.isneginf(self.log_mass(Target(weights, y[rows], 1.0))))
        return torch.cat(found) if known is not None else torch.cat(found)[place]


@lru_cache(maxsize=16)
def composite(rule: Constraint, whole: Inverse | None = None) -> Composite:
    """The :class:`Composite` of a rule, kept, because its parts may have been tabulated."""
    return Composite(rule, whole)
