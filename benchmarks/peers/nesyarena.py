"""An adapter for NeSyArena (https://github.com/eduardstan/nesyarena), and its battery of values, rebuilt.

    python benchmarks/peers/nesyarena.py

NeSyArena measures how far what a neuro-symbolic system computes is from what it claims to compute. :class:`Softground`
follows its protocol and may be put into its registry as it is; nothing of NeSyArena is needed here. A program is a set
of ground rules ``head ← body``, a base gives facts their probabilities, and a query that of following from them.

The facts are Boolean sites. The minimal sets of facts from which the query follows, its *proofs*, are the least
fixpoint of the rules (so recursion and cycles need no depth). That no proof holds is a CNF, one clause ¬f₁ ∨ ¬f₂ ∨ …
for each proof; the query's probability is the mass of the answer False, and its derivatives are the law's own, by
autograd.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from softground import Cnf
from softground.inverses import Circuit, Enumeration, Inverse
from softground.spaces import CategoricalBelief
from softground.target import Target

Atom = Hashable
Proofs = frozenset[frozenset[Atom]]
INSTANCES = 50


class Rule(Protocol):
    """A ground rule."""

    @property
    def head(self) -> Atom: ...
    @property
    def body(self) -> Sequence[Atom]: ...


class Program(Protocol):
    """NeSyArena's ground program, as far as it is looked at."""

    @property
    def rules(self) -> Sequence[Rule]: ...


class Softground:
    """One way to the law: ``"enumeration"`` of all worlds of up to 16 facts, or a compiled ``"circuit"``."""

    claimed_semantics = "distribution semantics"
    supports_grad = True

    def __init__(self, way: str = "enumeration") -> None:
        self.way, self.name = way, f"softground:{way}"

    def infer(self, program: Program, base: Mapping[Atom, float], queries: Iterable[Atom]) -> dict[Atom, float]:
        """The probability of each query."""
        known = proofs(program.rules, base)
        return {query: self._value(known.get(query, frozenset()), base)[0].item() for query in queries}

    def grad(self, program: Program, base: Mapping[Atom, float], query: Atom, wrt: Iterable[Atom]) -> dict[Atom, float]:
        """The query's derivative in the probability of each fact of ``wrt``, which must be neither 0 nor 1."""
        value, facts, p = self._value(proofs(program.rules, base).get(query, frozenset()), base)
        derivative = torch.autograd.grad(value, p)[0].tolist() if facts else []
        found = dict(zip(facts, derivative, strict=True))
        return {fact: found.get(fact, 0.0) for fact in wrt}

    def _value(self, ways: Proofs, base: Mapping[Atom, float]) -> tuple[Tensor, list[Atom], Tensor]:
        """The probability that one of the proofs holds, the facts that they are made of, and their probabilities."""
        facts = sorted(frozenset().union(*ways), key=repr)
        place = {fact: number for number, fact in enumerate(facts, 1)}
        clauses = tuple(sorted(tuple(sorted(-place[fact] for fact in proof)) for proof in ways))
        rule, inverse = law(clauses, self.way)
        p = torch.tensor([base[fact] for fact in facts], dtype=torch.float64, requires_grad=True)
        given = torch.cat([p, p.new_zeros(rule.space.sites - len(facts))])
        weights = CategoricalBelief(rule.space, torch.stack([(1 - given).log(), given.log()], -1)[None])
        return inverse.law(Target(weights, rule.encode([False]), 1.0)).log_mass()[0].exp(), facts, p


@lru_cache(maxsize=256)
def law(clauses: tuple[tuple[int, ...], ...], way: str) -> tuple[Cnf, Inverse]:
    """'No proof holds', and the inverse that knows its law."""
    rule = Cnf(clauses)
    return rule, Circuit(rule) if way == "circuit" else Enumeration(rule.space, rule)


def proofs(rules: Sequence[Rule], base: Iterable[Atom]) -> dict[Atom, Proofs]:
    """The minimal sets of facts from which each atom follows: the least fixpoint of the rules."""
    found: dict[Atom, Proofs] = {fact: frozenset([frozenset([fact])]) for fact in base}
    while True:
        before = dict(found)
        for rule in rules:
            ways = itertools.product(*(found.get(atom, frozenset()) for atom in rule.body))
            every = found.get(rule.head, frozenset()) | {frozenset().union(*way) for way in ways}
            found[rule.head] = frozenset(one for one in every if not any(other < one for other in every))
        if found == before:
            return found


@dataclass(frozen=True)
class Ground:
    """A ground rule of our own."""

    head: Atom
    body: tuple[Atom, ...]


@dataclass(frozen=True)
class Instance:
    """The query ``"q"`` of an instance, with the facts that all of its proofs share and those of each."""

    shared: tuple[float, ...]
    private: tuple[tuple[float, ...], ...]

    @property
    def base(self) -> dict[Atom, float]:
        own = {("private", j, k): p for j, proof in enumerate(self.private) for k, p in enumerate(proof)}
        return {**{("shared", k): p for k, p in enumerate(self.shared)}, **own}

    @property
    def rules(self) -> tuple[Ground, ...]:
        """OR over the proofs; ``self`` is a program."""
        common = tuple(("shared", k) for k in range(len(self.shared)))
        return tuple(
            Ground("q", common + tuple(("private", j, k) for k in range(len(proof))))
            for j, proof in enumerate(self.private)
        )

    @property
    def value(self) -> float:
        """Π shared · (1 − Π_j (1 − Π private_j))."""
        return float(np.prod(self.shared) * (1 - np.prod([1 - np.prod(proof) for proof in self.private])))

    @property
    def gradient(self) -> dict[Atom, float]:
        """The derivatives of :attr:`value`; it is linear in each probability."""
        fails = [1 - float(np.prod(proof)) for proof in self.private]
        found: dict[Atom, float] = {("shared", k): self.value / p for k, p in enumerate(self.shared)}
        for j, proof in enumerate(self.private):
            others = float(np.prod(self.shared) * np.prod(fails[:j] + fails[j + 1 :]))
            found |= {("private", j, k): others * float(np.prod(proof)) / p for k, p in enumerate(proof)}
        return found


def instances() -> Iterator[Instance]:
    """The 50 instances of the battery of values."""
    rng = np.random.default_rng(1)
    for i in range(INSTANCES):
        count, length = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        common, p = int(rng.integers(0, length)), float(rng.choice([0.3, 0.6, 0.9]))

        def some(size: int, mixed: bool = i % 3 == 0, p: float = p) -> tuple[float, ...]:
            return tuple(float(rng.uniform(0.35, 0.9)) if mixed else p for _ in range(size))

        shared = some(common)
        yield Instance(shared, tuple(some(length - common) for _ in range(count)))


def measured(way: str) -> dict[str, Any]:
    """φ, the worst error of a value and of a derivative, and how many instances they rest on."""
    adapter, values, slopes = Softground(way), [], []
    for each in instances():
        values.append(adapter.infer(each, each.base, ["q"])["q"] - each.value)
        found = adapter.grad(each, each.base, "q", each.base)
        slopes += [abs(found[fact] - true) for fact, true in each.gradient.items()]
    worst = {"worst_value": float(np.max(np.abs(values))), "worst_gradient": max(slopes)}
    return {"phi": 1 - float(np.mean(np.abs(values))), **worst, "instances": len(values)}


def main() -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from measure import RESULTS, record

    figures = {way: measured(way) for way in ("enumeration", "circuit")}
    record("nesyarena", {"figures": figures}, seed=1, folder=RESULTS)
    for way, each in figures.items():
        print(f"softground:{way}: φ = {each['phi']:.6f}, worst gradient error {each['worst_gradient']:.1e}")


if __name__ == "__main__":
    main()
