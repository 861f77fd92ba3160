"""Connectivity as a walk meets it: chains that are led from one solution to another.

The paper counts "the number of random walk steps needed for the transition from the initial solution to a target
solution". A free walk meets a given one of 10²¹ solutions never, so the target is made attractive: the belief prefers
its symbols, as a trained network does. A chain that arrives proves the two connected; one that does not arrive in time
proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import SoftgroundError
from ..kernels import Kernel
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .sample import Sample
from .time_limit import TimeLimit

PAIRS = 32
PAIRS_UNLISTED = 8  # where S_y cannot be listed, and steps cost more
STEPS = 200
PULL = 4.0  # log-odds of the target's symbol against each other one


@dataclass(frozen=True)
class Led:
    """How many chains arrived, after how many steps, and how much of the target the others had."""

    pairs: int
    arrived: float
    steps: float | None  # mean over those that arrived, of ``allowed``
    agreement: float  # share of sites that are the target's in the end
    allowed: int  # steps that a chain was given

    def __str__(self) -> str:
        end = f"after {self.steps:.0f} steps on average" if self.steps is not None else f"in {self.allowed} steps"
        rest = "" if self.arrived == 1 else f"; in the end {self.agreement:.0%} of the sites were the target's"
        return f"{self.arrived:.0%} of the chains led from one solution to another arrived {end}{rest}"


def lead(space: Categorical, kernel: Kernel, sample: Sample, limit: TimeLimit, seed: int) -> Led | None:
    """Lead chains from solution to solution; None where no answer has two, or the kernel cannot be used."""
    pairs = sample.pairs(PAIRS if sample.listed else PAIRS_UNLISTED)
    if pairs is None:
        return None
    z, goal, y = pairs
    target = Target.at(_pulling(space, goal), y, 1.0)
    dice, state = Sampler(seed), kernel.init(z)
    arrived = torch.zeros(len(z), dtype=torch.long)
    taken = 0
    while taken < STEPS and not bool(arrived.all()) and (taken == 0 or limit.left()):
        try:
            state, _ = kernel.step(dice, state, target)
        except SoftgroundError:
            return None
        taken += 1
        arrived = torch.where((arrived == 0) & (state.z == goal).all(-1), taken, arrived)
    home = arrived > 0
    mean = float(arrived[home].double().mean()) if bool(home.any()) else None
    return Led(len(z), float(home.double().mean()), mean, float((state.z == goal).double().mean()), taken)


def _pulling(space: Categorical, goal: Tensor) -> CategoricalBelief:
    codes = torch.arange(space.width)
    scores = torch.where(codes == goal[..., None], 0.0, -PULL).double()
    scores = scores.masked_fill(~space.layout(goal.device).allowed, -torch.inf)
    return CategoricalBelief(space, scores.log_softmax(-1))
