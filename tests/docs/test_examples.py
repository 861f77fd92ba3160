"""Every example is short, uses public names alone, and learns."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import softground

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
SHORT = [name for name in NAMES if name != "own_rule"]  # the README's own, which test_documents runs


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What a reduced run must reach at least: guessing gives a tenth of the digits, a quarter of those of squares and boards
# and of four colours, a fifth of the hours, half of the cells, few whole images, and six in ten of the patients.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "budget", "least"),
    [
        ("addition", {"epochs": 3, "count": 700}, 0.6),
        ("clauses", {"epochs": 3, "count": 400}, 0.8),
        ("futoshiki", {"epochs": 8, "count": 40}, 0.4),
        ("graph_colouring", {"epochs": 15, "count": 60}, 0.4),
        ("grid_of_sums", {"epochs": 3, "count": 300}, 0.3),
        ("hierarchy", {"epochs": 8, "count": 600}, 0.2),
        ("killer_sudoku", {"epochs": 4, "count": 60}, 0.4),
        ("learn_short_read_long", {"epochs": 4, "count": 600}, 0.6),
        ("magic_square", {"epochs": 7, "count": 100}, 0.4),
        ("mnmath", {"epochs": 4, "count": 400}, 0.5),
        ("nonogram", {"epochs": 4, "count": 80}, 0.8),
        ("plain_function", {"epochs": 4, "count": 800}, 0.6),
        ("receipts", {"epochs": 5, "count": 400}, 0.3),
        ("sorting", {"epochs": 3, "count": 1000}, 0.2),
        ("tabular", {"epochs": 5, "count": 500}, 0.85),
        ("timetable", {"epochs": 4, "count": 100}, 0.4),
    ],
)
def test_it_learns(name: str, budget: dict[str, int], least: float, capsys: pytest.CaptureFixture[str]) -> None:
    reached: Any = load(name).main(**budget)
    for accuracy in reached.values() if isinstance(reached, dict) else [reached]:
        assert accuracy > least
    assert re.search(r"held-out .*\d%\n$", capsys.readouterr().out)


@pytest.mark.slow
def test_valid_alone_teaches_no_digits_and_a_few_typed_numbers_do() -> None:
    reached = load("check_digits").main(epochs=8, count=200, typed=40)
    assert reached["valid alone"] < 0.3
    assert reached["both"] > 0.8


def test_a_network_that_reads_everything_as_zero_calls_every_number_valid() -> None:
    module = load("check_digits")
    truth, zeros = module.numbers(50, "train"), module.numbers(50, "train") * 0
    valid = module.rule.encode(["?" * module.LENGTH] * 50)
    assert module.rule.feasible(truth, valid).all()
    assert module.rule.feasible(zeros, valid).all()
    wrong = truth.clone()
    wrong[:, 0] = (wrong[:, 0] + 1) % 10  # Luhn's sum finds any single wrong digit
    assert not module.rule.feasible(wrong, valid).any()


@pytest.mark.parametrize("name", NAMES)
def test_only_public_names_and_no_subclasses(name: str) -> None:
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "sg"}
    assert used
    assert used <= set(dir(softground))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    rooms = {name for name in imported if re.fullmatch(r"softground\.\w+", name)}
    assert imported - rooms <= {"softground", "torch", "typing", "fractions", "cpmpy", "sklearn.datasets"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("name", SHORT)
def test_the_rule_takes_at_most_25_lines(name: str) -> None:
    """From the imports to where the data begin."""
    source = (EXAMPLES / f"{name}.py").read_text()
    rule = source.split("import softground as sg\n")[1].split("\ndef main")[0]
    rule = re.split(r"\ndef (?:boards|examples|grids|numbers|squares|wards)\(", rule)[0]
    assert 0 < len([line for line in rule.splitlines() if line.strip()]) <= 25


@pytest.mark.parametrize("name", [name for name in NAMES if name != "magic_square"])  # which is about choosing one
def test_no_kernel_and_no_projection_is_named(name: str) -> None:
    source = (EXAMPLES / f"{name}.py").read_text()
    kinds = [softground.kernels.Kernel, softground.projections.Projection]
    rooms = softground.kernels, softground.projections
    offered = {each: getattr(room, each) for room in rooms for each in room.__all__}
    named = {each for each, kind in offered.items() if isinstance(kind, type) and issubclass(kind, tuple(kinds))}
    assert {"Exact", "Guided", "Drop"} < named
    assert not named & set(re.findall(r"sg\.(\w+)", source))
    assert "kernel=" not in source
    assert "projection=" not in source


def test_the_list_of_examples_is_complete() -> None:
    listed = re.findall(r"\]\((\w+)\.py\)", (EXAMPLES / "README.md").read_text())
    assert sorted(set(listed)) == NAMES


def test_the_table_is_what_was_measured() -> None:
    command = [sys.executable, str(EXAMPLES.parent / "benchmarks" / "examples.py"), "--check"]
    assert subprocess.run(command, env=os.environ | {"PYTHONPATH": str(EXAMPLES.parent / "src")}).returncode == 0
