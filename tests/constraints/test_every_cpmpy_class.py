"""A few hundred constraints of every class that CPMpy exports: S_y and its law are those of CPMpy's own value."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from softground import Categorical, CPMpy
from softground.inverses import Enumeration, Lists
from softground.target import Target

cp = pytest.importorskip("cpmpy", reason="the extra rules is not installed")
from cpmpy.expressions.core import Expression  # noqa: E402
from cpmpy.expressions.utils import argval  # noqa: E402

SPACE = Categorical([range(4), range(-1, 3), (0, 1, 3)])
STATES = SPACE.states(torch.arange(SPACE.size))
EACH = 8
Drawn = Callable[[random.Random, Any], Any]


def some(chance: random.Random, z: Any, least: int = 2) -> list[Any]:
    """Sites, sums of sites and numbers, at least one site among them."""
    pool = [*z, z[0] + z[1], z[2] - 1, chance.randint(-1, 3)]
    return [z[chance.randrange(3)], *chance.sample(pool, chance.randint(least, 4) - 1)]


def truth(chance: random.Random, z: Any) -> Any:
    a, n = chance.choice(list(z)), chance.randint(-1, 3)
    return chance.choice([a == n, a != n, a < n, a >= n, z[0] + z[2] == n + 1, (z[1] > n) | (z[0] == 1)])


def truths(chance: random.Random, z: Any, count: int) -> list[Any]:
    return [truth(chance, z) for _ in range(count)]


def ints(chance: random.Random, count: int, low: int = -1, high: int = 3) -> list[int]:
    return [chance.randint(low, high) for _ in range(count)]


def rows(chance: random.Random, *more: Any) -> list[tuple[Any, ...]]:
    """Rows of a table over all sites."""
    return [
        tuple(chance.choice([*alphabet, *more]) for alphabet in SPACE.alphabets) for _ in range(chance.randint(1, 9))
    ]


def compared(number: Callable[[random.Random, Any], Any]) -> Drawn:
    """A function of CPMpy's, compared with a number or a site."""

    def drawn(chance: random.Random, z: Any) -> Any:
        value, other = number(chance, z), chance.choice([chance.randint(-1, 4), chance.choice(list(z))])
        return chance.choice([value == other, value != other, value <= other, value > other])

    return drawn


def over(name: str) -> Drawn:
    return lambda chance, z: getattr(cp, name)(some(chance, z))


def lex(name: str) -> Drawn:
    return lambda chance, z: getattr(cp, name)([some(chance, z)[0], z[0]], [z[1], some(chance, z)[-1]])


def chain(name: str) -> Drawn:
    return lambda chance, z: getattr(cp, name)([[z[0], z[1]], [z[chance.randrange(3)], z[2]], ints(chance, 2)])


def arcs(chance: random.Random) -> list[tuple[str, int, str]]:
    kept = {(chance.choice("abc"), chance.randint(-1, 3)): chance.choice("abc") for _ in range(12)}
    return [(there, symbol, to) for (there, symbol), to in kept.items()]


def layers(chance: random.Random) -> list[tuple[str, int, str]]:
    """A diagram in which every node is reached."""
    kept = {("r", 0): "a1", ("r", 1): "b1"} | {
        ("r", s): chance.choice(["a1", "b1"]) for s in (2, 3)[: chance.randint(0, 2)]
    }
    for node in ("a1", "b1"):
        kept |= {(node, 0): "a2", (node, 1): "b2"}
        kept |= {(node, s): chance.choice(["a2", "b2"]) for s in (-1, 2) if chance.random() < 0.6}
    for node in ("a2", "b2"):
        kept |= {(node, s): "t" for s in chance.sample([0, 1, 3], chance.randint(1, 3))}
    return [(there, symbol, to) for (there, symbol), to in kept.items()]


def jobs(chance: random.Random, z: Any) -> tuple[list[Any], list[int]]:
    return list(z), ints(chance, 3, 0, 2)


ORDERED = ("Increasing", "Decreasing", "IncreasingStrict", "DecreasingStrict")
ALIKE = ("AllDifferent", "AllDifferentExcept0", "AllEqual")
MAKERS: dict[str, Drawn] = {name: over(name) for name in ORDERED + ALIKE}
MAKERS |= {name: lex(name) for name in ("LexLess", "LexLessEq")}
MAKERS |= {name: chain(name) for name in ("LexChainLess", "LexChainLessEq")}
MAKERS |= {
    "AllDifferentExceptN": lambda r, z: cp.AllDifferentExceptN(some(r, z), ints(r, 2)),
    "AllEqualExceptN": lambda r, z: cp.AllEqualExceptN(some(r, z), ints(r, 2)),
    "Circuit": lambda r, z: cp.Circuit([*z] if r.random() < 0.5 else [*z, r.randint(0, 2)]),
    "Inverse": lambda r, z: cp.Inverse([*z], r.choice([[1, 0, 2], [2, 0, 1], [z[1], z[0], z[2]]])),
    "Table": lambda r, z: cp.Table([*z], rows(r)),
    "NegativeTable": lambda r, z: cp.NegativeTable([*z], rows(r)),
    "ShortTable": lambda r, z: cp.ShortTable([*z], rows(r, "*")),
    "Regular": lambda r, z: cp.Regular([*z], arcs(r), "a", ["b", "c"]),
    "MDD": lambda r, z: cp.MDD([*z], layers(r)),
    "IfThenElse": lambda r, z: cp.IfThenElse(*truths(r, z, 3)),
    "InDomain": lambda r, z: cp.InDomain(some(r, z)[0] + z[1], ints(r, 3)),
    "Xor": lambda r, z: cp.Xor(truths(r, z, r.randint(1, 4))),
    "Cumulative": lambda r, z: cp.Cumulative(*jobs(r, z), demand=ints(r, 3, 0, 2), capacity=r.randint(1, 3)),
    "CumulativeOptional": lambda r, z: cp.CumulativeOptional(
        *jobs(r, z), demand=ints(r, 3, 0, 2), capacity=r.randint(1, 3), is_present=truths(r, z, 3)
    ),
    "NoOverlap": lambda r, z: cp.NoOverlap(*jobs(r, z)),
    "NoOverlapOptional": lambda r, z: cp.NoOverlapOptional(*jobs(r, z), is_present=truths(r, z, 3)),
    "Reservoir": lambda r, z: cp.Reservoir([*z], ints(r, 3, -2, 2), -r.randint(0, 2), r.randint(0, 3)),
    "ReservoirOptional": lambda r, z: cp.ReservoirOptional(
        [*z], ints(r, 3, -2, 2), -r.randint(0, 2), r.randint(0, 3), is_present=truths(r, z, 3)
    ),
    "Precedence": lambda r, z: cp.Precedence([*z], r.sample(range(4), 2)),
    "GlobalCardinalityCount": lambda r, z: cp.GlobalCardinalityCount(
        [*z], r.sample(range(4), 2), [r.randint(0, 2), z[0]], closed=r.random() < 0.3
    ),
    "Minimum": compared(lambda r, z: cp.Minimum(some(r, z))),
    "Maximum": compared(lambda r, z: cp.Maximum(some(r, z))),
    "Abs": compared(lambda r, z: cp.Abs(z[1] - z[r.choice([0, 2])])),
    "Multiplication": compared(lambda r, z: cp.Multiplication(z[0] - 2, some(r, z)[0])),
    "Division": compared(lambda r, z: cp.Division(z[0] - 2, r.choice([z[1], z[2] - 1, 2, -2]))),
    "Modulo": compared(lambda r, z: cp.Modulo(z[0] - 2, r.choice([z[1], z[2] - 1, 2, -2]))),
    "Power": compared(lambda r, z: cp.Power(z[1], r.randint(0, 3))),
    "Element": compared(lambda r, z: cp.Element(r.choice([ints(r, 3), some(r, z, 3)]), z[r.randrange(3)])),
    "NDElement": compared(lambda r, z: cp.NDElement([ints(r, 2), ints(r, 2), ints(r, 2)], [z[0], z[r.choice([1, 2])]])),
    "Count": compared(lambda r, z: cp.Count(some(r, z), r.choice([r.randint(-1, 3), z[0]]))),
    "Among": compared(lambda r, z: cp.Among(some(r, z), ints(r, 2))),
    "NValue": compared(lambda r, z: cp.NValue(some(r, z))),
    "NValueExcept": compared(lambda r, z: cp.NValueExcept(some(r, z), r.randint(-1, 3))),
    "BoolVal": lambda r, z: cp.BoolVal(r.random() < 0.5) == truth(r, z),
}
OTHERS = {"Model", "DirectConstraint", "FloatSum"}  # no constraint, or none with a value of its own


def drawn(name: str) -> list[Callable[[Any, Any], Any]]:
    """Rules of a class: alone, denied, or beside another constraint."""

    def rule(number: int) -> Callable[[Any, Any], Any]:
        def made(z: Any, y: Any) -> Any:
            chance = random.Random(zlib.crc32(f"{name} {number}".encode()))
            one = MAKERS[name](chance, z)
            return [one, ~one, one == truth(chance, z), one | truth(chance, z)][chance.choice([0, 0, 0, 1, 2, 3])]

        return made

    return [rule(number) for number in range(EACH)]


def test_every_class_is_drawn() -> None:
    exported = {name for name, each in vars(cp).items() if isinstance(each, type) and issubclass(each, Expression)}
    assert exported - OTHERS <= set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_the_set_and_its_law_are_those_of_cpmpys_own_value(name: str) -> None:
    if not hasattr(cp, name):
        pytest.skip("this CPMpy does not have it")
    belief = SPACE.belief(
        torch.randn(1, 3, SPACE.outputs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    )
    p = belief.rows(torch.zeros(len(STATES), dtype=torch.long)).log_prob(STATES).exp()
    sizes = []
    for rule in drawn(name):
        stated = CPMpy(rule, SPACE)
        said, holds = rule(stated.sites, 0), []
        for row in SPACE.decode(STATES):
            for variable, value in zip(stated.sites, row, strict=True):
                variable._value = value
            holds.append(bool(argval(said)))
        y, expected = stated.encode([0]), torch.tensor(holds)
        assert stated.feasible(STATES, y.expand(len(STATES))).tolist() == holds, said
        sizes.append(sum(holds))
        if not any(holds):
            continue
        law = Lists.of(Enumeration(SPACE, stated), y).law(Target.at(belief, y, 1.0))
        weight = p * expected
        assert law.log_mass().item() == pytest.approx(weight.sum().log().item(), abs=1e-12)
        marginals = torch.zeros(3, 4, dtype=torch.float64)
        for site in range(3):
            marginals[site].index_add_(0, STATES[:, site], weight / weight.sum())
        assert torch.allclose(law.marginals()[0], marginals, atol=1e-12), said
    assert any(0 < size < len(STATES) for size in sizes)
