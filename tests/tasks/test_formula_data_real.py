"""The real HWF archive, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from softground.tasks.formulas.data import hwf, load

DATA = Path(os.environ.get("SOFTGROUND_DATA", Path(__file__).parents[3] / "shared" / "data"))

pytestmark = pytest.mark.skipif(
    not (DATA / "hwf.npz").is_file(), reason="no hwf.npz in SOFTGROUND_DATA or ../shared/data"
)


def test_standard_split() -> None:
    data = load("hwf", data_dir=DATA)
    assert data.train.x.shape == (6000, 7, 1, 45, 45)
    assert data.test.x.shape == (1200, 7, 1, 45, 45)
    assert data.train.x.float().mean() < 40
    assert "72% of whose test slots" in data.note


def test_writer_split() -> None:
    found = hwf.read_archive(DATA / "hwf.npz", 7, (None, None))
    assert found.writers is not None
    assert found.labels is not None
    sides = hwf.divide(found, found.writers, found.labels)
    trained, tested = (set(found.writers[indices].tolist()) for indices in sides)
    assert trained.isdisjoint(tested)
    assert {"", "Unknown"}.isdisjoint(trained | tested)
    counts = [np.bincount(found.labels[indices], minlength=13) for indices in sides]
    share = counts[1] / (counts[0] + counts[1])
    assert ((share > 0.15) & (share < 0.25)).all()
    assert 0.18 < len(sides[1]) / (len(sides[0]) + len(sides[1])) < 0.22

    data = load("hwf", data_dir=DATA, split="writer", train_size=1000)
    standard = load("hwf", data_dir=DATA, train_size=1000)
    assert data.train.y == standard.train.y
    pictures = [{image.tobytes() for image in part.x.flatten(0, 2).numpy()} for part in (data.train, data.test)]
    assert pictures[0].isdisjoint(pictures[1])
