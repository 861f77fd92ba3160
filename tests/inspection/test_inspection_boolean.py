"""rsbench's counts: permutations of the variables with a value map each, the intended one included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import softground as sg
from softground.cli import main
from softground.inspection.boolean import BooleanMaps, boolean_maps
from softground.inspection.solutions import take
from softground.inspection.support import declared
from softground.inspection.time_limit import TimeLimit


def counted(clauses: Sequence[Sequence[int]], variables: int, observed: str = "", known: str = "") -> BooleanMaps:
    space = sg.Categorical([(False, True)] * variables)
    task = sg.Task(space, sg.Cnf(clauses, space))
    words = observed.split() or [f"{i:0{variables}b}" for i in range(2**variables)]
    rows = [[digit == "1" for digit in word] for word in words]
    support = declared(task, rows, take(task, [True, False], 2, 0, TimeLimit()))
    at = ["".join(str(int(v)) for v in z) for z in space.decode(support.z)]
    found = boolean_maps(task, support, TimeLimit(), [at.index(word) for word in known.split()])
    assert found is not None
    assert found.finished
    assert found.observed == len(rows)
    return found


def xor(n: int) -> list[list[int]]:
    """Odd parity: every input of even parity is forbidden."""
    rows = [[int(digit) for digit in f"{i:0{n}b}"] for i in range(2**n)]
    return [[-v if bit else v for v, bit in enumerate(row, 1)] for row in rows if sum(row) % 2 == 0]


AND = {n: [[v] for v in range(1, n + 1)] for n in (2, 3, 4)}
OR = {n: [list(range(1, n + 1))] for n in (2, 3, 4)}
ONE_OF_3 = [[1, 2, 3], [-1, -2], [-1, -3], [-2, -3]]
ALL_OBSERVED = [  # clauses, variables, count, without permuting
    (xor(1), 1, 1, 1), (xor(2), 2, 4, 2), (xor(3), 3, 24, 4), (xor(4), 4, 192, 8),
    (AND[2], 2, 2, 1), (AND[3], 3, 6, 1), (AND[4], 4, 24, 1), (OR[2], 2, 2, 1), (OR[3], 3, 6, 1), (OR[4], 4, 24, 1),
    ([[-1, 2], [1, -2]], 2, 4, 2), ([[-1, 2]], 2, 2, 1),
    ([[1, 2], [3]], 3, 2, 1), ([[1, -3], [2, -3]], 3, 2, 1), ([[1, 2], [-1, 3]], 3, 2, 1),
    ([[1, 2], [1, 3], [2, 3]], 3, 6, 1), (ONE_OF_3, 3, 6, 1),
    ([[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]], 4, 24, 1),
    ([[1]], 2, 4, 4), ([[1], [2]], 3, 8, 4),
]  # fmt: skip
SOME = [  # clauses, variables, observed, known, count, without permuting
    (xor(3), 3, "111 010", "", 96, 16), (xor(3), 3, "111 010 001 110", "", 24, 4),
    (xor(3), 3, "001 010 100 111", "", 48, 8), (xor(3), 3, "000 011 101 110", "", 48, 8),
    (xor(2), 2, "11 10", "", 8, 4),
    (xor(3), 3, "", "111", 6, 1), (xor(3), 3, "", "111 010", 2, 1), (xor(3), 3, "", "111 010 001", 1, 1),
    ([[1, -3], [2, -3]], 3, "001 010 000", "", 36, 12),
]  # fmt: skip


@pytest.mark.parametrize(("clauses", "variables", "count", "fixed"), ALL_OBSERVED)
def test_all_inputs_observed(clauses: list[list[int]], variables: int, count: int, fixed: int) -> None:
    found = counted(clauses, variables)
    assert (found.count, found.fixed) == (count, fixed)


@pytest.mark.parametrize(("clauses", "variables", "observed", "known", "count", "fixed"), SOME)
def test_some_inputs(
    clauses: list[list[int]], variables: int, observed: str, known: str, count: int, fixed: int
) -> None:
    found = counted(clauses, variables, observed, known)
    assert (found.count, found.fixed) == (count, fixed)


def test_a_bound_says_so() -> None:
    space = sg.Categorical([(False, True)] * 5)
    task = sg.Task(space, sg.Cnf(xor(5), space))
    sample = take(task, [True, False], 2, 0, TimeLimit())
    support = declared(task, space.states(torch.arange(space.size)), sample)
    found = boolean_maps(task, support, TimeLimit(0))
    assert found is not None
    assert not found.finished
    assert 1 <= found.count < 1920


def test_only_boolean_sites_are_counted() -> None:
    space = sg.Categorical([range(3)] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: a == b, space))
    sample = take(task, None, 2, 0, TimeLimit())
    assert boolean_maps(task, declared(task, [(0, 1)], sample), TimeLimit()) is None


def test_a_file_is_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "xor3.cnf"
    lines = [" ".join(map(str, [*clause, 0])) for clause in xor(3)]
    path.write_text("c odd parity\n" + "\n".join([f"p cnf 3 {len(lines)}", *lines]) + "\n")
    assert main(["inspect", str(path), "--no-mixing"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "xor3: 3 sites" in text
    assert "24, the intended one included (4 without exchanging variables)" in text
    assert main(["inspect", str(path), "--no-mixing", "--observed", "111", "010"]) == 0
    assert "96, the intended one included (16 without" in " ".join(capsys.readouterr().out.split())
    assert main(["inspect", str(path), "--no-mixing", "--observed", "11"]) == 2
    assert "has 2 symbols; this space has 3 sites" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none.cnf")]) == 2
    assert "DIMACS" in capsys.readouterr().err
