"""The inverse of a propositional rule that was compiled into a circuit: Q* exactly, without a list of S_y.

Each site's weights are divided by their sum, so that a variable which part of the circuit does not mention counts as 1
there, as it should; for the mode they are divided by their maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...constraints.cnf import HOLDS, Cnf
from ...constraints.interned import EVERYTHING, NOTHING
from ...constraints.scan.messages import LOG_ZERO
from ...dice import Dice
from ...projections.base import Dropped
from ...spaces.categorical import Categorical, CategoricalBelief
from ...target import Target
from ..base import INVERSES, RECORDED, Fibre, Inverse, Record, Start, drawn
from ..complement import Split
from ..enumeration import Enumeration
from ..law import Law, refuse_empty
from .compiling import NODES, SECONDS, Nodes, compiled
from .levels import Choose, Levels, Mass, only_where

PARTS = ("arity", "place", "elements")
KEPT = {"holds": HOLDS, "fails": ~HOLDS}  # the circuits of a record


@RECORDED.register("circuit")
class Circuit(Inverse):
    """Fibres, starts and the law of a :class:`~softground.Cnf`, which PySDD compiles once, with its complement.

    At most ``nodes`` nodes and ``seconds`` are spent on that. ``cap`` is the most combinations of dropped sites that
    are tried for a fibre.

    >>> Circuit(Cnf([[1, 2], [-1, 3]]))
    Circuit(Cnf(2 clauses, 3 variables), 2 elements)
    """

    exact = True

    def __init__(self, rule: Cnf, *, nodes: int = NODES, seconds: float = SECONDS, cap: int = 100_000) -> None:
        self._made(rule, compiled(rule, nodes, seconds), cap)

    def _made(self, rule: Cnf, circuits: tuple[Nodes, Nodes], cap: int = 100_000) -> None:
        self.constraint: Cnf = rule
        self.space: Categorical = rule.space
        always, never = (Nodes.constant(rule.space.sites, value) for value in (True, False))
        codes = (HOLDS, ~HOLDS, EVERYTHING, NOTHING)
        self.levels = {code: Levels(each) for code, each in zip(codes, (*circuits, always, never), strict=True)}
        self._tried = Enumeration(rule.space, rule, cap=cap)

    def __repr__(self) -> str:
        return f"Circuit({self.constraint!r}, {len(self.levels[HOLDS].nodes.elements):,} elements)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self._tried.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        found = torch.ones_like(y, dtype=torch.bool)
        for code, levels in self.levels.items():
            found &= (y != code) | (levels.root != levels.inputs - 1)
        return drawn(self, y, found, seed)

    def law(self, target: Target[CategoricalBelief]) -> Law:
        """One circuit for each answer: the formula holds, fails, or is not known to do either."""
        codes, parts = torch.unique(target.answers).tolist(), []
        if len(codes) == 1:
            return Compiled(self.levels[codes[0]], target.weights, self.constraint.true)
        for code in codes:
            rows = (target.answers == code).nonzero().flatten()
            parts.append((rows, Compiled(self.levels[code], target.weights.rows(rows), self.constraint.true)))
        return Split(parts)

    def record(self) -> Record | None:
        kept = {name: self.levels[code].nodes for name, code in KEPT.items()}
        facts = {"kind": "circuit", "clauses": [list(clause) for clause in self.constraint.clauses]}
        tensors = {f"{name}/{part}": getattr(n, part) for name, n in kept.items() for part in PARTS}
        return facts | {name: nodes.root for name, nodes in kept.items()}, tensors

    @classmethod
    def rebuild(cls, space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Circuit:
        sites, parts = space.sites, []
        for name in KEPT:
            arity, place, elements = (tensors[f"{name}/{part}"] for part in PARTS)
            root, last = int(facts[name]), 2 * sites + 2 + len(arity)
            below = torch.arange(2 * sites + 2, last).repeat_interleave(arity)
            whole = elements.shape == (len(below), 2) and place.shape == arity.shape and 0 <= root < last
            if not whole or bool((elements >= below[:, None]).any()) or bool((elements < 0).any()):
                raise ValueError("its circuit does not fit together")
            parts.append(Nodes(sites, arity, place, elements, root))
        inverse = cls.__new__(cls)
        inverse._made(Cnf([tuple(clause) for clause in facts["clauses"]], space), (parts[0], parts[1]))
        return inverse


class Compiled(Law):
    """Q* by a circuit. ``true`` is the code of each site's symbol True."""

    def __init__(self, levels: Levels, weights: CategoricalBelief, true: Tensor) -> None:
        self.levels, self.weights, self.true = levels, weights, true.to(weights.scores.device)

    def log_mass(self) -> Tensor:
        scores = self.weights.scores.clamp(min=LOG_ZERO)
        norm = scores.logsumexp(-1)
        mass: Tensor = Mass.apply(self._literals(scores - norm[..., None]), self.levels)  # type: ignore[no-untyped-call]
        mass = mass + norm.sum(-1)
        return mass.masked_fill(mass < LOG_ZERO / 2, -torch.inf)

    def _literals(self, scores: Tensor) -> Tensor:
        """Scores ``[batch, n, 2]`` of symbols as those of literals, ``[2n, batch]``: ¬1, 1, ¬2, 2 …"""
        return torch.where(self.true[:, None] == 1, scores, scores.flip(-1)).flatten(1).T.contiguous()

    def marginals(self) -> Tensor:
        with torch.enable_grad():
            scores = self.weights.scores.detach().requires_grad_()
            total = Compiled(self.levels, CategoricalBelief(self.weights.space, scores), self.true).log_mass()
            (marginals,) = torch.autograd.grad(total.sum(), scores)
        refuse_empty(torch.isinf(total.detach()))
        return marginals.clamp(min=0.0)

    @torch.no_grad()
    def draw(self, dice: Dice) -> Tensor:
        scores = self.weights.scores.clamp(min=LOG_ZERO).log_softmax(-1)
        return self._way_down(scores, dice.categorical, best=False)

    @torch.no_grad()
    def mode(self) -> Tensor:
        scores = self.weights.scores.clamp(min=LOG_ZERO)
        return self._way_down(scores - scores.amax(-1, keepdim=True), partial(torch.argmax, dim=-1), best=True)

    def _way_down(self, scores: Tensor, choose: Choose, best: bool) -> Tensor:
        """A state from one element of each OR on the way; sites that the way does not meet choose on their own."""
        v = self.levels.values(self._literals(scores), best=best)
        refuse_empty(v[self.levels.root] < LOG_ZERO / 2)
        met = self.levels.chosen(v, choose).T.view(len(scores), -1, 2)
        state = torch.where(met[..., 1], self.true, 1 - self.true)
        free = ~met.any(-1)
        for site in free.any(0).nonzero().flatten().tolist():
            own = choose(only_where(free[:, site], scores[:, site]))
            state[:, site] = torch.where(free[:, site], own, state[:, site])
        return state


@INVERSES.register("circuit")
def _by_name(rule: Cnf, **settings: Any) -> Inverse:
    return Circuit(rule)
