"""rsbench's counts: permutations of the variables with a value map each, the intended one included."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

import softground as sg
from softground.cli import main
from softground.errors import InverseError
from softground.inspection.map_search import injections
from softground.inspection.maps import BooleanMaps, boolean_maps
from softground.inspection.support import declared, everything
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit


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


@pytest.mark.parametrize("variables", [1, 2, 14])
def test_a_formula_without_clauses_refutes_nothing(variables: int) -> None:
    """Every permutation with every value map, counted without trying 2¹⁴ inputs on any."""
    space = sg.Categorical([(False, True)] * variables)
    task = sg.Task(space, sg.Cnf([], space))
    every = everything(task, take(task, [True], 1, 0, TimeLimit()), 0)
    found = boolean_maps(task, every, TimeLimit())
    assert found == BooleanMaps(math.factorial(variables) * 4**variables, 4**variables, True, 2**variables)
    known = boolean_maps(task, every, TimeLimit(), [0]) if variables == 2 else None
    assert known is None or known.count < found.count


def test_injections_are_those_of_brute_force() -> None:
    draw = Random(0)
    for _ in range(400):
        values, variables = draw.randrange(1, 7), draw.randrange(1, 5)
        of = [draw.randrange(3) for _ in range(values)]
        clash = [sum(1 << w for w in range(values) if of[w] == of[v]) for v in range(values)]
        taken = draw.choice([None, clash])
        domains = [draw.randrange(2**values) for _ in range(variables)]
        domains = draw.choice([domains, domains[:1] * variables])
        ways = product(*([v for v in range(values) if domain >> v & 1] for domain in domains))
        apart = [len({v if taken is None else of[v] for v in way}) == variables for way in ways]
        assert injections(domains, taken) == sum(apart)


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
    assert main(["inspect", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "xor3: 3 sites" in text
    assert "24, the intended one included (4 without exchanging variables)" in text
    assert main(["inspect", str(path), "--observed", "111", "010"]) == 0
    assert "96, the intended one included (16 without" in " ".join(capsys.readouterr().out.split())
    assert main(["inspect", str(path), "--observed", "11"]) == 2
    assert "has 2 symbols; this space has 3 sites" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none.cnf")]) == 2
    assert "DIMACS" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "always"), [("p cnf 2 0\n", "always"), ("p cnf 2 2\n1 0\n-1 0\n", "never")])
def test_a_formula_of_one_truth_value(
    text: str, always: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rule.cnf").write_text(text)
    assert main(["inspect", str(tmp_path / "rule.cnf")]) == 2
    assert f"rule.cnf: the formula {always} holds, so that its truth value tells nothing" in capsys.readouterr().err


def test_thirty_variables_are_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """10⁹ inputs, too many to be tried: all variables are equal, which leaves two inputs."""
    monkeypatch.setattr("softground.inspection.inspection.ranking", lambda *given: [])
    clauses = [f"{sign * v} {-sign * (v % 30 + 1)} 0" for v in range(1, 31) for sign in (1, -1)]
    (tmp_path / "equal.cnf").write_text("\n".join(["p cnf 30 60", *clauses, ""]))
    assert main(["inspect", str(tmp_path / "equal.cnf"), "--json", "--seconds", "6"]) == 0
    sizes = {each["answer"]: each["count"] for each in json.loads(capsys.readouterr().out)["sizes"]}
    assert sizes == {"True": 2, "False": 2**30 - 2}


def test_what_cannot_be_compiled_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise InverseError("too many nodes")

    monkeypatch.setattr("softground.inverses.rungs.Circuit", never)
    (tmp_path / "long.cnf").write_text("p cnf 30 1\n1 2 0\n")
    assert main(["inspect", str(tmp_path / "long.cnf")]) == 2
    err = capsys.readouterr().err
    assert "long.cnf: no way was found to all inputs of one truth value" in err
    assert "no circuit: too many nodes" in err
