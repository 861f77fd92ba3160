"""Bad input ends with exit code 2 and a paragraph, never with a traceback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_cases import TINY, hurry, process, train
from softground.cli import COMMANDS, main
from softground.runs import RunFolder, checkpoint
from softground.tasks import TASKS

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet") == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, to be damaged."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The message with which a command refuses."""
    capsys.readouterr()
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("softground: ")
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--length", "4"], "length 4"),
        (["--epochs", "0"], "Stage I has 0 epochs"),
        (["--batch-size", "0"], "--batch-size 0 was given"),
        (["--steps=-1"], "--steps -1 was given"),
        (["--evaluate-every", "0"], "--evaluate-every 0 was given"),
        (["--learning-rate", "-1"], "Invalid learning rate: -1"),
        (["--gamma", "0"], "0"),
        (["--train-size", "0"], "0"),
        (["--image-size", "2", "--network", "lenet"], "2"),
        (["--data", "hwf", "--data-dir", "/nonexistent"], "/nonexistent"),
        (["--data", "folder", "--data-dir", "/nonexistent"], "/nonexistent"),
        (["--inverse", "table", "--length", "13"], "limit"),
        (["--kernel", "exact", "--inverse", "enumeration"], "guided kernel"),
        (["--kernel", "guided", "--length", "1"], "nothing to project"),
        (["--device", "cuda"], "no GPU"),
        (["--length", "1" + "0" * 15], "from 1 to 35"),
        (["--train-size", "1" + "0" * 15], "bytes of memory: ask for fewer"),
        (["--epochs", "1" + "0" * 400], "000… was given"),
        (["--data", "hwf", "--data-dir", "~nobody-at-all"], "~nobody-at-all was given, which cannot be used"),
        (["--tyro-print-completion", "bash"], "softground completion"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_impossible_options(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert words in refusal([*TINY, "--epochs", "1", *arguments, "--out", str(tmp_path / "run")], capsys)


@pytest.mark.parametrize("arguments", [["--preset", "worst"], ["--epochs", "many"], ["--nonsense"]], ids=" ".join)
def test_options_that_do_not_parse_end_with_two_as_well(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "hwf", *arguments])
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_unknown_command_or_task_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(["dance"], capsys)
    assert all(command in message for command in COMMANDS)
    assert "dance was given to softground train; expected a task: addition, " in refusal(["train", "dance"], capsys)


def test_inspect_says_what_it_looks_at(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(["inspect", str(run), "--json"], capsys)
    assert f"{run} was given to softground inspect; expected a task: addition, " in message
    assert "sg.Cnf.read('rule.cnf', head='site')" in refusal(["inspect", "rule.cnf"], capsys)


def test_a_folder_that_is_taken(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in run.iterdir())
    message = refusal([*TINY, "--out", str(run)], capsys)
    assert "not empty" in message
    assert str(run) in message
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_name_with_brackets_is_shown_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "[bold]a[/nonsense] b"
    assert str(folder) in refusal(["evaluate", str(folder)], capsys)
    assert train(folder, "best", "--network", "lenet") == 0
    assert f"Run folder: {folder}" in capsys.readouterr().out
    assert main(["evaluate", str(folder)]) == 0


@pytest.mark.parametrize("command", ["evaluate", "resume"])
def test_what_is_not_a_run_folder(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no such folder" in refusal([command, str(tmp_path / "nowhere")], capsys)
    assert "config.json" in refusal([command, str(tmp_path)], capsys)


@pytest.mark.parametrize("command", ["evaluate", "resume"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "list"),
        ('{"task": "hwf", "options": {}}', "Use softground 0.1.0"),
        ('{"format": 3, "task": "hwf"}', "a run of another program"),
        ('{"format": 3, "task": "hwf", "recipe": {}}', "holds no recipe"),
        ({"task": "dance"}, "dance"),
        ({"problem": {"length": "long"}}, "length"),
        ({"problem": {"colour": "red"}}, "colour"),
        ({"colour": "red"}, "colour"),
        ({"epochs": "three"}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"seed": None}, "seed"),
        ({"inverse": ""}, "config.json names the inverse ''"),
        ({"network": "red"}, "config.json names the network 'red'"),
        ({"preset": "worst"}, "its settings are not those"),
    ],
    ids=repr,
)
def test_a_config_that_was_tampered_with(
    command: str, change: str | dict[str, object], words: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "config.json"
    if isinstance(change, dict):
        config = json.loads(path.read_text())
        config["recipe"] |= change
        change = json.dumps(config)
    path.write_text(change)
    assert words in refusal([command, str(run)], capsys)


def test_a_checkpoint_that_is_missing_or_damaged(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    current = max(run.glob("checkpoint-*.safetensors"))
    current.write_bytes(current.read_bytes()[:-1] + b"?")
    for command in ("evaluate", "resume"):
        assert "--previous" in refusal([command, str(run)], capsys)
        assert main([command, str(run), "--previous"]) == 0
    for path in run.glob("checkpoint-*.safetensors"):
        path.unlink()
    assert "no checkpoint" in refusal(["evaluate", str(run)], capsys)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"network": "convnet"}, "network.parameters was"),
        ({"seed": 1}, "seed was 0, is 1"),
        ({"learning_rate": 0.5}, "stages.I.optimizer.lr was 0.005, is 0.5"),
        ({"problem": {"length": 5, "train_size": 47, "test_size": 24, "image_size": 8}}, "examples were 48, are 47"),
    ],
    ids=repr,
)
def test_settings_that_are_not_those_of_the_checkpoint(
    change: dict[str, object], named: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    config["recipe"] |= change
    path.write_text(json.dumps(config))
    message = refusal(["evaluate", str(run)], capsys)
    assert f"{path}: its settings are not those that the checkpoint was made with" in message
    assert "Restore" in message
    message = refusal(["resume", str(run)], capsys)
    assert "is not this one: " in message
    assert named in message


def test_what_decides_nothing_may_change(run: Path, tmp_path: Path) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    for place in (
        config["place"] | {"data_dir": str(tmp_path), "device": "auto", "logger": "tensorboard"},
        None,
        "home",
    ):
        path.write_text(json.dumps(config | {"place": place}))
        assert main(["evaluate", str(run)]) == 0


def test_a_checkpoint_of_another_network(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a forger would leave it: the checkpoint says that it belongs to these settings."""
    path = run / "config.json"
    config = json.loads(path.read_text())
    config["recipe"]["network"] = "convnet"
    path.write_text(json.dumps(config))
    folder = RunFolder.open(run)
    tensors, meta = checkpoint.load(run)
    folder.save_checkpoint(tensors, meta | {"config_sha256": folder.config_digest()})
    for command, words in (("evaluate", "does not fit"), ("resume", "network.parameters was")):
        capsys.readouterr()
        assert main([command, str(run)]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "resume", "report", "predict"])
def test_a_name_that_is_too_long(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["0.png"] if command == "predict" else []
    assert "name too long" in refusal([command, "n" * 300, *more], capsys)


def test_the_systems_own_errors_are_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, words in (
        (PermissionError(13, "Permission denied", "x"), "Permission denied"),
        (MemoryError("no"), "less"),
    ):

        def fail(self: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("softground.cli.tasks.Command.run", fail)
        assert words in refusal(["tasks"], capsys)


def test_a_name_that_is_no_text_is_printed_all_the_same(tmp_path: Path) -> None:
    """As a process of its own: output is as strict as a terminal's."""
    folder = tmp_path / "raw\udcff"
    with process("new-task", "mine", "--out", str(folder)) as run:
        out, err = run.communicate()
    assert (run.returncode, err) == (0, "")
    assert "raw" in out
    assert (folder / "mine.py").exists()


def test_options_before_the_task_are_told_where_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    text = refusal(["train", "--epochs", "5", "hwf"], capsys)
    assert text == (
        "softground: SoftgroundError: --epochs was given to softground train; the task comes first: "
        f"{', '.join(sorted(TASKS))}. As in softground train hwf --epochs 5.\n"
    )


def test_files_that_are_not_what_was_asked_for(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.png").write_text("no picture")
    (tmp_path / "x.yaml").write_text("epochs: [1")
    message = refusal(["evaluate", str(run), "--examples", str(tmp_path / "x.png")], capsys)
    assert "x.png is not an .npz file" in message
    assert "pickle" not in message
    folder = refusal(["predict", str(run), "--strip", str(tmp_path)], capsys)
    assert "it is a folder; give the image files in it" in folder
    assert "1 image was given; an example has" in refusal(["predict", str(run), str(tmp_path / "x.png")], capsys)
    lines = refusal(["train", "addition", "--config", str(tmp_path / "x.yaml")], capsys).strip().splitlines()
    assert len(lines) == 1
    seeds = refusal(["train", "addition", "--seeds", "4", "4"], capsys)
    assert "two or more seeds that differ, or --seed 4 for one run" in seeds


@pytest.mark.parametrize("arguments", [["--learning-rate", "nan"], ["--noise", "0.1", "--inverse", "enumeration"]])
def test_refused_settings_leave_no_run_folder(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal([*TINY, "--epochs", "1", *arguments], capsys)
    assert list(tmp_path.glob("runs/*")) == []
