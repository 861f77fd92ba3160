"""NaN and infinity on a GPU, where the answer about a batch is read one batch late.

The cases of :mod:`torture.trials.nonfinite`: the very batch must be named although the next has begun, and nothing may
be saved meanwhile. Healed runs must end with the same bits, so torch is asked for deterministic algorithms.
"""

from __future__ import annotations

from pathlib import Path

import torch

from softground.experiments.place import deterministic

from ..trial import Tally, Trial, Unavailable
from . import nonfinite


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Hurt so many runs, by all kinds of faults in turn."""
    if not torch.cuda.is_available():
        raise Unavailable("torch sees no GPU")
    with deterministic(True):
        nonfinite.run(tally, cases, seed, folder, device="cuda")


TRIAL = Trial(
    key="nonfinite_gpu",
    row=81,
    what="the same on a GPU, which learns of a bad batch one batch late",
    must_hold="the same",
    full=120,
    short=21,
    run=run,
)
