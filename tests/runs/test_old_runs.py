"""Run folders and saved models of softground 0.3.0: they open, report, predict and compare."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import softground as sg
from softground.cli import main
from softground.cli.given import expanded
from softground.errors import CheckpointError
from softground.experiments import Experiment
from softground.experiments.named import recipe_from, recipe_of
from softground.networks import IMAGE_NETWORKS
from softground.networks.blueprint import LAYERS
from softground.retired import MEMBERS, SETTINGS, Retired, Setting
from softground.runs import RunFolder
from softground.runs.folder import config_digest

ROOT = Path(__file__).resolve().parents[2]
OLD = ROOT / "tests" / "fixtures" / "old_runs"
PREDICTED: dict[str, Any] = json.loads((OLD / "predictions.json").read_text())
RUNS = sorted({*PREDICTED} - {"rule"})
WHOLE = ("formulas", "mapo")  # with a checkpoint


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network that the runs name."""
    monkeypatch.setitem(IMAGE_NETWORKS, "tiny", lambda _, outputs: nn.Sequential(nn.Flatten(), nn.Linear(16, outputs)))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A copy of the folders, to write in."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def inputs(shape: Any) -> torch.Tensor:
    count = int(torch.tensor(list(shape)).prod())
    return (torch.arange(5 * count) % 17 / 16).reshape(5, *shape)


@pytest.mark.parametrize("name", sorted({*PREDICTED} - {"mixture"}))
def test_models_predict_what_they_did(name: str) -> None:
    folder = OLD / name if name == "rule" else OLD / name / "model"
    model = sg.load(folder, device="cpu")
    assert model.predict_proba(inputs(model.shape)).argmax(-1).tolist() == PREDICTED[name]


def test_lists_compares_and_reports(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", str(runs), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert {each["state"] for each in listed} == {"finished"}
    assert len(listed) == len(RUNS)
    every = [str(runs / name) for name in RUNS]
    assert main(["runs", "compare", *every, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["runs"]
    assert all(any(value is not None for value in each["figures"].values()) for each in compared)
    assert main(["report", *every]) == 0
    assert "without examples" not in capsys.readouterr().err
    assert all((runs / name / "report.html").is_file() for name in RUNS)


@pytest.mark.parametrize("name", WHOLE)
def test_evaluates_and_predicts(name: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(runs / name), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    summary = json.loads((runs / name / "summary.json").read_text())
    assert figures["symbol_accuracy"] == pytest.approx(summary["symbol_accuracy"], abs=1e-9)
    image = runs / "digit.png"
    Image.fromarray(np.full((4, 4), 128, np.uint8)).save(image)
    assert main(["predict", str(runs / name), *[str(image)] * 3, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 1


def test_a_run_is_repeated(runs: Path, tmp_path: Path) -> None:
    words = ["train", "hwf", "--like", str(runs / "formulas"), "--out", str(tmp_path / "again"), "--quiet"]
    assert main([*words, "--train-size", "20"]) == 0


def test_an_unfinished_run_names_the_version_that_resumes_it(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "formulas" / "summary.json").unlink()
    assert main(["resume", str(runs / "formulas"), "--quiet"]) == 2
    assert "Resume it with softground 0.3.0, or start a new run." in said(capsys)


def test_settings_that_had_no_effect_are_ignored(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = json.loads((runs / "formulas" / "config.json").read_text())
    config["recipe"] |= {"old": 1, "older": "task"}
    config["place"] |= {"farm": "tcp://host"}
    (runs / "formulas" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="settings that are not known here: 'old', 'older'"):
        recipe_of(RunFolder(runs / "formulas"))
    for name, neutral in {"old": 1, "older": "task", "farm": None}.items():
        monkeypatch.setitem(SETTINGS, name, Setting(neutral, "Leave it out."))
    assert recipe_of(RunFolder(runs / "formulas")) == recipe_of(RunFolder(OLD / "formulas"))
    assert Experiment.of_run(RunFolder(runs / "formulas")).recipe is not None  # where it ran decides nothing
    assert main(["runs", "compare", str(OLD / "formulas"), str(runs / "formulas"), "--json"]) == 0
    assert not [name for name in json.loads(capsys.readouterr().out)["settings"] if "old" in name]
    (tmp_path / "options.json").write_text('{"old": 1, "epochs": 3}')
    assert expanded(["hwf", "--config", str(tmp_path / "options.json")])[:3] == ["hwf", "--epochs", "3"]


def test_a_setting_that_had_an_effect_is_refused_where_it_is_needed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SETTINGS, "old", Setting(0.0, "Clip it."))
    old = str(changed(runs / "formulas", old=0.5))
    assert main(["report", old]) == main(["evaluate", old]) == 0
    assert main(["runs", "compare", old, str(OLD / "formulas")]) == 0
    assert "without examples" not in capsys.readouterr().err
    refused = "old=0.5 was given, which is gone. Clip it. This version opens, reports and compares the run; for"
    for words in (["resume", old], ["train", "hwf", "--like", old]):
        assert main(words) == 2
        assert f"{refused} anything else use softground 0.3.0." in said(capsys)
    (tmp_path / "options.toml").write_text("old = 0.5")
    assert main(["train", "hwf", "--config", str(tmp_path / "options.toml")]) == 2
    assert "Retired: old=0.5 was given, which is gone. Clip it." in said(capsys)


def test_a_method_that_has_moved(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MEMBERS, ("objective", "theirs"), "Use python -m papers.li2023 train.")
    old = str(changed(runs / "mapo", objective="theirs"))
    assert main(["report", old]) == main(["evaluate", old]) == main(["runs", "compare", old, str(OLD / "sup")]) == 0
    assert "without examples" not in capsys.readouterr().err
    for words in (["resume", old], ["train", "hwf", "--like", old]):
        assert main(words) == 2
        assert "objective='theirs' was given, which is gone. Use python -m papers.li2023 train." in said(capsys)
    assert main(["train", "hwf", "--objective", "theirs"]) == 2
    assert "Retired: --objective theirs is gone. Use python -m papers.li2023 train." in said(capsys)
    with pytest.raises(Retired, match="objective='theirs' was given, which is gone"):
        Experiment.named("hwf", objective="theirs")


def test_a_network_that_is_gone(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(LAYERS, "softground.PerSite")
    monkeypatch.setitem(MEMBERS, ("layer", "softground.PerSite"), "Train a lenet.")
    with pytest.raises(CheckpointError, match=r"'softground.Mixture' is gone.*Use softground 0.3.0 for it"):
        sg.load(OLD / "mixture" / "model")
    with pytest.raises(CheckpointError, match=r"is gone. Train a lenet. Use softground 0\.3\.0 for it\.$"):
        sg.load(runs / "formulas" / "model")
    assert main(["report", str(runs / "formulas")]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "hwf", "--gone", "2"], "Retired: --gone is gone. Use another."),
        (["train", "addition", "--gone=2"], "Retired: --gone is gone. Use another."),
        (["report", "runs/a", "--no-gone"], "Retired: --no-gone is gone. Use another."),
        (["train", "hwf", "--usage", "guessed"], "Retired: --usage guessed is gone. Use uniform."),
        (["train", "fortunes"], "Retired: The task fortunes is gone. Use hwf."),
    ],
)
def test_options_that_are_gone(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SETTINGS, "gone", Setting(1, "Use another."))
    monkeypatch.setitem(MEMBERS, ("usage", "guessed"), "Use uniform.")
    monkeypatch.setitem(MEMBERS, ("task", "fortunes"), "Use hwf.")
    assert main(words) == 2
    assert message in said(capsys)


def test_recipes_of_records_are_read_or_refused_with_a_sentence() -> None:
    read, unread = 0, list[str]()
    older = "settings that are not known here: '(elastic|draws)'"  # which 0.3.0 did not read either
    for path in sorted((ROOT / "benchmarks" / "results").rglob("*.json")):
        for recipe in recipes(json.loads(path.read_text())):
            try:
                recipe_from(recipe, path)
                read += 1
            except Retired:
                pass
            except CheckpointError as error:
                unread.append(str(error))
    assert read > 200
    assert not [words for words in unread if not re.search(older, words)]


def recipes(record: Any) -> Iterator[dict[str, Any]]:
    """All recipes in a record, however deep."""
    if isinstance(record, dict) and isinstance(record.get("problem"), dict) and "task" in record:
        yield record
    for part in record.values() if isinstance(record, dict) else record if isinstance(record, list) else ():
        yield from recipes(part)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def changed(folder: Path, **recipe: Any) -> Path:
    """A run folder with another recipe, as if its checkpoint had been made with it."""
    config = json.loads((folder / "config.json").read_text())
    config["extended"] = [config_digest(config)]
    config["recipe"] |= recipe
    (folder / "config.json").write_text(json.dumps(config))
    return folder
