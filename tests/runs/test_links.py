"""What a run writes stays in its folder, whatever lies there under the names it uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from softground.errors import CheckpointError
from softground.experiments import Place
from softground.files import replace_file
from softground.report import loggers
from softground.runs import RunFolder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", "hwf")


def test_a_link_under_a_name_that_is_written_is_not_followed(run: RunFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    for name in (".config.json.tmp", "summary.json", "metrics.jsonl"):
        (run.path / name).symlink_to(outside)
    run.write_config({"a": 1})
    run.write_summary({"b": 2})
    assert run.read_config()["a"] == 1
    assert run.read_summary() == {"b": 2}
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: a line could not be added"):
        run.append({"c": 3})
    assert outside.read_text() == "precious"
    (run.path / "metrics.jsonl").unlink()
    (run.path / "metrics.jsonl").symlink_to(tmp_path / "not yet")
    run.truncate_metrics(0)
    run.append({"c": 3})
    assert not (tmp_path / "not yet").exists()


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    """Which root could well do: ``softground report RUN --out /dev/null``."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link", tmp_path):
        with pytest.raises(CheckpointError, match="not a regular file"):
            replace_file(path, b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_logs_do_not_go_through_a_link(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loggers, "find_spec", lambda package: package)
    (run.path / "tensorboard").symlink_to(tmp_path)
    with pytest.raises(CheckpointError, match=r": it is a link.*Remove it"):
        loggers.logs(Place(logger="tensorboard"), run, None)
