"""Sums of rows of digits of several lengths."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from softground.cli import main
from softground.data.digits import load_digits
from softground.errors import DataError
from softground.experiments import Experiment
from softground.tasks.sums import Sums, sums_task


def test_every_image_is_used_once_and_lengths_take_turns() -> None:
    split = Sums(digits=(2, 4)).load(0)
    pools = load_digits("digits", None)
    for data, pool in zip((split.train, split.test), pools[:2], strict=True):
        rounds = len(pool.labels) // 9
        assert [len(part) for part in data.parts.values()] == [rounds] * 3
        assert [len(data[i][0]) for i in range(6)] == [2, 3, 4, 2, 3, 4]
        shown = torch.cat([part.symbols.flatten() for part in data.parts.values()]).bincount(minlength=10)
        there = torch.from_numpy(pool.labels).long().bincount(minlength=10)
        assert bool((shown <= there).all())
        assert int((there - shown).sum()) == len(pool.labels) % 9
        for part in data.parts.values():
            assert part.y == part.symbols.sum(1).tolist()


def test_the_law_of_a_sum() -> None:
    task = sums_task(3)
    z = task.space.states(torch.arange(1000))
    y = task.constraint.encode([7])
    assert task.feasible(z, y.expand(1000)).tolist() == (z.sum(1) == 7).tolist()
    assert task.compute(z[[123]]) == [6]


@pytest.mark.parametrize("digits", [(), (1, 3), (3, 2, 4), (2, 101)])
def test_rows_that_are_refused(digits: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="from 2 to 100"):
        Sums(digits=digits).load(0)


def test_a_run_of_each_preset(tmp_path: Any) -> None:
    for preset in ("best", "paper"):
        tiny = ["--digits", "2", "3", "--train-size", "20", "--epochs", "1", "--network", "lenet", "--device", "cpu"]
        assert main(["train", "sums", "--preset", preset, *tiny, "--out", str(tmp_path / preset)]) == 0
    made: Any = Experiment.named("sums", digits=(4,), train_size=8)
    assert list(made.train.parts) == [4]
    with pytest.raises(DataError, match="training rows"):
        Experiment.named("sums", train_size=10**6)
