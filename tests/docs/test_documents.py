"""What the documents say is what the files say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import softground as sg
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


@pytest.mark.filterwarnings("ignore:After")  # forty receipts teach nothing
def test_the_readmes_code_runs() -> None:
    """Its three blocks, with the data that they leave out; the first is the rule of examples/receipts.py."""
    receipts = load(ROOT / "examples" / "receipts.py")
    train = receipts.examples(40, "train")
    names: dict[str, Any] = {"sg": sg, "add_up": receipts.add_up, "images": train.x, "totals": train.y}
    grid = torch.zeros(6, 3, 1, 8, 8)
    names |= {
        "x": grid,
        "y": [3, 7, 0, 12, 5, 20],
        "x_new": grid,
        "y_train": train.y,
        "loader": [([0, 1], train.x[:2])],
    }
    blocks = re.findall(r"```python\n(.*?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block.replace("epochs=15", "epochs=1"), names)
    assert names["rule"].accept is not None
    assert names["model"].predict(grid).shape == (6, 3)
    assert any(p.grad is not None for p in names["network"].parameters())
