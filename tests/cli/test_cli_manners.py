"""What people and scripts expect of a command line: JSON, quiet, exit codes, completion."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_cases import TINY, hurry, train
from softground.cli import COMMANDS, main
from softground.tasks import TASKS

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manners") / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet", "--epochs", "1") == 0
    return folder


def test_train_and_resume_print_one_json_object_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert train(folder, "best", "--json", "--network", "lenet", "--epochs", "1") == 0
    output = capsys.readouterr()
    summary = json.loads(output.out)
    assert output.err == ""
    assert summary["run_folder"] == str(folder)
    written = json.loads((folder / "summary.json").read_text())
    assert summary == written | {"run_folder": str(folder)}
    assert main(["resume", str(folder), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["symbol_accuracy"] == summary["symbol_accuracy"]


def test_a_resumed_run_speaks_again_unless_told_not_to(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Path(shutil.copytree(run, run.parent / "copy"))
    capsys.readouterr()
    assert main(["resume", str(copy)]) == 0
    assert "training examples" in capsys.readouterr().out


def test_report_prints_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"reports": [str(run / "report.html")]}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_names_every_command_and_task(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", shell])
    assert not stop.value.code
    script = capsys.readouterr().out
    for name in [*COMMANDS, *TASKS, "--epochs"]:
        assert name in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to try the script in")
def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    trial = """
        source ./script
        complete_line() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _tyro_softground; echo "${COMPREPLY[*]}"
        }
        complete_line softground ""
        complete_line softground train ""
        complete_line softground train sudoku --siz
    """
    done = subprocess.run(["bash", "-c", trial], cwd=tmp_path, capture_output=True, text=True)
    first, second, third = (line.split() for line in done.stdout.splitlines())
    assert set(COMMANDS) <= set(first), done.stderr
    assert set(TASKS) <= set(second)
    assert third == ["--size"]


def test_a_command_without_what_it_needs_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    alone = [[name] for name in ("predict", "export", "new-task", "completion")]
    for arguments in (*alone, ["completion", "csh"], [*TINY, "--json=3"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error() -> None:
    """As in ``softground completion bash | head -1``."""
    command = [sys.executable, "-m", "softground", "completion", "bash"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        complaint = run.stderr.read().decode()
        assert run.wait(60) == 141
    assert complaint == ""


def test_tasks_are_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    found = {task["name"]: task for task in json.loads(capsys.readouterr().out)["tasks"]}
    assert list(found) == [name for name, task in TASKS.items() if task.__module__.startswith("softground.tasks")]
    assert found["hwf"]["options"]["length"] == 7
    assert found["hwf"]["about"].startswith("Handwritten formulas")
