"""The command line: a run folder to keep, figures to trust, help everywhere."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cli_cases import ENVIRONMENT, TINY, hurry, process, read, train
from softground import __version__
from softground.cli import COMMANDS, main
from softground.runs import RunFolder

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of both stages."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    assert train(folder, "paper", "--quiet") == 0
    return folder


def help_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*arguments, "--help-all"]) == 0
    return capsys.readouterr().out


def test_help_is_everywhere_and_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    whole = capsys.readouterr().out
    for command in COMMANDS:
        assert f"\n  {command} " in whole
        assert f"usage: softground {command}" in help_of([command], capsys)
    assert "hwf" in help_of(["train"], capsys)
    text = help_of(["train", "hwf"], capsys)
    for option in (
        "--data {digits,hwf,folder}",
        "--data-dir",
        "--preset {paper,best}",
        "--schedule",
        "--epochs",
        "--seed",
        "--device {auto,cpu,cuda}",
        "--out",
        "--quiet",
    ):
        assert option in text
    for schedule in ("exp", "log", "linear"):
        assert schedule in text
    assert "--json" in help_of(["evaluate"], capsys)
    assert "--previous" in help_of(["resume"], capsys)


def test_a_command_that_was_left_out_brings_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    whole = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize("command", ["train", "inspect"])
def test_a_task_that_was_left_out_brings_the_commands_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of([command], capsys)
    assert main([command]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"]], ids=["alone", "help", "version"])
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    program = "import sys; from softground.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0
    assert "softground" in done.stdout
    assert not {"torch", "numpy", "tyro", "rich"} & set(done.stderr.split())


@pytest.mark.parametrize(
    "words", ["runs", "runs .", "tasks", "train hwf --help", "inspect sums --help-all", "resume -h", "train FILE.py -h"]
)
def test_lists_and_help_do_without_torch(words: str, tmp_path: Path) -> None:
    program = "import sys; from softground.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    whole = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(whole, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not {"torch", "numpy"} & set(done.stderr.split())


def test_the_version_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"softground {__version__}\n"


def test_the_module_runs_as_a_program() -> None:
    tasks = process("tasks")
    output, errors = tasks.communicate(timeout=120)
    assert tasks.returncode == 0, errors
    assert re.search(r"^hwf  \S.*\.$", output, re.MULTILINE)


def test_a_run_folder_holds_config_metrics_summary_and_checkpoint(run: Path) -> None:
    config = read(run / "config.json")
    assert config["task"] == "hwf"
    assert config["recipe"]["preset"] == "paper"
    assert config["recipe"]["problem"]["length"] == 5
    assert config["version"] == __version__
    assert config["place"]["device"] == "cpu"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [(r["stage"], r["epoch"]) for r in lines] == [("I", 0), ("I", 1), ("I", 2), ("II", 0), ("II", 1)]
    for record in lines[:3]:
        for name in (
            "loss",
            "gamma",
            "acceptance",
            "moved",
            "unknown",
            "feasible",
            "train_symbol_accuracy",
            "test_symbol_accuracy",
            "test_calculation_accuracy",
        ):
            assert name in record
        assert set(record["seconds"]) == {"network", "sampling", "solver", "total"}
    names = {path.name for path in run.iterdir()}
    assert {"config.json", "metrics.jsonl", "summary.json"} < names
    assert not [n for n in names if n.endswith((".pt", ".pth", ".pkl", ".ckpt", ".tmp"))]
    tensors, _ = RunFolder.open(run).load_checkpoint()
    assert tensors["objective/0/chains"].shape == (48, 5)


def test_the_summary_has_the_final_figures_and_what_they_were_measured_with(run: Path) -> None:
    summary = read(run / "summary.json")
    for figures in (summary, summary["before"], summary["after_stage_I"], summary["after_stage_II"]):
        assert 0 <= figures["symbol_accuracy"] <= 1
        assert 0 <= figures["calculation_accuracy"] <= 1
    assert summary["symbol_accuracy"] == summary["after_stage_II"]["symbol_accuracy"]
    assert summary["wall_seconds"] > 0
    assert summary["seed"] == 0
    assert summary["epochs"] == 5
    assert summary["versions"]["torch"] == torch.__version__
    assert summary["versions"]["python"]
    assert summary["versions"]["softground"] == __version__


def test_evaluate_repeats_the_summarys_figures(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = read(run / "summary.json")
    assert main(["evaluate", str(run), "--device", "cpu", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    both = ("symbol_accuracy", "calculation_accuracy")
    own = {f"symbol_{name}" for name in ("f1", "f1_all", "collapse", "collapse_all", "ece")}
    assert figures.keys() == {*both, *(f"grammatical_{name}" for name in both), "constrained_symbol_accuracy", *own}
    assert figures == {name: summary[name] for name in figures}
    assert main(["evaluate", str(run), "--device", "cpu"]) == 0
    table = capsys.readouterr().out
    assert f"{summary['symbol_accuracy']:.2%}" in table
    assert f"{summary['calculation_accuracy']:.2%}" in table
    assert "symbol ECE" in table
    assert "collapse" not in table


def test_evaluate_reads_the_previous_checkpoint_too(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--previous", "--json", "--device", "cpu"]) == 0
    last_but_one = RunFolder.open(run).read_metrics()[-2]
    figures = json.loads(capsys.readouterr().out)
    known = {name.removeprefix("test_"): value for name, value in last_but_one.items() if name.startswith("test_")}
    assert figures.items() >= known.items() > {}.items()


def test_two_runs_with_one_seed_are_the_same_and_another_seed_differs(tmp_path: Path, run: Path) -> None:
    assert train(tmp_path / "same", "paper", "--quiet") == 0
    assert train(tmp_path / "other", "paper", "--quiet", "--seed", "1") == 0
    network = {}
    for folder in (run, tmp_path / "same", tmp_path / "other"):
        tensors, _ = RunFolder.open(folder).load_checkpoint()
        network[folder.name] = tensors
    assert all(torch.equal(value, network["same"][name]) for name, value in network["run"].items())
    first = next(name for name in network["run"] if name.startswith("network/"))
    assert not torch.equal(network["run"][first], network["other"][first])


def test_output_that_goes_to_a_file_is_readable_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", "paper") == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "\r" not in output
    epochs = [line for line in output.splitlines() if line.startswith("Stage ")]
    assert len(epochs) == 5
    assert re.fullmatch(
        r"Stage I, epoch 1/3: training answers explained [\d.]+%, held-out calculation accuracy [\d.]+%", epochs[0]
    )
    assert epochs[-1].startswith("Stage II, epoch 2/2: ")
    assert "48 training examples" in output
    assert re.search(r"^held-out answers explained [\d.]+% \(chance [\d.]+%\)", output, re.M)
    assert read(tmp_path / "run" / "summary.json")["verdict"]["sentence"] in output
    assert f"softground open {tmp_path / 'run'}" in output


def test_quiet_shows_no_progress_but_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", "best", "--quiet") == 0
    captured = capsys.readouterr()
    assert "epoch" not in captured.out
    assert "training examples" not in captured.out
    assert "held-out symbols correct" in captured.out
    assert captured.err == ""


def test_supervision_and_every_kernel_and_inverse_can_be_asked_for(tmp_path: Path) -> None:
    short = ["--quiet", "--epochs", "1", "--train-size", "16", "--test-size", "8", "--network", "lenet"]
    for number, more in enumerate(
        (
            ["--objective", "sup"],
            ["--kernel", "uniform", "--inverse", "enumeration", "--schedule", "log"],
            ["--kernel", "collapsed", "--schedule", "linear"],
            ["--kernel", "guided", "--schedule", "exp", "--steps", "2", "--no-augment"],
        )
    ):
        assert main([*TINY, *short, *more, "--out", str(tmp_path / str(number))]) == 0
        assert math.isfinite(RunFolder.open(tmp_path / str(number)).read_metrics()[0]["loss"])
        assert main(["evaluate", str(tmp_path / str(number)), "--json"]) == 0
    assert "after_stage_SUP" in read(tmp_path / "0" / "summary.json")


def test_the_z3_inverse_can_be_asked_for(tmp_path: Path) -> None:
    short = ["--quiet", "--epochs", "1", "--train-size", "8", "--test-size", "4", "--network", "lenet", "--length", "3"]
    assert main([*TINY, *short, "--kernel", "guided", "--inverse", "z3", "--out", str(tmp_path / "z3")]) == 0


def test_the_default_folder_is_a_new_one_under_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    short = [*TINY, "--epochs", "1", "--quiet"]
    assert main(short) == 0
    assert main(short) == 0
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    assert all(folder.name.startswith("hwf-") for folder in folders)
    assert main(["resume", str(folders[0].relative_to(tmp_path)), "--quiet"]) == 0
