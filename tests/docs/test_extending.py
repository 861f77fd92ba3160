"""The worked examples in examples/extending: complete files that pass what the library's own parts must pass."""

from __future__ import annotations

import doctest
import filecmp
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

import checks
import proofs
import softground as sg
from exhaustive import transition_matrix
from lessons import Lesson
from problems import PROBLEMS, Problem
from softground.cli import main
from softground.reals import AddNoise
from softground.tasks.sdsp import Differences, Intervals
from softground.training import Moment

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "extending"
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
REGISTRIES = (sg.kernels.KERNELS, sg.schedules.SCHEDULES, sg.training.OBJECTIVES, sg.tasks.TASKS)
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Run a file and its doctests; the names it registers are removed afterwards."""
    before = [dict(registry) for registry in REGISTRIES]

    def loader(title: str) -> ModuleType:
        path = FOLDER / title
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        assert doctest.testmod(module).failed == 0
        return module

    yield loader
    for registry, names in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(names)  # type: ignore[arg-type]


def test_the_schedule(load: Load) -> None:
    checks.check_schedule(load("cosine.py").Cosine, proofs.SUM)
    gammas = [sg.schedules.SCHEDULES["cosine"](1.0, 0.1, 2, 10).gamma(t) for t in range(12)]
    assert gammas[:3] == [float("inf")] * 2 + [1.0]
    assert gammas == sorted(gammas, reverse=True)
    assert gammas[9] == gammas[-1] == 0.1


@pytest.mark.parametrize("gamma", [float("inf"), 1.0, 0.3])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_kernel_leaves_its_target_invariant(load: Load, problem: Problem, gamma: float) -> None:
    kernel = load("redraw.py").Redraw(problem.enumeration, sg.projections.RandomDrop(problem.space, problem.drops))
    matrix = transition_matrix(kernel, problem.states, lambda rows: problem.target(rows, gamma), problem.space)
    law = problem.law(gamma)
    assert (law @ matrix - law).abs().max() < 1e-12


def test_the_kernel(load: Load) -> None:
    load("redraw.py")
    walk = sg.projections.Walk(proofs.TABLE, proofs.SPACE, proofs.FAMILY, proofs.FAMILY, proofs.MOVE)
    checks.check_kernel(lambda: sg.kernels.KERNELS["redraw"](walk, False), proofs.SUM)


def test_the_inverse(load: Load) -> None:
    missing = load("missing.py").Missing
    checks.check_inverse(lambda: missing(proofs.MIXED.rule), proofs.MIXED)


def test_the_objective(load: Load) -> None:
    even = load("even.py").Even
    checks.check_teacher(even, proofs.SUM)
    lesson = Lesson(even(), proofs.TASK, proofs.MIXED.rule.encode([5, proofs.NONE]))
    with pytest.raises(sg.SoftgroundError, match="1 example"):
        lesson.loss(proofs.SPACE.belief(torch.zeros(2, proofs.SPACE.sites, proofs.SPACE.outputs)))


def test_the_term(load: Load) -> None:
    confident = load("confident.py").Confident
    checks.check_term(lambda: confident(0.1), proofs.SUM)
    terms, y = [confident(0.1)], proofs.PROBLEM.program.encode(proofs.SUM.answers)
    belief = proofs.SPACE.belief(torch.zeros(len(y), proofs.SPACE.sites, proofs.SPACE.outputs))
    halfway = Moment(share=0.5)
    added = Lesson(sg.training.SemanticLoss(), proofs.TASK, y, terms=terms).loss(belief, moment=halfway).loss
    alone = Lesson(sg.training.SemanticLoss(), proofs.TASK, y).loss(belief, moment=halfway).loss
    assert float(added - alone) == pytest.approx(0.15 * math.log(proofs.SPACE.outputs), rel=1e-5)


def test_the_projection(load: Load) -> None:
    window = load("window.py").Window
    checks.check_projection(lambda: window(proofs.SPACE, 2), proofs.SUM)
    with pytest.raises(sg.SoftgroundError, match="1 to 2"):
        window(proofs.SPACE, 3)


def test_the_space(load: Load) -> None:
    space = load("autoregressive.py").Autoregressive(3, rho=0.6, sigma=0.8)
    checks.check_space(lambda: space, proofs.LINE)
    lower = torch.tensor([[1, 0, 0], [0.6, 1, 0], [0.36, 0.6, 1]], dtype=torch.float64) * 0.8
    law = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=torch.float64), scale_tril=lower)
    draws = space.belief(torch.zeros(20_000, 3, dtype=torch.float64)).sample(sg.dice.Sampler(0))
    assert torch.allclose(space.belief(torch.zeros_like(draws)).log_prob(draws), law.log_prob(draws))
    assert torch.allclose(draws.T.cov(), law.covariance_matrix, atol=0.05)  # five standard errors
    rule = Differences(space, proofs.REAL.margin)
    kernel = sg.kernels.Metropolis(Intervals(rule), sg.projections.Drop(space, [1]), AddNoise(1.0), completion="first")
    checks.check_kernel(lambda: kernel, proofs.Ground(rule, proofs.LINE.answers, proofs.LINE.z))


def test_the_constraint(load: Load) -> None:
    space = sg.Categorical(["abc"] * 3)
    rule = load("different.py").AllDifferent(space)
    z = space.states(torch.arange(space.size))
    expected = [len(set(state)) == 3 for state in space.decode(z)]
    assert rule.feasible(z, rule.encode([True] * len(z))).tolist() == expected
    with pytest.raises(sg.SoftgroundError, match="Example 1"):
        rule.encode([True, 1])


def test_the_task_trains_from_the_command_line(load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load("products.py")
    load("redraw.py")
    out = tmp_path / "run"
    small = ["--epochs", "1", "--train-size", "64", "--device", "cpu", "--json", "--out", str(out)]
    assert main(["train", "products", "--kernel", "redraw", *small]) == 0
    assert '"symbol_accuracy"' in capsys.readouterr().out
    assert (out / "report.html").is_file()


def test_the_task_takes_few_lines() -> None:
    body = FILES["products.py"].split("@sg.tasks.TASKS.register")[1].split("\n\n\n")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 15


# What is added where, besides the new file: the room that exports it, and its row in the table of checks.
ROWS = {
    "redraw.py": ("kernels", "Redraw", "Kernel", "lambda: Redraw(TABLE, FAMILY)", "SUM", "kernel"),
    "missing.py": ("inverses", "Missing", "Inverse", "lambda: Missing(MIXED.rule)", "MIXED", "inverse"),
    "even.py": ("training", "Even", "Teacher", "Even", "SUM", "objective"),
    "confident.py": ("training", "Confident", "Term", "lambda: Confident(0.1)", "SUM", "term"),
    "window.py": ("projections", "Window", "Projection", "lambda: Window(SPACE, 2)", "SUM", "projection"),
    "autoregressive.py": ("reals", "Autoregressive", "Space", "lambda: Autoregressive(3)", "LINE", "space"),
}
REGISTRY_HOMES = {
    "EXACT": "softground.experiments.problem",
    "KERNELS": "softground.kernels.base",
    "OBJECTIVES": "softground.training.step",
    "SCHEDULES": "softground.schedules",
    "TASKS": "softground.experiments.problem",
}


def inside(code: str) -> str:
    """A file as it stands in the package: each name is imported from the file that has it."""

    def home(room: str, name: str) -> str:
        offered = getattr(import_module(f"softground.{room}".rstrip(".")), name)
        return f"from {REGISTRY_HOMES.get(name) or offered.__module__} import {name}"

    if "\nimport softground as sg\n" in code:  # outside of a docstring
        used = {(a, b) for a, b in re.findall(r"\bsg\.(\w+)(?:\.(\w+))?", code)}
        own = "\n".join(sorted({home("", a) if a in sg.__all__ else home(a, b) for a, b in used}))
        rooms = "|".join({a for a, _ in used} - {*sg.__all__})
        code = re.sub(rf"\bsg\.(?:(?:{rooms})\.)?", "", code.replace("\nimport softground as sg\n", f"\n{own}\n"))

    def homes(found: re.Match[str]) -> str:
        return "\n".join(home(found[1] or "", name) for name in found[2].split(", "))

    code = re.sub(r"^from softground(?!\.(?:cli|errors))\.?(\w+)? import (.*)$", homes, code, flags=re.M)
    return code.replace("from softground.cli import main\n", "").split('if __name__ == "__main__"')[0].rstrip() + "\n"


def add(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


def changed(root: Path) -> tuple[set[str], set[str]]:
    """Files of the copy that differ from the library's, and those that are new."""
    files = {str(path.relative_to(root)) for part in ("src", "tests") for path in (root / part).rglob("*.py")}
    new = {name for name in files if not (ROOT / name).exists()}
    return {name for name in files - new if not filecmp.cmp(root / name, ROOT / name, shallow=False)}, new


# Of the copy; its old members are as they were. Assertions are not rewritten, which takes seconds.
TESTED = ["-v", "-p", "no:cacheprovider", "--assert=plain", "tests/test_conformance.py", "tests/test_rooms.py", "-k"]
TESTED += ["not keeps_its_bases_word or " + " or ".join(part for _, part, *_ in ROWS.values())]


@pytest.mark.slow
def test_a_new_part_touches_what_the_guide_says(tmp_path: Path) -> None:
    """All of them in a copy of the library: two edits for a part, one for a task; then everything holds and trains."""
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("papers", "tools", "benchmarks", "docs", "CONTRIBUTING.md", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    package, table = tmp_path / "src" / "softground", tmp_path / "tests" / "support" / "proofs.py"
    for title, (room, part, base, make, ground, test) in ROWS.items():
        (package / room / title).write_text(inside(FILES[title]), encoding="utf-8")
        stem = Path(title).stem
        add(package / room / "__init__.py", "\n__all__ = [", f'from .{stem} import {part}\n\n__all__ = ["{part}", ')
        row = f'{part}: ({make}, {ground}, "extending::the_{test}"),'
        add(table, f"\n    {base}: {{\n", f"\n    {base}: {{\n        {row}\n")
        add(table, "\nfrom sudoku_cases import", f"\nfrom softground.{room} import {part}\nfrom sudoku_cases import")
    edited, new = changed(tmp_path)
    assert edited == {*(f"src/softground/{room}/__init__.py" for room, *_ in ROWS.values()), "tests/support/proofs.py"}
    assert len(new) == len(ROWS)
    (package / "tasks" / "products.py").write_text(inside(FILES["products.py"]), encoding="utf-8")
    add(package / "tasks" / "__init__.py", "\n__all__ = [", 'from .products import Products\n\n__all__ = ["Products", ')
    assert changed(tmp_path)[0] - edited == {"src/softground/tasks/__init__.py"}

    small = ["--epochs", "2", "--warmup", "0", "--train-size", "64", "--network", "lenet", "--device", "cpu", "--json"]
    own = ["train", "products", "--kernel", "redraw", *small, "--out", "a"]
    built_in = ["train", "addition", "--objective", "even", *small, "--out", "b"]
    code = f"import pytest; assert pytest.main({TESTED}) == 0; from softground.cli import main; "
    code += f"assert main({own}) == 0; assert main({built_in}) == 0"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "failed" not in done.stdout
    assert all(f"[{base}-{part}]" in done.stdout for _, part, base, *_ in ROWS.values())
