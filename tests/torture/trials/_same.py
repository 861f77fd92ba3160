"""What a run leaves that nothing but its seed may decide, and where two runs differ."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

from softground.report.watch import GALLERY
from softground.runs import RunFolder

TIMES = ("seconds", "wall_seconds")


def left_behind(path: Path) -> dict[str, Any]:
    """Checkpoint, metrics, summary, figures before training and file names, all without times and counters of saves."""
    run = RunFolder.open(path)
    tensors, meta = run.load_checkpoint()
    left: dict[str, Any] = {f"tensor {name}": tensor for name, tensor in tensors.items()}
    left |= {f"meta {name}": value for name, value in untimed(meta).items()}
    left["metrics"] = [untimed(record) for record in run.read_metrics()]
    left["before"] = run.read_config().get("before")
    left["summary"] = untimed(run.read_summary()) if (path / "summary.json").exists() else None
    left["files"] = sorted(
        {re.sub(r"-\d{8}-\w{64}", "", file.name) for file in path.iterdir()}
    )  # an old checkpoint may stay
    return left


def untimed(record: Any) -> Any:
    """Without what a clock decides, however deep, nor digests of files that hold times or their own folder's name."""
    if isinstance(record, list):
        return [untimed(value) for value in record]
    if not isinstance(record, dict):
        return record
    kept = [name for name in record if name not in TIMES and not name.endswith("_sha256")]
    return {name: untimed(record[name]) for name in kept}


def assert_same(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Two runs left the same bits; says where they did not."""
    different = sorted(name for name in mine.keys() | theirs.keys() if not _equal(mine.get(name), theirs.get(name)))
    assert not different, f"not as in the unbroken run: {', '.join(different)}"


def assert_gallery(mine: Path, theirs: Path, missing: int) -> None:
    """The watched examples: for people, so a kill may cost a line, but none may differ."""
    lines, expected = (
        [json.loads(line) for line in (run / GALLERY).read_text().splitlines()] for run in (mine, theirs)
    )
    strange = [line["epochs"] for line in lines if line not in expected]
    assert not strange, f"{GALLERY}: the lines after epochs {strange} are not those of the unbroken run"
    done = [line["epochs"] for line in lines]
    assert done == sorted(set(done)), f"{GALLERY}: the lines are of epochs {done}"
    assert len(lines) >= len(expected) - missing, f"{GALLERY}: {len(lines)} lines instead of {len(expected)}"


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    return type(a) is type(b) and bool(a == b)
