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
from ..kernels.base import Kernel
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .candidates import parts
from .limit import Limit
from .sample import Sample

PAIRS = 32
PAIRS_UNLISTED = 8  # where S_y cannot be listed, and steps cost more
STEPS = 200
PARTS = 8  # a kernel composed of more than this many gets fewer steps
PULL = 4.0  # log-odds of the target's symbol against each other one


@dataclass(frozen=True)
class Led:
    """How many chains arrived, after how many steps, and how much of the target the others had."""

    pairs: int
    arrived: float
    steps: float | None  # mean over those that arrived, of ``allowed``
    agreement: float  # share of sites that are the target's in the end
    allowed: int  # steps that a chain was given


def lead(space: Categorical, kernel: Kernel, sample: Sample, limit: Limit, seed: int) -> Led | None:
    """Lead chains from solution to solution; None where no answer has two, or the kernel cannot be used."""
    z, goal, y = sample.pairs(PAIRS if sample.listed else PAIRS_UNLISTED)
    steps = STEPS if len(list(parts(kernel))) <= PARTS else STEPS // PARTS
    if not len(z):
        return None
    target = Target.at(_pulling(space, goal), y, 1.0)
    dice = Sampler(seed)
    arrived = torch.zeros(len(z), dtype=torch.long)
    taken = 0
    while taken < steps and not bool(arrived.all()) and (taken == 0 or limit.left()):
        try:
            z, _ = kernel.step(dice, z, target)
        except SoftgroundError:
            return None
        taken += 1
        there = (z == goal).all(-1)
        arrived = torch.where((arrived == 0) & there, taken, arrived)
    home = arrived > 0
    return Led(
        pairs=len(z),
        arrived=float(home.double().mean()),
        steps=float(arrived[home].double().mean()) if bool(home.any()) else None,
        agreement=float((z == goal).double().mean()),
        allowed=taken,
    )


def _pulling(space: Categorical, goal: Tensor) -> CategoricalBelief:
    codes = torch.arange(space.width)
    scores = torch.where(codes == goal[..., None], 0.0, -PULL).double()
    scores = scores.masked_fill(~space.layout(goal.device).allowed, -torch.inf)
    return CategoricalBelief(space, scores.log_softmax(-1))
