"""softground new-task writes something that runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from softground.cli import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    assert main(["new-task", "my_rule", "--out", str(tmp_path / "new")]) == 0
    return tmp_path / "new"


def test_what_it_writes_passes_its_own_tests(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == ["my_rule.py", "test_my_rule.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=written,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_nothing_is_left_to_fill_in(written: Path) -> None:
    for path in written.iterdir():
        text = path.read_text()
        assert "@" not in text
        assert text.startswith('"""My rule: ')
        assert max(map(len, text.splitlines())) <= 120


def test_nothing_is_ever_overwritten(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (written / "my_rule.py").unlink()
    before = (written / "test_my_rule.py").read_text()
    assert main(["new-task", "my_rule", "--out", str(written)]) == 2
    assert "test_my_rule.py exists" in capsys.readouterr().err
    assert not (written / "my_rule.py").exists()
    assert (written / "test_my_rule.py").read_text() == before


@pytest.mark.parametrize("name", ["two words", "3d", "class", "../up", "json", "torch"])
def test_a_name_that_cannot_be_imported(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-task", name, "--out", str(tmp_path)]) == 2
    assert repr(name) in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
