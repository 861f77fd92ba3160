"""The documentation: its code runs, its pages and commands exist, its links lead somewhere, and the site builds."""

from __future__ import annotations

import ast
import doctest
import importlib
import io
import operator
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import softground as sg
from softground.cli import COMMANDS, main
from softground.retired import MOVED
from softground.tasks import TASKS
from window_cases import Browser

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WRITTEN = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"))]
FENCE = re.compile(r'^```(\w+)?(?: title="([^"]+)")?[ \t]*\n(.*?)^```[ \t]*$', re.M | re.S)
OPEN = ("errors", "cli", "onnx")  # modules that are no rooms of parts
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


def test_python_blocks_compile() -> None:
    code = [block for block in BLOCKS if block.language == "python"]
    assert len(code) > 5
    for block in code:
        ast.parse(block.code, filename=block.page)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_code_fits_its_column(path: Path) -> None:
    wide = [line for block in blocks(path) for line in block.code.splitlines() if len(line) > 84]
    assert not wide, wide


@pytest.mark.parametrize("page", SESSIONS)
def test_sessions_give_what_the_page_says(page: str) -> None:
    run_session(page, "\n".join(SESSIONS[page]))


def test_a_wrong_session_is_noticed() -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_session("wrong", ">>> 1 + 1\n3\n")


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
        shown = re.sub(r"<desc.*?</desc>", "", path.read_text(encoding="utf-8"))
        assert not re.search(r"S_y|\^\(", shown), f"{path.name}: a formula that is not typeset"


COMMAND = re.compile(r"(?:^|; |-m |do )softground (\S+)(?: ([\w.]+))?([^;#\n]*)", re.M)


@cache
def options(command: str, task: str) -> set[str]:
    """The options that a command's help names."""
    said = io.StringIO()
    nested = command == "runs" or (command in ("train", "inspect") and (task in TASKS or task.endswith(".py")))
    with redirect_stdout(said):
        main([command, *([task] if nested and task else []), "--help-all"])
    return set(re.findall(r"--[\w-]+", said.getvalue()))


def test_commands_and_their_options_exist() -> None:
    shell = [block.code for path in WRITTEN for block in blocks(path) if block.language == "sh"]
    asked = COMMAND.findall("\n".join(shell))
    assert len(asked) > 25
    for command, task, rest in asked:
        assert command in COMMANDS
        assert command not in ("train", "inspect") or task in TASKS or task.endswith(".py")
        assert set(re.findall(r"--[\w-]+", rest)) <= options(command, task), f"softground {command} {task} {rest}"


def test_the_first_rule_of_the_front_page_learns() -> None:
    (code,) = (block.code for block in BLOCKS if block.page == "index.md" and block.language == "python")
    digits = torch.randint(10, (600, 3), generator=torch.Generator().manual_seed(0))
    x, y = torch.eye(10)[digits], [a * b + c for a, b, c in digits.tolist()]
    known: dict[str, Any] = {"x": x[:500], "y": y[:500], "x_new": x[500:], "y_new": y[500:]}
    exec(compile(code.replace("epochs=8", "epochs=12"), "index.md", "exec"), known)
    assert known["model"].score(x[500:], y[500:]) > 0.9


def test_the_api_page_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "hooks"))
    api = importlib.import_module("api")
    assert (DOCS / "api.md").read_text(encoding="utf-8").count(api.MARK) == 1
    names = re.findall(r"^::: softground\.([\w.]+)$", api.sections(), re.M)
    assert sorted(name for name in names if "." not in name) == sorted(sg.__all__)
    assert len(names) == len(set(names))
    for name in names:
        assert operator.attrgetter(name)(sg), name
    assert set(MOVED.values()) - set(api.ROOMS) <= {"tasks.sdsp"}


@pytest.mark.parametrize("path", [*WRITTEN, *sorted((ROOT / "examples").glob("*.py"))], ids=lambda path: path.name)
def test_what_is_imported_is_public(path: Path) -> None:
    """From softground itself, or what a room exports beside; a room's own files are nobody's business."""
    text = path.read_text(encoding="utf-8")
    for room, names in re.findall(r"^(?:>>> )?from softground\.?(\S*) import ([^(#\n]*)", text, re.M):
        for name in re.findall(r"\w+", names):
            module = importlib.import_module(f"softground.{room}") if room else sg
            assert name in getattr(module, "__all__", dir(module)) or room in OPEN, name
            assert not room or name not in sg.__all__, f"{name} is to be had from softground itself"
    for name, inner in re.findall(r"\bsg\.(\w+)(?:\.(\w+))?", text):
        if name not in sg.__all__ and (path.name != "CHANGELOG.md" or name not in MOVED):
            assert inner in getattr(getattr(sg, name), "__all__", dir(getattr(sg, name))), name


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocstrings_handlers.python", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_is_whole_and_loads_nothing_from_elsewhere(site: Path) -> None:
    assert (site / "examples" / "addition.html").is_file()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?:', text), page.name
        assert "$$" not in re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.S), page.name
    idea = (site / "idea.html").read_text(encoding="utf-8")
    assert "<msub><mi>S</mi><mi>y</mi></msub>" in idea
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in idea
    tasks = (site / "tasks.html").read_text(encoding="utf-8")
    assert '<code><span class="option">--readings</span></code>' in tasks  # no line ends after its hyphens
    assert 'data-md-color-media="(prefers-color-scheme)"' in tasks  # as the system is, until a reader decides otherwise


def test_its_search_works_from_the_folder(site: Path, tmp_path: Path) -> None:
    if not (program := shutil.which("chromium")):
        pytest.skip("no chromium was found to search with")
    browser = Browser(program, tmp_path / "profile", "--window-size=1280,900")
    browser.tell("Page.enable")
    browser.tell("Page.navigate", url=(site / "index.html").as_uri())
    browser.wait("document.readyState === 'complete' && document.querySelector('.md-search__input') !== null")
    assert browser.see("document.querySelector('.md-logo').href").endswith("/index.html")
    x, y = browser.see(
        "(r => [r.x + 50, r.y + 9])(document.querySelector('.md-search__input').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.wait("document.activeElement.matches('.md-search__input')")
    browser.tell("Input.insertText", text="renaming")
    browser.tell("Input.dispatchKeyEvent", type="keyUp", key="g")
    browser.wait("document.querySelector('.md-search-result__meta').innerText.includes('matching documents')")
    browser.close()


def test_formulas_are_typeset_and_code_is_left_alone() -> None:
    pytest.importorskip("latex2mathml", reason="formulas need the extra docs")
    sys.path.insert(0, str(DOCS / "hooks"))
    typeset = importlib.import_module("formulas").typeset
    for text in ("`S_y`", "# S_y", "```\nS_y $x$\n```", "    Q*", "costs $5 or 6"):
        assert typeset(text) == text
    found = typeset("| S_y | $a|b$ | Q\\* |")
    assert found.count("<math") == 3
    assert found.count("|") == 4  # a formula's own bar would end the cell
    assert not re.search(r"[*_$\\]", found)
