"""The inverse of a propositional rule that was compiled into a circuit: Q* exactly, without a list of S_y.

Each site's weights are divided by their sum, so that a variable which part of the circuit does not mention counts as 1
there, as it should; for the mode they are divided by their maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from ...constraints.answers import EVERYTHING, NOTHING
from ...constraints.cnf import HOLDS, Cnf
from ...dice import Dice
from ...projections.base import Dropped
from ...spaces.categorical import Categorical
from ..base import INVERSES, RECORDED, Fibre, Inverse, Record, Start, drawn
from ..enumeration import Enumeration
from ..sets import How, Set, Sets, by_rows, only_where, reduced
from .compiling import NODES, SECONDS, Nodes, compiled
from .levels import Choose, Levels, total, walked

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
        self.levels = {code: Levels(each) for code, each in zip(KEPT.values(), circuits, strict=True)}
        self._tried = Enumeration(rule.space, rule, cap=cap)

    def __repr__(self) -> str:
        return f"Circuit({self.constraint!r}, {len(self.levels[HOLDS].nodes.elements):,} elements)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self._tried.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        return drawn(self, self.space.uniform(len(y), y.device), y, seed)

    def set(self, y: Tensor) -> Sets:
        """By the circuit of the formula where it holds, by that of its negation where it fails."""
        true, levels = self.constraint.true.to(y.device), self.levels
        return by_rows(y, [(y == code, partial(Compiled, levels=levels[code], true=true)) for code in levels])

    def excludes(self, y: Tensor) -> Tensor:
        return (y == EVERYTHING) | (y == NOTHING)

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


@dataclass(frozen=True, eq=False)
class Compiled(Set):
    """A circuit. ``true`` is the code of each site's symbol True."""

    levels: Levels
    true: Tensor

    @property
    def filled(self) -> bool:
        return self.levels.root != self.levels.inputs - 1  # false

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        own = reduced(scores, how)  # of a site that nothing on the way names
        literals = self._literals(scores - own[..., None])
        return (total(literals, self.levels) if how == "sum" else walked(literals, self.levels, how)) + own.sum(-1)

    def _literals(self, scores: Tensor) -> Tensor:
        """Scores ``[batch, n, 2]`` of symbols as those of literals, ``[2n, batch]``: ¬1, 1, ¬2, 2 …"""
        return torch.where(self.true[:, None] == 1, scores, scores.flip(-1)).flatten(1).T.contiguous()

    def marginals(self, scores: Tensor) -> Tensor:
        """In half the time, by the shares that the way up has found."""
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            return torch.autograd.grad(self.reduce(leaf, "sum").sum(), leaf)[0].clamp(min=0.0)

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """From the root down, in a quarter of the time of slopes through all nodes (the mode in two thirds).

        One element is taken of each OR on the way; sites that the way does not meet choose on their own.
        """
        best = to == "best"
        choose: Choose = partial(torch.argmax, dim=-1) if isinstance(to, str) else to.categorical
        scores = scores - scores.amax(-1, keepdim=True) if best else scores.log_softmax(-1)
        v = self.levels.values(self._literals(scores), best=best)
        met = self.levels.chosen(v, choose).T.view(scores.shape)
        state = torch.where(met[..., 1], self.true, 1 - self.true)
        free = ~met.any(-1)
        for site in free.any(0).nonzero().flatten().tolist():
            own = choose(only_where(free[:, site], scores[:, site]))
            state[:, site] = torch.where(free[:, site], own, state[:, site])
        return state

    def choose_with_marginals(self, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        return self.choose(scores, dice), self.marginals(scores)


@INVERSES.register("circuit")
def _by_name(rule: Cnf, **settings: Any) -> Inverse:
    return Circuit(rule)
