"""Every kernel, inverse, teacher, schedule, space and constraint is in the table of checks and keeps its contract.

Members are found by walking the package. One without a row in ``tests/support/proofs.py`` fails.
"""

from __future__ import annotations

import inspect
import math
import pkgutil
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import checks
import softground
from papers.li2023 import baselines
from proofs import FAMILY, MATRICES, MOVE, OTHER_CLAIMS, PROBLEM, SPACE, STATISTICS, TABLE, TABLES
from softground.constraints import Constraint
from softground.inverses import Inverse
from softground.kernels import KERNELS, Kernel
from softground.projections import Drop, Move, Projection, Walk
from softground.schedules import SCHEDULES, Schedule
from softground.spaces import Space
from softground.training import OBJECTIVES, Teacher, Term


def package() -> list[ModuleType]:
    found = [*pkgutil.walk_packages(softground.__path__, "softground.")]
    found += pkgutil.iter_modules(baselines.__path__, f"{baselines.__name__}.")
    return [import_module(module.name) for module in found if not module.name.endswith("__main__")]


def members(base: type, modules: Iterable[ModuleType]) -> set[type]:
    """All classes of the modules that one could make and that are a kind of ``base``."""
    defined = [c for m in modules for c in vars(m).values() if inspect.isclass(c) and c.__module__ == m.__name__]
    return {c for c in defined if issubclass(c, base) and c is not base and not inspect.isabstract(c)}


@pytest.mark.parametrize("base", TABLES, ids=lambda base: base.__name__)
def test_every_member_has_a_row(base: type) -> None:
    assert members(base, package()) == set(TABLES[base])


def test_a_member_without_a_row_is_noticed() -> None:
    planted: Any = ModuleType("softground.planted")
    planted.Planted = type("Planted", (Schedule,), {"gamma": lambda self, t: 1.0, "__module__": planted.__name__})
    assert members(Schedule, [*package(), planted]) - set(TABLES[Schedule]) == {planted.Planted}


def test_every_proof_is_a_test_there_is() -> None:
    for proof in {proof for table in TABLES.values() for row in table.values() for proof in row[2:]}:
        file, test = proof.split("::")
        (path,) = Path(__file__).parent.rglob(f"test_{file}.py")
        assert re.search(rf"^def test_{test}\(", path.read_text(encoding="utf-8"), re.M), proof


def test_every_kernel_is_proved_by_its_matrix_by_drawing_or_claims_something_else() -> None:
    for kind, (_, _, *proofs) in TABLES[Kernel].items():
        claim = OTHER_CLAIMS.get(kind)
        assert claim in proofs if claim else {*proofs} & (MATRICES | STATISTICS), kind
    assert "(tests/support/proofs.py)" in (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_everything_with_a_name_has_a_row() -> None:
    walk = Walk(TABLE, SPACE, Drop(SPACE, PROBLEM.drops[0]), FAMILY, MOVE)
    assert {type(make(walk, True)) for make in KERNELS.values()} <= set(TABLES[Kernel])
    assert set(OBJECTIVES.values()) <= set(TABLES[Teacher])
    assert {type(make(1.0, 0.1, 0, 9)) for make in SCHEDULES.values()} <= set(TABLES[Schedule])


CHECKS = {
    Kernel: checks.check_kernel,
    Inverse: checks.check_inverse,
    Teacher: checks.check_teacher,
    Term: checks.check_term,
    Schedule: checks.check_schedule,
    Space: checks.check_space,
    Constraint: checks.check_constraint,
    Projection: checks.check_projection,
    Move: checks.check_move,
}


@pytest.mark.parametrize(("base", "kind"), [(b, k) for b in TABLES for k in TABLES[b]], ids=lambda each: each.__name__)
def test_a_member_keeps_its_bases_word(base: type, kind: type) -> None:
    make, ground, *_ = TABLES[base][kind]
    assert isinstance(make(), kind)
    CHECKS[base](make, ground)


def test_auto_begins_at_one_until_a_learner_chooses() -> None:
    assert {SCHEDULES["auto"](1.0, 0.1, 0, 20).gamma(t) for t in range(30)} == {1.0}


@pytest.mark.parametrize("name", sorted({*SCHEDULES} - {"auto"}))
def test_schedule_by_name(name: str) -> None:
    gammas = [SCHEDULES[name](2.0, 0.1, 3, 20).gamma(t) for t in range(30)]
    assert gammas[:3] == [math.inf] * 3
    assert all(0.1 <= gamma <= 2.0 / math.log(2) for gamma in gammas[3:])  # log-code rises to it, once
