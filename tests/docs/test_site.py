"""The documentation: its code runs, its pages and commands exist, its links lead somewhere, and the site builds."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch

import softground as sg
from exhaustive import transition_matrix
from problems import PROBLEMS, Problem
from softground.cli import COMMANDS, main
from softground.inverses import Enumeration
from softground.projections import Dropped
from softground.schedules import Schedule
from softground.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WRITTEN = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"))]
FENCE = re.compile(r'^```(\w+)?(?: title="([^"]+)")?[ \t]*\n(.*?)^```[ \t]*$', re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


@dataclass(frozen=True)
class Block:
    page: str
    language: str
    title: str
    code: str


def blocks(path: Path) -> list[Block]:
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [Block(path.name, language, title, code) for language, title, code in found]


BLOCKS = [block for path in PAGES for block in blocks(path)]
FILES = {block.title: block.code for block in BLOCKS if block.title}
SESSIONS = {
    path.stem: [block.code for block in blocks(path) if block.language == "pycon"]
    for path in PAGES
    if any(block.language == "pycon" for block in blocks(path))
}


def run_session(name: str, code: str) -> None:
    test = doctest.DocTestParser().get_doctest(code, {"__name__": name}, name, None, None)
    said: list[str] = []
    assert test.examples
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    def loader(title: str) -> ModuleType:
        path = tmp_path / title
        path.write_text(FILES[title], encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        assert doctest.testmod(module).failed == 0
        return module

    return loader


def test_python_blocks_compile() -> None:
    code = [block for block in BLOCKS if block.language == "python"]
    assert len(code) > 5
    for block in code:
        ast.parse(block.code, filename=block.page)


@pytest.mark.parametrize("page", SESSIONS)
def test_sessions_give_what_the_page_says(page: str) -> None:
    run_session(page, "\n".join(SESSIONS[page]))


def test_a_wrong_session_is_noticed() -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_session("wrong", ">>> 1 + 1\n3\n")


def test_the_schedule(load) -> None:
    cosine = load("cosine.py").Cosine(epochs=10)
    gammas = [cosine.gamma(t) for t in range(12)]
    assert isinstance(cosine, Schedule)
    assert gammas == sorted(gammas, reverse=True)


@pytest.mark.parametrize("gamma", [float("inf"), 1.0, 0.3])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_kernel_leaves_its_target_invariant(load, problem: Problem, gamma: float) -> None:
    kernel = load("redraw.py").Redraw(problem.enumeration, sg.RandomDrop(problem.space, problem.drops))
    matrix = transition_matrix(kernel, problem.states, lambda rows: problem.target(rows, gamma), problem.space)
    law = problem.law(gamma)
    assert (law @ matrix - law).abs().max() < 1e-12


def test_the_inverse_finds_what_enumeration_finds(load) -> None:
    space = sg.Categorical([range(10)] * 3)
    rule = sg.Program(lambda a, b, c: a + b + c, space, vectorised=False)
    missing, z = load("missing.py").Missing(rule), space.states(torch.arange(space.size))
    totals = torch.randint(30, (len(z),), generator=torch.Generator().manual_seed(0)).tolist()
    y = rule.encode(totals)
    for site in range(3):
        dropped = torch.full((len(z), 1), site)
        ours, theirs = missing.fibre(z, y, Dropped(dropped)), Enumeration(space, rule).fibre(z, y, Dropped(dropped))
        assert torch.equal(ours.count, theirs.count)
        assert torch.equal(ours.values[ours.mask], theirs.values[theirs.mask])
    start = missing.start(y, seed=1)
    assert torch.equal(start.found, torch.tensor(totals) <= 27)
    assert torch.equal(rule.feasible(start.z, y), start.found)


def test_the_constraint(load) -> None:
    space = sg.Categorical(["abc"] * 3)
    rule = load("different.py").AllDifferent(space)
    z = space.states(torch.arange(space.size))
    expected = [len(set(state)) == 3 for state in space.decode(z)]
    assert rule.feasible(z, rule.encode([True] * len(z))).tolist() == expected
    with pytest.raises(sg.SoftgroundError, match="Example 1"):
        rule.encode([True, 1])


def test_the_task_trains_from_the_command_line(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TASKS, "products", load("products.py").ProductOptions)
    out = tmp_path / "run"
    small = ["--epochs", "1", "--train-size", "64", "--device", "cpu", "--json", "--out", str(out)]
    assert main(["train", "products", *small]) == 0
    assert '"symbol_accuracy"' in capsys.readouterr().out
    assert (out / "report.html").is_file()


def test_every_page_is_in_the_nav_and_every_entry_is_a_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1].split("\n\n")[0]
    entries = re.findall(r": ([\w./-]+\.md)$", nav, re.M)
    assert entries[0] == "index.md"
    assert sorted(entries) == [path.name for path in PAGES]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{path.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", FENCE.sub("", place.read_text(encoding="utf-8")), re.M)
            assert anchor in {slug(heading) for heading in headings}, f"{path.name} links to {target}#{anchor}"


def slug(heading: str) -> str:
    """As Markdown makes an anchor of a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower())


def test_pictures_are_used_and_fetch_nothing() -> None:
    words = "".join(path.read_text(encoding="utf-8") for path in WRITTEN)
    pictures = sorted((DOCS / "images").glob("*.svg"))
    assert pictures
    for path in pictures:
        root = ElementTree.parse(path).getroot()
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert not re.search(r"(?:href|src)=|url\((?!#)|@import", path.read_text(encoding="utf-8"))
        assert f"images/{path.name}" in words


def test_commands_exist() -> None:
    shell = [block.code for path in WRITTEN for block in blocks(path) if block.language == "sh"]
    asked = re.findall(r"(?:^|; |-m )softground (\S+)(?: (\w+))?", "\n".join(shell), re.M)
    assert len(asked) > 10
    for command, task in asked:
        assert command in COMMANDS
        assert command not in ("train", "inspect") or task in TASKS


def test_the_api_page_has_every_public_name() -> None:
    names = re.findall(r"^::: softground\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(names) == sorted(sg.__all__)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings_handlers.python", reason="the site needs the extra docs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "examples" / "addition.html").is_file()
