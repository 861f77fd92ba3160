"""Rules given as DIMACS files: read, checked against brute force, and refused where they are damaged."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from softground import Between, Categorical, Cnf, Not, OneOf
from softground.errors import ConstraintError
from softground.inverses.composite import composite


def random_clauses(seed: int, variables: int, count: int) -> list[list[int]]:
    rng = random.Random(seed)
    picks = [rng.sample(range(1, variables + 1), rng.randint(1, 3)) for _ in range(count)]
    return [[v if rng.random() < 0.5 else -v for v in pick] for pick in picks]


def by_hand(clauses: list[list[int]], state: tuple[bool, ...]) -> bool:
    return all(any(state[abs(v) - 1] == (v > 0) for v in clause) for clause in clauses)


@pytest.mark.parametrize("seed", range(4))
def test_feasible_states_are_those_found_by_hand(seed: int) -> None:
    clauses = [*random_clauses(seed, 6, 7), [2, -2], [3, 3, -1]]
    rule = Cnf(clauses, Categorical([(False, True)] * 3 + [(True, False)] * 3))
    states = list(itertools.product([False, True], repeat=6))
    z, truth = rule.space.encode(states), [by_hand(clauses, state) for state in states]
    assert rule.compute(z) == truth
    for answer, wanted in (
        (True, truth),
        (False, [not t for t in truth]),
        (None, [True] * 64),
        (OneOf(), [False] * 64),
    ):
        assert rule.feasible(z, rule.encode([answer]).expand(64)).tolist() == wanted


def test_large_batches_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.constraints.cnf.CHUNK", 10)
    test_feasible_states_are_those_found_by_hand(0)


def test_answers() -> None:
    rule = Cnf([[1], [2, -3]])
    assert not rule.encode([True, 1]).any()
    assert not rule.negates
    given = [False, Not(True), Not(False), Between(0, 1), Between(1, 9), OneOf(0, 1), torch.tensor(True)]
    codes = rule.encode(given)
    assert rule.negates
    assert [rule.answer(code) for code in codes] == [False, False, True, None, True, None, True]
    for wrong in (2, "yes", OneOf(0, 3), 0.5):
        with pytest.raises(ConstraintError, match=r"Example 1|0\.5"):
            rule.encode([True, wrong])


def test_formulas_that_hold_always_or_never() -> None:
    z = torch.tensor([[0], [1]])
    assert Cnf([]).compute(z) == [True, True]
    assert Cnf([[1], []]).compute(z) == [False, False]


@pytest.mark.parametrize(
    ("clauses", "space", "message"),
    [
        ([[1, 4]], Categorical([(0, 1)] * 3), "variable 4, but the space has 3 sites"),
        ([[1]], Categorical([range(3)]), r"Site 0 has the symbols \[0, 1, 2\]"),
        ([[1], [2, 0]], None, r"Clause 2 is \[2, 0\]"),
        ([[True]], None, "Clause 1"),
        ([[1.0]], None, "Clause 1"),
        ([["a"]], None, "Clause 1"),
    ],
)
def test_clauses_that_fit_no_site_are_refused(clauses: Any, space: Categorical | None, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        Cnf(clauses, space)


def test_its_clauses_are_parts_where_it_holds() -> None:
    clauses = [*random_clauses(1, 6, 9), [2, -2]]
    rule = Cnf(clauses, Categorical([(False, True)] * 3 + [(True, False)] * 3))
    z, y = rule.space.states(torch.arange(64)), rule.encode([True]).expand(64)
    parts = rule.parts()
    assert len(parts) == 9
    assert len({part.rule for part in parts}) < 9  # those of one form are one batch
    held = [part.rule.feasible(z[:, part.sites], part.answers(y)) for part in parts]
    assert [each.tolist() for each in held] == [[by_hand([c], s) for s in rule.space.decode(z)] for c in clauses[:9]]
    assert composite(rule).exact
    assert not Cnf([[1], []]).parts()
    rule.encode([False])
    assert not rule.parts()


TEXT = """c a comment
p  cnf 4 4

1 -2 0 3
c between the lines of a clause
4 0
-1 0 0
%
0
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "rule.cnf").write_text(TEXT)
    rule = Cnf.read(tmp_path / "rule.cnf")
    assert rule.clauses == ((1, -2), (3, 4), (-1,), ())
    assert rule.space.alphabets == ((False, True),) * 4
    space = Categorical([range(2)] * 5)
    assert Cnf.read(str(tmp_path / "rule.cnf"), space).space is space


DAMAGED = {
    "": "line 1: the file is empty",
    "c only a comment\n": "line 1: the file is empty",
    "1 2 0\n": "line 1: '1 2 0' is no header",
    "c\np cnf 3\n1 0\n": "line 2: 'p cnf 3' is no header",
    "p sat 3 1\n1 0\n": "line 1: 'p sat 3 1' is no header",
    "p cnf 3 -1\n": "line 1",
    "p cnf 3 1\n1 -4 0\n": "line 2: variable 4 was given, but the header announces 3",
    "p cnf 3 2\n1 0\n": "line 2: the file ends after 1 clauses, but its header says 2",
    "p cnf 3 1\n1 0\n2 0\n": "line 3: the file ends after 2 clauses, but its header says 1",
    "p cnf 3 1\n1 2\n3\n": r"line 3: the last clause, \[1, 2, 3\], does not end in 0",
    "p cnf 3 1\n1 x 0\n": "line 2: 'x' is no whole number",
    "p cnf 3 1\n1 2.0 0\n": "line 2: '2.0' is no whole number",
    "p cnf 3 1\n1 -- 0\n": "line 2: '--' is no whole number",
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_files_are_refused_by_name_and_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "rule.cnf").write_text(text)
    with pytest.raises(ConstraintError, match=rf"rule\.cnf, {DAMAGED[text]}"):
        Cnf.read(tmp_path / "rule.cnf")


def test_a_header_that_announces_more_variables_than_there_can_be_sites(tmp_path: Path) -> None:
    (tmp_path / "rule.cnf").write_text("p cnf 99999999999 1\n1 0\n")
    with pytest.raises(ConstraintError, match="announces 99,999,999,999 variables, but the space has 3 sites"):
        Cnf.read(tmp_path / "rule.cnf", Categorical([(False, True)] * 3))
    with pytest.raises(ConstraintError, match="at most 1,000,000 can be sites"):
        Cnf.read(tmp_path / "rule.cnf")


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rule.cnf").write_bytes(b"\xff\xfe\x00")
    for name in ("rule.cnf", "missing.cnf"):
        with pytest.raises(ConstraintError, match=f"{name} cannot be read"):
            Cnf.read(tmp_path / name)
