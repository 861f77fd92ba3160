"""Settings of the peers are chosen on training examples put away: no test example is read, and nobody is favoured."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"

pytestmark = pytest.mark.skipif(not PEERS.is_dir(), reason="the benchmarks are not part of this distribution")


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module("tune")


def ran(label: str, seed: int, accuracy: float, **more: Any) -> dict[str, Any]:
    about = {"commit": "abc", "command": "python tune.py", "environment": {"gpu": None, "cpus": 4}, "threads": 1}
    return about | {"status": "ran", "seed": seed, "final": {"accuracy": accuracy}, "limit_seconds": 70.0} | more


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
