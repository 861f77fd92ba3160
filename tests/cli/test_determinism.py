"""``--deterministic``: torch's switches for the length of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from cli_cases import train
from learner_cases import assert_same_run
from softground import Learner
from softground.experiments import Experiment
from softground.experiments.place import deterministic


def test_switches_hold_for_the_run_and_no_longer() -> None:
    with deterministic():
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.backends.cudnn.benchmark
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled()


def test_a_run_has_it_from_the_command_line(tmp_path: Path) -> None:
    assert train(tmp_path / "a", "best", "--deterministic", "--quiet") == 0
    assert train(tmp_path / "b", "best", "--deterministic", "--quiet") == 0
    assert not torch.are_deterministic_algorithms_enabled()
    assert_same_run(tmp_path / "a", tmp_path / "b")


def test_an_experiment_has_it_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    fit = Learner.fit

    def watched(self: Learner, *given: Any, **named: Any) -> Learner:
        seen.append(torch.are_deterministic_algorithms_enabled())
        return fit(self, *given, **named)

    monkeypatch.setattr(Learner, "fit", watched)
    given = {"train_size": 32, "epochs": 1, "network": "lenet", "device": "cpu"}
    for wanted in (True, False):
        Experiment.named("addition", deterministic=wanted, **given).run(tmp_path / str(wanted), silent=True)
    assert seen == [True, False]
