"""NeSyArena's batteries: exact values and gradients, in two ways, through the adapter that follows its protocol."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
WAYS = ["enumeration", "circuit"]


@dataclass(frozen=True)
class Rule:
    head: Hashable
    body: tuple[Hashable, ...]


@dataclass(frozen=True)
class Program:
    rules: tuple[Rule, ...]


@pytest.fixture(scope="module")
def arena() -> Iterator[ModuleType]:
    if not PEERS.is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    sys.path.insert(0, str(PEERS))
    import nesyarena

    yield nesyarena
    sys.path.remove(str(PEERS))
    del sys.modules["nesyarena"]


@pytest.fixture(params=WAYS)
def adapter(arena: ModuleType, request: pytest.FixtureRequest) -> Any:
    if request.param == "circuit":
        pytest.importorskip("pysdd")
    return arena.Softground(request.param)


def overlap(count: int, length: int, common: int, p: float) -> tuple[Program, dict[Hashable, float]]:
    """A query with ``count`` proofs of ``length`` facts, ``common`` of them in all proofs."""
    shared = tuple(f"s{k}" for k in range(common))
    bodies = [shared + tuple(f"p{j}{k}" for k in range(length - common)) for j in range(count)]
    return Program(tuple(Rule("q", body) for body in bodies)), {fact: p for body in bodies for fact in body}


def graph(edges: Mapping[str, float]) -> tuple[Program, dict[Hashable, float]]:
    """Paths along edges such as ``"ab"``, by the usual two rules, grounded."""
    nodes = sorted(set("".join(edges)))
    base: dict[Hashable, float] = {("edge", *edge): p for edge, p in edges.items()}
    rules = [Rule(("path", u, v), (("edge", u, v),)) for u, v in edges]
    rules += [Rule(("path", u, w), (("edge", u, v), ("path", v, w))) for u, v in edges for w in nodes]
    return Program(tuple(rules)), base


def worlds(program: Any, base: Mapping[Hashable, float], query: Hashable, fixed: Mapping[Hashable, bool] = {}) -> float:
    """The query's probability by definition: the worlds in which forward chaining reaches it."""
    total, facts = 0.0, list(base)
    for values in itertools.product([False, True], repeat=len(facts)):
        world = dict(zip(facts, values, strict=True))
        if any(world[fact] != value for fact, value in fixed.items()):
            continue
        true = {fact for fact in facts if world[fact]}
        while new := {r.head for r in program.rules if set(r.body) <= true} - true:
            true |= new
        chances = [base[f] if world[f] else 1 - base[f] for f in facts if f not in fixed]
        total += float(np.prod(chances)) * (query in true)
    return total


def test_the_battery_is_the_published_one(arena: ModuleType) -> None:
    every = list(arena.instances())
    first = every[0]
    assert first.shared == pytest.approx((0.42928779, 0.87175720), abs=1e-8)
    assert [p for (p,) in first.private] == pytest.approx([0.52150730, 0.58282955, 0.80523643], abs=1e-8)
    assert first.value == pytest.approx(0.3596854654, abs=1e-10)
    assert len(every) == 50
    assert np.mean([each.value for each in every]) == pytest.approx(0.557706405537, abs=1e-12)


def test_values_and_gradients_of_the_battery_are_exact(arena: ModuleType, adapter: Any) -> None:
    found = arena.measured(adapter.way)
    assert found["instances"] == 50
    assert found["phi"] == pytest.approx(1.0, abs=1e-9)
    assert found["worst_value"] < 1e-9
    assert found["worst_gradient"] < 1e-9


def test_the_closed_forms_are_those_of_the_worlds(arena: ModuleType) -> None:
    for each in itertools.islice(arena.instances(), 0, 9, 3):
        assert each.value == pytest.approx(worlds(each, each.base, "q"), abs=1e-12)
        for fact, slope in each.gradient.items():
            high, low = (worlds(each, each.base, "q", {fact: value}) for value in (True, False))
            assert slope == pytest.approx(high - low, abs=1e-12)


OVERLAPS = [
    ((2, 1, 0, 0.6), 0.84, {"p00": 0.4, "p10": 0.4}),
    ((2, 1, 0, 0.3), 0.51, {}),
    ((4, 1, 0, 0.3), 0.7599, {}),
    ((1, 2, 0, 0.3), 0.09, {"p00": 0.3, "p01": 0.3}),
    ((2, 2, 1, 0.6), 0.504, {}),
    ((2, 2, 1, 0.9), 0.891, {}),
    ((2, 3, 1, 0.6), 0.35424, {"s0": 0.5904, "p00": 0.2304, "p11": 0.2304}),
    ((3, 2, 0, 0.9), 0.993141, {}),
    ((3, 2, 0, 0.3), 0.246429, {}),
    ((3, 2, 0, 0.6), 0.737856, {}),
    ((3, 3, 2, 0.6), 0.33696, {}),
    ((3, 3, 2, 0.3), 0.05913, {}),
]


@pytest.mark.parametrize(("shape", "value", "slopes"), OVERLAPS, ids=str)
def test_overlapping_proofs(adapter: Any, shape: tuple[Any, ...], value: float, slopes: dict[str, float]) -> None:
    program, base = overlap(*shape)
    assert adapter.infer(program, base, ["q"])["q"] == pytest.approx(value, abs=1e-9)
    assert adapter.grad(program, base, "q", list(slopes)) == pytest.approx(slopes, abs=1e-9)


def chain(edges: int) -> dict[str, float]:
    return {"abcdefghi"[i : i + 2]: 0.9 for i in range(edges)}


DIAMOND = {"ab": 0.6, "bc": 0.6, "ad": 0.6, "dc": 0.6}
GRAPHS: list[tuple[dict[str, float], str, float]] = [
    *((chain(n), "a" + "abcdefghi"[n], 0.9**n) for n in (2, 4, 6, 8)),
    ({"ab": 0.9, "ba": 0.9, "bc": 0.8}, "ac", 0.72),
    (DIAMOND, "ac", 0.5904),
    (DIAMOND | {"ca": 0.9}, "ac", 0.5904),
]


@pytest.mark.parametrize(("edges", "ends", "value"), GRAPHS, ids=range(len(GRAPHS)))
def test_recursion_and_cycles(adapter: Any, edges: dict[str, float], ends: str, value: float) -> None:
    program, base = graph(edges)
    query = ("path", *ends)
    assert adapter.infer(program, base, [query])[query] == pytest.approx(value, abs=1e-9)
    slopes = adapter.grad(program, base, query, list(base))
    for fact in list(base)[:3]:
        high, low = (worlds(program, base, query, {fact: held}) for held in (True, False))
        assert slopes[fact] == pytest.approx(high - low, abs=1e-9)


def test_queries_that_never_or_always_follow(adapter: Any) -> None:
    program, base = Program((Rule("sure", ()), Rule("q", ("a", "unknown")))), {"a": 0.5}
    assert adapter.infer(program, base, ["sure", "q", "a"]) == {"sure": 1.0, "q": 0.0, "a": pytest.approx(0.5)}
    assert adapter.grad(program, base, "q", ["a"]) == {"a": 0.0}


def test_the_protocol(adapter: Any) -> None:
    assert adapter.name == f"softground:{adapter.way}"
    assert (adapter.claimed_semantics, adapter.supports_grad) == ("distribution semantics", True)


def test_proofs_are_minimal(arena: ModuleType) -> None:
    rules: Sequence[Rule] = (Rule("q", ("a", "b")), Rule("q", ("a",)), Rule("r", ("q", "c")))
    found = arena.proofs(rules, ["a", "b", "c"])
    assert found["q"] == {frozenset("a")}
    assert found["r"] == {frozenset("ac")}
