"""Settings of the peers are chosen on training examples put away: no test example is read, and nobody is favoured."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchmarks.provenance import read_page

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"

pytestmark = pytest.mark.skipif(not PEERS.is_dir(), reason="the benchmarks are not part of this distribution")


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module("tune")


def ran(label: str, seed: int, accuracy: float, **more: Any) -> dict[str, Any]:
    about = {"commit": "abc", "command": "python tune.py", "environment": {"gpu": None, "cpus": 4}, "threads": 1}
    return about | {"status": "ran", "seed": seed, "final": {"accuracy": accuracy}, "limit_seconds": 70.0} | more


def test_rows_of_a_task_have_equally_many_candidates_and_rows_are_what_was_chosen(tune: ModuleType) -> None:
    settings, rows = importlib.import_module("settings"), importlib.import_module("rows").ROWS
    for names in importlib.import_module("table").TUNED.values():
        assert len({len(settings.CANDIDATES[name]) for name in names}) == 1
    for name, candidates in settings.CANDIDATES.items():
        assert len(set(candidates.values())) == len(candidates)
        assert rows[name].options == settings.told(name)
        label = next(iter(candidates))
        assert tune.tried(name, label).options == (*settings.told(name, label), "--validate", "0.2")
    assert rows["klay-same"].options == ("--recipe", "same", *settings.told("softground"))


def test_no_test_example_is_read(tune: ModuleType, tmp_path: Path) -> None:
    harness = importlib.import_module("harness")
    images = np.arange(10, dtype=np.uint8)[:, None, None, None].repeat(2, 1)
    np.savez(tmp_path / "a.npz", train_images=images, train_symbols=images[..., 0, 0], train_answers=images[:, 0, 0, 0])
    given = argparse.Namespace(data=tmp_path / "a.npz", validate=0.3, seed=0, device="cpu")  # no test examples there
    train, held = harness.read(given)
    assert (len(train.images), len(held.images)) == (7, 3)
    assert sorted(train.answers.tolist() + held.answers.tolist()) == list(range(10))
    assert (held.images[:, 0, 0, 0, 0] * 255).round().tolist() == held.answers.tolist()
    again, other = (harness.read(argparse.Namespace(**vars(given) | {"seed": seed}))[1] for seed in (0, 1))
    assert again.answers.tolist() == held.answers.tolist() != other.answers.tolist()


def test_the_highest_mean_is_chosen_once_all_were_run(tune: ModuleType) -> None:
    labels = list(tune.CANDIDATES["softground"])
    runs = {f"{label} | {seed}": ran(label, seed, 0.5 + seed / 10) for label in labels for seed in range(2)}
    assert tune.judged("softground", runs)["choice"] == labels[0]  # of equals, the first
    runs[f"{labels[2]} | 0"] = ran(labels[2], 0, 0.8)
    assert tune.judged("softground", runs)["choice"] == labels[2]
    crashed = {"status": "crashed", "reason": "", "seed": 1}
    found = tune.judged("softground", runs | {f"{labels[2]} | 1": crashed})
    assert (found["choice"], found["candidates"][labels[2]]["mean"]) == (labels[0], None)
    del runs[f"{labels[1]} | 1"]
    assert tune.judged("softground", runs)["choice"] is None


def test_what_was_run_is_kept_and_not_repeated(
    tune: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def measured(row: Any, seed: int, given: argparse.Namespace) -> dict[str, Any]:
        asked.append(tune.runner(row))
        return ran("", seed, len(asked) / 100, runner=tune.runner(row), limit_seconds=given.seconds)

    monkeypatch.setattr(tune, "measured", measured)
    monkeypatch.setattr(tune, "prepared", lambda row, given: tmp_path)
    how = ["--data-dir", "DIR", "--only", "softground", "--out", str(tmp_path / "choice.json"), "--seeds"]
    tune.main([*how, "1"])
    assert len(asked) == len(set(asked)) == len(tune.CANDIDATES["softground"])
    tune.main([*how, "2"])
    assert len(asked) == 2 * len(tune.CANDIDATES["softground"])
    page = read_page(tmp_path / "choice.json")
    assert {"rule", "commit", "command", "environment"} <= page.keys()
    assert page["groups"]["softground"]["choice"]


def test_the_page_says_how_settings_were_chosen(
    tune: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, settings = importlib.import_module("table"), importlib.import_module("settings")
    monkeypatch.setattr(table, "CHOICE", tmp_path / "choice.json")
    assert "on pairs were chosen by looking at test figures" in table.choice({})
    groups = {}
    for name in table.TUNED["pairs"]:
        own = settings.CHOSEN[name]
        runs = {f"{label} | 0": ran(label, 0, 0.9 + 0.05 * (label == own)) for label in settings.CANDIDATES[name]}
        groups[name] = tune.judged(name, runs)
    table.CHOICE.write_text(json.dumps({"groups": groups}))
    said = table.choice({})
    assert "on pairs were chosen on validation data: 6 candidates each, judged by 20 % of the training" in said
    assert f"| softground, addition | **{settings.CHOSEN['softground']}** | 95.00 (95.00) |" in said
    assert "on formulas are those of the preset" in said
    groups["softground"]["choice"] = "another"
    table.CHOICE.write_text(json.dumps({"groups": groups}))
    assert "on pairs were chosen by looking at test figures" in table.choice({})
