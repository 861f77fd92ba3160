"""The package's files: who may know whom, how long they are, what may inherit from what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from proofs import TABLES

SOURCE = Path(__file__).resolve().parents[1] / "src" / "softground"
FILES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}
LONGEST = 600
# A room knows those on the lines above it and, one way only, others on its own line.
ORDER = """
errors dice retired registry metrics figures files preparing notebook
spaces
target constraints
projections
solver inverses
kernels
task schedules reals
data networks
training walks
runs learner
model estimator onnx layer
inspection
report
window
experiments
tasks
_public cli
"""
RANK = {room: rank for rank, line in enumerate(ORDER.splitlines()) for room in line.split()}
# Imports inside functions that look up: for what is asked for by name, or written when a run ends.
LOOKS_UP = {("experiments/named.py", "tasks"), ("learner/learner.py", "model")}
LOOKS_UP |= {("task.py", "layer"), ("report/html/run.py", "experiments")}
# Rules whose function was lost when their model was saved; a scan that adds up as well, a program that has parts.
HEIRS = {("RecordedProgram", "Program"), ("RecordedScan", "Scan"), ("AdditionScan", "Scan"), ("Boards", "Program")}
HEIRS |= {("Auto", "Constant")}  # which a learner may replace


def imports(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.ImportFrom, bool]]:
    """The package's own imports, and whether they are inside a function; not those for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.level:
            yield child, inside
        elif not isinstance(child, ast.expr) and not (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        ):
            yield from imports(child, inside or isinstance(child, ast.FunctionDef))


def known(name: str, node: ast.ImportFrom) -> list[str]:
    """The rooms that an import of file ``name`` reaches."""
    folder = Path("softground", name).parts[:-1]
    target = [*folder[: len(folder) - node.level + 1], *(node.module or "").split(".")]
    target = [part for part in target if part]
    return [target[1]] if len(target) > 1 else [alias.name for alias in node.names if not alias.name.startswith("__")]


@cache
def edges() -> list[tuple[str, str, str, bool]]:
    """File, its room, a room it knows, and whether from inside a function."""
    found = []
    for name in FILES.keys() - {"__init__.py", "__main__.py"}:
        own = Path(name).parts[0].removesuffix(".py")
        for node, inside in imports(ast.parse(FILES[name].read_text(encoding="utf-8"))):
            found += [(name, own, room, inside) for room in known(name, node) if room != own]
    return found


def test_a_room_knows_those_before_it() -> None:
    up = {(name, room) for name, own, room, inside in edges() if RANK[room] > RANK[own] and inside}
    assert up == LOOKS_UP
    assert not [(name, room) for name, own, room, inside in edges() if RANK[room] > RANK[own] and not inside]


def test_rooms_on_one_line_do_not_know_each_other_both_ways() -> None:
    pairs = {(own, room) for _, own, room, inside in edges() if not inside}
    assert not {(a, b) for a, b in pairs if (b, a) in pairs}


def test_every_room_is_in_the_order() -> None:
    assert {Path(name).parts[0].removesuffix(".py") for name in FILES} - {"__init__", "__main__"} == set(RANK)


def test_files_are_short() -> None:
    long = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert not {name: lines for name, lines in long.items() if lines > LONGEST}


def test_members_do_not_inherit_from_one_another() -> None:
    every = {kind for table in TABLES.values() for kind in table}
    found = {(kind.__name__, other.__name__) for kind in every for other in every if other in kind.__mro__[1:]}
    assert found == HEIRS


APPLICATIONS = {"inspection", "report", "window", "experiments", "tasks", "cli"}


def test_the_core_knows_no_application() -> None:
    """Nothing below the applications imports one, in a function or by a name either."""
    core = {name: path for name, path in FILES.items() if Path(name).parts[0].removesuffix(".py") not in APPLICATIONS}
    core = {name: path for name, path in core.items() if name not in ("__init__.py", "__main__.py", "_public.py")}
    assert not [(name, room) for name, _, room, _ in edges() if name in core and room in APPLICATIONS]
    named = re.compile(r"softground\.(" + "|".join(APPLICATIONS) + r")\b")
    code = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in core.items()}
    told = {
        name: node.value
        for name, tree in code.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.fullmatch(node.value)
    }
    assert not told
