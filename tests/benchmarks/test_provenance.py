"""Where a number comes from."""

from __future__ import annotations

import doctest
import subprocess
from pathlib import Path

import pytest

from softground.runs import environment

if not (Path(__file__).resolve().parents[2] / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of this distribution", allow_module_level=True)

import benchmarks.provenance
from benchmarks.provenance import ROOT, command, commit, provenance


def test_its_examples() -> None:
    found = doctest.testmod(benchmarks.provenance)
    assert found.attempted > found.failed == 0


def test_the_commit_says_where_files_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOFTGROUND_COMMIT", raising=False)
    answers = {"ls-files": "", "rev-parse": "0123456789ab", "status": ""}
    monkeypatch.setitem(commit.__globals__, "git", lambda verb, *rest: answers[verb])
    assert commit() == "0123456789ab"
    answers["status"] = " M src/softground/task.py"
    assert commit() == "0123456789ab+edits"

    def no_repository(*arguments: str) -> str:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setitem(commit.__globals__, "git", no_repository)
    assert commit() == "unknown"
    monkeypatch.setenv("SOFTGROUND_COMMIT", "abc")
    assert commit() == "abc"


def test_a_tree_in_another_repository_has_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where the package is installed in a project that is a repository itself."""
    monkeypatch.delenv("SOFTGROUND_COMMIT", raising=False)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setitem(commit.__globals__, "ROOT", tmp_path)
    assert commit() == "unknown"


def test_a_command_names_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(ROOT / "benchmarks" / "step.py"), "--data-dir", "/secret", "--seed", "3"])
    found = provenance()
    assert found["command"] == "python benchmarks/step.py --data-dir DIR --seed 3"
    assert found["environment"] == environment()
    assert command(["/elsewhere/run.py", "a b"]) == "python run.py 'a b'"
