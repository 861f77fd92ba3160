"""What the documents say is what the files say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.provenance import read_page

ROOT = Path(__file__).resolve().parents[2]


def test_tables_come_from_the_committed_json() -> None:
    done = subprocess.run([sys.executable, "benchmarks/tables.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demos_picture_is_drawn_from_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    demo = load(ROOT / "benchmarks" / "demo.py")
    run = read_page(demo.RECORD)["runs"]["demo"]
    assert demo.PICTURE.read_text(encoding="utf-8") == demo.picture(run)
    asked = re.search(r"^DEMO \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert asked is not None
    assert asked[1].split() == demo.DEMO


def test_the_readmes_example_is_the_file_and_it_learns() -> None:
    source = (ROOT / "examples" / "own_rule.py").read_text()
    shown = re.search(r"```python\n(.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert shown is not None
    assert shown[1] == source.split('"""\n', 1)[1].strip()
    assert len([line for line in shown[1].splitlines() if line.strip()]) <= 25
    module = load(ROOT / "examples" / "own_rule.py")
    assert module.learner.results_["I"]["symbol_accuracy"] > 0.95
