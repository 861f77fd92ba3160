"""``--deterministic``: torch's switches for the length of a run, and a word on what has no deterministic algorithm."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from cli_cases import train
from learner_cases import assert_same_run
from softground.experiments.deterministic import deterministic


def test_switches_hold_for_the_run_and_no_longer(capsys: pytest.CaptureFixture[str]) -> None:
    with deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.backends.cudnn.benchmark
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled()
    assert capsys.readouterr().err == ""


def test_what_has_no_such_algorithm_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> None:
        with deterministic(True):
            for _ in range(3):
                warnings.warn("odd_cuda does not have a deterministic implementation, but you set …", stacklevel=1)
            warnings.warn("something else", stacklevel=1)

    with pytest.warns(UserWarning, match="something else"):
        run()
    said = capsys.readouterr().err
    assert said.count("No deterministic algorithm for: odd_cuda; another run may give other bits.") == 1


def test_a_run_has_it_from_the_command_line(tmp_path: Path) -> None:
    assert train(tmp_path / "a", "best", "--deterministic", "--quiet") == 0
    assert train(tmp_path / "b", "best", "--deterministic", "--quiet") == 0
    assert not torch.are_deterministic_algorithms_enabled()
    assert_same_run(tmp_path / "a", tmp_path / "b")
