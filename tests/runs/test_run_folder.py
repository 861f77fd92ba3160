"""A run folder never overwrites a run, never shows half a file, and says what is wrong with a damaged one."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.errors import CheckpointError
from softground.runs import RunFolder, environment
from softground.runs.folder import FORMAT, history_digest, plain


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", "hwf")


def test_default_folders_are_named_by_task_and_time_and_never_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [RunFolder.create(None, "hwf").path for _ in range(3)]
    assert len(set(paths)) == 3
    assert all(path.is_dir() and path.parent == Path("runs") for path in paths)
    assert paths[0].match("hwf-[0-9]*-[0-9]*")


def test_a_task_name_cannot_leave_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunFolder.create(None, "../../etc/x y").path.parent == Path("runs")


def test_an_empty_folder_is_taken_and_a_used_one_refused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "hwf").write_config({})
    with pytest.raises(CheckpointError, match=r"not empty.*resume"):
        RunFolder.create(tmp_path, "hwf")
    with pytest.raises(CheckpointError, match="cannot be made: file exists"):
        RunFolder.create(tmp_path / "config.json", "hwf")
    with pytest.raises(CheckpointError, match="cannot be made"):
        RunFolder.create(tmp_path / "config.json" / "below", "hwf")


def test_what_a_killed_beginning_leaves_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / ".config.json.tmp").write_text('{"task": "hw')
    (tmp_path / ".lock").write_text("process 1 on nowhere")
    RunFolder.create(tmp_path, "hwf").write_config({"task": "hwf"})
    assert RunFolder.open(tmp_path).read_config() == {"format": FORMAT, "task": "hwf"}


def test_open_wants_a_run_folder(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(CheckpointError, match=r"not a run folder.*config\.json"):
        RunFolder.open(run.path)
    run.write_config({"task": "hwf"})
    assert RunFolder.open(str(run.path)) == run


def test_config_and_summary_round_trip_in_a_stable_order(run: RunFolder) -> None:
    value: dict[str, Any] = {"z": 1, "a": [1.5, None, True, "γ"], "nested": {"x": 0.1}}
    run.write_config(value)
    run.write_summary(value)
    assert run.read_config() == {"format": FORMAT} | value
    assert run.read_summary() == value
    assert list(run.read_summary()) == ["z", "a", "nested"]
    assert sorted(path.name for path in run.path.iterdir()) == ["config.json", "summary.json"]


def test_values_json_cannot_hold_are_made_plain_or_refused() -> None:
    assert plain({"a": math.nan, "b": [math.inf, -math.inf], 3: (np.int64(4), np.float32(0.5), Fraction(1, 4))}) == {
        "a": None,
        "b": [None, None],
        "3": [4, 0.5, 0.25],
    }
    assert plain(Path("a") / "b") == os.path.join("a", "b")
    with pytest.raises(CheckpointError, match=r"Tensor.*item"):
        plain({"loss": torch.zeros(())})


def test_nan_is_null_on_disk(run: RunFolder) -> None:
    run.write_summary({"loss": math.nan})
    run.append({"loss": math.inf})
    assert run.read_summary() == {"loss": None}
    assert run.read_metrics() == [{"loss": None}]


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"a": NaN}', "[" * 100_000, "\x00\x01"], ids=repr)
def test_damaged_json_is_named(run: RunFolder, text: str) -> None:
    (run.path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json: it .*JSON"):
        run.read_config()


def test_a_folder_of_another_layout_is_refused_by_the_version_it_needs(run: RunFolder) -> None:
    for old in ({"task": "hwf", "options": {"seed": 0}}, {"schema": 1, "task": "hwf"}):
        (run.path / "config.json").write_text(json.dumps(old))
        for read in (run.read_config, run.config_digest):
            with pytest.raises(
                CheckpointError, match=r"config\.json: softground 0\.1\.0 wrote.*Use softground 0\.1\.0"
            ):
                read()
    (run.path / "config.json").write_text(json.dumps({"format": FORMAT + 1, "version": "9.9.9"}))
    with pytest.raises(
        CheckpointError, match=rf"9\.9\.9 wrote .* in format '{FORMAT + 1}', that .* Use softground 9\.9\.9"
    ):
        run.read_config()


def test_missing_summary_and_folder_in_place_of_a_file(run: RunFolder) -> None:
    with pytest.raises(CheckpointError, match=r"missing.*resume the run"):
        run.read_summary()
    (run.path / "summary.json").mkdir()
    with pytest.raises(CheckpointError, match="not a regular file"):
        run.read_summary()


def test_a_failed_write_leaves_the_old_file(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write_config({"version": 1})

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(CheckpointError, match="no space left"):
        run.write_config({"version": 2})
    assert run.read_config()["version"] == 1
    assert [path.name for path in run.path.iterdir()] == ["config.json"]


def test_metrics_append_and_read(run: RunFolder) -> None:
    assert run.read_metrics() == []
    records = [{"epoch": i, "loss": 0.1 * i} for i in range(5)]
    for record in records:
        run.append(record)
    assert run.read_metrics() == records
    assert len((run.path / "metrics.jsonl").read_text().splitlines()) == 5


@pytest.mark.parametrize("count", range(6))
def test_truncate_keeps_the_first_records_byte_for_byte(run: RunFolder, count: int) -> None:
    for i in range(5):
        run.append({"epoch": i})
    lines = (run.path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    run.truncate_metrics(count)
    assert (run.path / "metrics.jsonl").read_bytes() == b"".join(lines[:count])
    run.append({"epoch": "next"})
    assert run.read_metrics()[count:] == [{"epoch": "next"}]


@pytest.mark.parametrize("torn", [b'{"epo', b'{"epoch": 2}', b"\x00\x00\xff"], ids=repr)
def test_a_torn_last_line_is_dropped(run: RunFolder, torn: bytes) -> None:
    whole = [{"epoch": 0}, {"epoch": 1}]
    for record in whole:
        run.append(record)
    path = run.path / "metrics.jsonl"
    good = path.read_bytes()

    path.write_bytes(good + torn)
    assert run.read_metrics() == whole
    run.truncate_metrics(2)
    assert path.read_bytes() == good

    path.write_bytes(good + torn)
    run.append({"epoch": 2})
    assert run.read_metrics() == [*whole, {"epoch": 2}]

    path.write_bytes(torn)
    run.append({"epoch": 0})
    assert run.read_metrics() == [{"epoch": 0}]


def test_truncate_ignores_damage_after_the_records_kept_and_refuses_damage_in_them(run: RunFolder) -> None:
    path = run.path / "metrics.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 3}\n')
    with pytest.raises(CheckpointError, match="line 2 is damaged"):
        run.read_metrics()
    with pytest.raises(CheckpointError, match="line 2 is damaged"):
        run.truncate_metrics(2)
    run.truncate_metrics(1)
    assert run.read_metrics() == [{"a": 1}]


@pytest.mark.parametrize("count", [-1, 3])
def test_truncate_refuses_counts_it_cannot_keep(run: RunFolder, count: int) -> None:
    run.append({"a": 1})
    run.append({"a": 2})
    with pytest.raises(CheckpointError, match="2 complete records"):
        run.truncate_metrics(count)
    assert len(run.read_metrics()) == 2


def test_truncating_absent_metrics_to_nothing_is_fine(run: RunFolder) -> None:
    run.truncate_metrics(0)
    assert run.read_metrics() == []


def test_the_checkpoint_lives_in_the_folder(run: RunFolder) -> None:
    run.write_config({})
    assert not run.has_checkpoint()
    run.save_checkpoint({"w": torch.ones(2)}, {"epoch": 1})
    run.save_checkpoint({"w": torch.zeros(2)}, {"epoch": 2})
    assert run.has_checkpoint()
    assert run.load_checkpoint()[1] == {"epoch": 2}
    assert run.load_checkpoint(previous=True)[1] == {"epoch": 1}


def test_environment_is_json_and_names_the_versions() -> None:
    found = environment()
    assert json.loads(json.dumps(found)) == found
    assert found["torch"].startswith(torch.__version__.partition("+")[0])
    assert found["numpy"] == np.__version__
    assert found["cpus"] >= 1


def test_records_are_kept_only_if_they_are_those_of_the_checkpoint(run: RunFolder) -> None:
    records = [{"epoch": i, "loss": 1 / (i + 1), "seconds": {"total": 0.1}} for i in range(3)]
    for record in records:
        run.append(record)
    first_two = history_digest(history_digest("", records[0]), records[1] | {"seconds": {"total": 7.0}})
    run.truncate_metrics(2, first_two)
    with pytest.raises(CheckpointError, match="not those that the checkpoint was saved with"):
        run.truncate_metrics(1, first_two)
    assert run.read_metrics() == records[:2]


def test_a_stale_lock_does_not_make_a_folder_taken(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("process 1 on here\n")
    RunFolder.create(tmp_path, "hwf")


def test_a_record_that_is_far_too_long_is_not_parsed(run: RunFolder) -> None:
    (run.path / "metrics.jsonl").write_text('{"a": [' + "[]," * 40_000 + "[]]}\n")
    with pytest.raises(CheckpointError, match=r"line 1 is damaged: it is longer than"):
        run.read_metrics()
