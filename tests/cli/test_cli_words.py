"""The words of the command line: options are called options, nothing is said twice, all advice can be followed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from cli_cases import ENVIRONMENT, ROOT
from softground.cli import in_options, main
from softground.tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_help_says_a_default_once_and_names_options(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", task, "--help"])
    text = re.sub(r"[│\s]+", " ", capsys.readouterr().out)
    for option in text.split(" --"):
        assert option.count("(default:") <= 1, option
        assert "(default: )" not in option
        assert "(default: None)" not in option
        assert "``" not in option
        assert "_dir" not in option


def test_a_message_names_the_option_and_not_the_parameter() -> None:
    assert in_options("give its folder (data_dir).") == "give its folder (--data-dir)."
    assert in_options("/home/me/data_dir is empty") == "/home/me/data_dir is empty"
    assert in_options("train without them: unexplained='drop'.") == "train without them: --unexplained drop."
    for path in ("'/home/me/size=4'", "/home/me/lr=0.1/run", "/home/me/a run/lr=0.1/b"):
        assert in_options(path) == path


@pytest.mark.parametrize("folder", ["src", "docs", "examples", "README.md"])
def test_nobody_is_told_to_install_what_no_index_has(folder: str) -> None:
    root = ROOT / folder
    for path in [root] if root.is_file() else [p for p in root.rglob("*") if p.suffix in (".py", ".md", ".html")]:
        assert not re.search(r"pip install '?\"?softground\b", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(("words", "code"), [("--version >&-", 0), ("--version >&- 2>&-", 0), ("nonsense 2>&-", 2)])
def test_closed_streams_are_no_error(words: str, code: int) -> None:
    command = f"{sys.executable} -m softground {words}"
    done = subprocess.run(command, shell=True, env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr == ""


@pytest.mark.parametrize("task", [["hwf"], ["sudoku", "--size", "9"]])
def test_memory_is_checked_before_it_is_asked_for(task: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Training and test data together, before any image is drawn."""
    assert main(["train", *task, "--train-size", "2000", "--test-size", "2000000", "--image-size", "1024"]) == 2
    assert "ask for fewer or smaller ones" in capsys.readouterr().err
    assert main(["train", *task, "--image-size", "4096"]) == 2
    assert "--image-size is 4096" in capsys.readouterr().err
