"""The way of a batch: how many files and calls of the package a training step goes through, so that it cannot grow."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

import softground
from softground.experiments import Experiment

ROOT = str(Path(softground.__file__).parent)


def way(task: str, **options: Any) -> tuple[int, int]:
    """Files and calls between two steps of the optimiser, of a batch like most."""
    calls: list[str] = []
    marks: list[int] = []
    experiment = Experiment.named(task, device="cpu", network="strided", evaluate_every=9, **options)
    learner = experiment.learner()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            calls.append(frame.f_code.co_filename)

    hook = register_optimizer_step_post_hook(lambda *_: marks.append(len(calls)))
    sys.setprofile(watch)
    try:
        learner.fit(experiment.train, quiet=True)
    finally:
        sys.setprofile(None)
        hook.remove()
    _, begin, end = sorted((b - a, a, b) for a, b in pairwise(marks))[len(marks) // 3]
    return len(set(calls[begin:end])), end - begin


@pytest.mark.parametrize(
    ("options", "most_files", "most_calls"),
    [
        ({"task": "addition", "objective": "sup", "train_size": 600, "epochs": 1}, 10, 29),
        ({"task": "hwf", "image_size": 8, "train_size": 600, "epochs": 1}, 17, 75),
        ({"task": "addition", "train_size": 600, "epochs": 1}, 18, 69),
    ],
    ids=["supervised", "formulas", "addition"],
)
def test_a_batch_goes_through_few_files(options: dict[str, Any], most_files: int, most_calls: int) -> None:
    torch.manual_seed(0)
    files, calls = way(**options)
    assert files <= most_files
    assert calls <= most_calls
