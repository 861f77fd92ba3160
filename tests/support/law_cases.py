"""Rules, answers and beliefs drawn at random, whose laws are held against enumeration.

python tests/support/law_cases.py 5000    # says which of so many seeds differ
"""

from __future__ import annotations

import math
import random
import sys
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import torch

from softground import Categorical, Cnf, Program, Scan, Task
from softground.constraints import All, Sum
from softground.constraints.relations import Between, Contains, Not, OneOf
from softground.dice import Sampler
from softground.errors import InfeasibleAnswer
from softground.inverses import Enumeration, Listing, Lists, Table
from softground.inverses.circuit import Circuit
from softground.target import Target

KINDS = ("plain", "vectorised", "scan", "listing", "all", "cnf")
GAMMAS = (0.02, 0.1, 0.3, 1.0, 1.0, 3.0, math.inf)


def admits(answer: Any, value: Any) -> bool:
    """Whether an answer admits a value, which is None for a state without one: written anew, for comparison."""
    match answer:
        case None:
            return True
        case Not():
            return not admits(answer.answer, value)
        case OneOf():
            return any(admits(each, value) for each in answer.answers)
        case Between():
            low, high = (-math.inf if answer.low is None else answer.low), (answer.high or 0)
            return isinstance(value, int) and low <= value and (answer.high is None or value <= high)
        case Contains():
            return isinstance(value, tuple) and answer.element in value
    if isinstance(answer, tuple) and isinstance(value, tuple):  # a rule of parts takes a relation for each
        return all(map(admits, answer, value))
    return bool(value is not None and value == answer)


def drawn_rule(kind: str, chance: random.Random) -> tuple[Any, Callable[..., Any], Categorical]:
    """An inverse, the rule as a plain function, and their space."""
    sizes = [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
    space = Categorical([tuple(range(size)) for size in sizes])
    ways, modulus = [chance.randint(-2, 3) for _ in sizes], chance.randint(2, 6)
    hole, pairs = chance.choice([None, None, 0, 1]), chance.random() < 0.3

    def value(*z: int) -> Any:
        total = sum(way * symbol for way, symbol in zip(ways, z, strict=True)) % modulus
        return None if total == hole else (total, z[0]) if pairs else total

    if kind == "plain":
        return Table(Program(value, space)), value, space
    if kind == "vectorised":

        def columns(*z: Any) -> Any:
            total = sum(way * symbol for way, symbol in zip(ways, z, strict=True)) % modulus
            return (total, z[0], total != (-1 if hole is None else hole))[:: 1 if pairs else 2]

        return Table(Program(columns, space, vectorised=True, partial=True)), value, space
    if kind == "scan":
        factor = chance.randint(1, 3)

        def step(state: int, symbol: int) -> Any:
            after = (factor * state + symbol) % modulus
            return None if after == hole and symbol == 1 else after

        def folded(*z: int) -> Any:
            state: Any = 0
            for symbol in z:
                state = None if state is None else step(state, symbol)
            return state

        return Task(space, Scan(step, space)).inverse, folded, space
    if kind == "listing":
        states = [z for z in product(*map(range, sizes)) if chance.random() < 0.4] or [(0,) * len(sizes)]
        return Listing(space, torch.tensor(states)), lambda *z: z in states, space
    if kind == "all":
        first, second = [0, len(sizes) - 1], [*range(len(sizes))]
        rule = All([Sum(sorted({*first})), Sum(second)], space)
        return Lists(Enumeration(space, rule), {}), lambda *z: (sum(z[i] for i in {*first}), sum(z)), space
    space = Categorical([(False, True)] * len(sizes))
    clauses = [
        [
            chance.choice((-1, 1)) * (site + 1)
            for site in chance.sample(range(len(sizes)), chance.randint(1, len(sizes)))
        ]
        for _ in range(chance.randint(1, 4))
    ]
    rule = Cnf(clauses, space)
    return Circuit(rule), lambda *z: all(any(z[abs(v) - 1] == (v > 0) for v in clause) for clause in clauses), space


def drawn_answer(kind: str, values: list[Any], chance: random.Random, depth: int = 0) -> Any:
    """An answer of one of these values, a relation or None."""
    if kind == "listing":
        return True
    if kind == "cnf":
        return chance.choice([True, False, None, Not(True), OneOf(True, False)])
    if kind == "all":
        return tuple(drawn_answer("", list(entries), chance) for entries in zip(*values, strict=True))
    if not (exact := [value for value in values if value is not None]):
        return None
    way = chance.random()
    if depth > 1 or way < 0.5:
        return chance.choice(exact)
    inner = [drawn_answer(kind, values, chance, depth + 1) for _ in range(2)]
    if way < 0.6:
        return None
    if way < 0.75:
        return Not(inner[0])
    if way < 0.9:
        return OneOf(*inner)
    return Contains(chance.randint(0, 4)) if isinstance(exact[0], tuple) else Between(chance.randint(-1, 2), 3)


def differs(seed: int) -> str:
    """How the law of this case differs from enumeration; nothing where it does not."""
    chance, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    inverse, value, space = drawn_rule(kind, chance)
    rows, gamma, double = chance.randint(0, 5), chance.choice(GAMMAS), chance.random() < 0.7
    states = space.states(torch.arange(space.size))
    values = [value(*state) for state in space.decode(states)]
    answers = [drawn_answer(kind, values, chance) for _ in range(rows)]
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, space.sites, space.outputs, generator=generator, dtype=torch.float64)
    logits = (logits * chance.choice([1.0, 5.0, 100.0, 1e4])).clamp(-1e4, 1e4)
    belief = space.belief(logits if double else logits.float())
    if known := chance.random() < 0.3:
        at = torch.rand(rows, space.sites, generator=generator) < 0.4
        belief = belief.given(torch.where(at, states[torch.randint(space.size, (rows,), generator=generator)], -1))
    y = torch.zeros(rows, dtype=torch.long) if kind == "listing" else inverse.constraint.encode(answers)
    target = Target.at(belief, y, gamma)
    law, scores = inverse.law(target), target.weights.scores.double()
    weight = scores[:, torch.arange(space.sites), states].sum(-1)  # [rows, states]
    inside = [[admits(answer, found) for found in values] for answer in answers]
    weight = weight.masked_fill(~torch.tensor(inside, dtype=torch.bool).view(rows, space.size), -math.inf)
    mass, finite = weight.logsumexp(1), scores.masked_fill(scores.isinf(), 0.0).abs()
    scale = float(finite.max()) * space.sites if rows else 0.0
    close = 1e-9 + 1e-14 * scale if double else 1e-6 + 1e-6 * scale
    about = f"seed {seed}: {kind}, γ={gamma}, {answers}, known={known}, double={double}"
    got = law.log_mass(quiet=True).double()
    if not torch.equal(got.isinf(), mass.isinf()) or bool(
        ((got - mass).masked_fill(mass.isinf(), 0).abs() > close).any()
    ):
        return f"{about}: log-masses {got.tolist()}, expected {mass.tolist()}"
    if bool(mass.isinf().any()):
        try:
            law.marginals()
        except InfeasibleAnswer as error:
            right = tuple(mass.isinf().nonzero().flatten().tolist())
            return "" if error.examples == right else f"{about}: rows {error.examples}, expected {right}"
        return f"{about}: no error for an empty S_y"
    share = weight.softmax(1)
    held = (states[..., None] == torch.arange(space.width)).double()
    marginals = torch.einsum("bs,snk->bnk", share, held)
    with torch.inference_mode(chance.random() < 0.3):
        apart = (inverse.law(target).marginals().double() - marginals).abs()
    if rows and float(apart.max()) > (close if double else 1e-4 + 1e-6 * scale):
        return f"{about}: marginals differ by {float(apart.max())}"
    row = torch.arange(rows)
    mode = space.index(law.mode())
    if bool((weight[row, mode] < weight.amax(1) - 2 * close).any()) if rows else False:
        return f"{about}: mode {states[mode].tolist()}, expected {states[weight.argmax(1)].tolist()}"
    if gamma == math.inf and rows and kind != "cnf" and not torch.equal(mode, weight.argmax(1)):
        return f"{about}: of equal states {states[mode].tolist()}, expected {states[weight.argmax(1)].tolist()}"
    if bool(weight[row, space.index(law.draw(Sampler(seed)))].isinf().any()):
        return f"{about}: a draw outside S_y"
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, count = (int(sys.argv[2]) if len(sys.argv) > 2 else 0), int(sys.argv[1])
    wrong = [said for seed in range(first, first + count) if (said := differs(seed))]
    print(*wrong, f"{count - len(wrong):,} of {count:,} laws agree with enumeration", sep="\n")
