"""How many steps a chain takes between two gradients, by trial.

Chains that hardly move between two visits repeat themselves, and a network learns its own mistakes from them. So chains
of some training answers walk at γ = ∞, as with an untrained network:

- a kernel with several tries (:class:`~softground.kernels.Several`) gets as many as let a quarter of the chains take
  one of them in a step, in powers of two;
- T is as many steps as change half of the symbols.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import CheckpointError
from ..kernels import Kernel, Several
from ..target import Target
from ..task import Task
from ..training import SoftenedGrounding

PACE = ("steps", "tries")  # what is kept, and decides how a run goes
CHAINS, STEPS = 128, 4  # that are tried
MOVED, TAKEN = 0.5, 0.25  # shares of the symbols that a visit changes, and of the chains that take a try in a step
MOST_STEPS, MOST_TRIES = 8, 64


def paced(
    objective: SoftenedGrounding, task: Task, y: Tensor, kept: Mapping[str, Any] | None
) -> tuple[SoftenedGrounding, dict[str, Any]]:
    """The objective with its T, and its kernel's tries; and what to keep of it."""
    assert objective.kernel is not None
    kernel = objective.kernel.bound(task)
    if kept is None:
        kept = _measured(kernel, task, y[:CHAINS])
    elif not all(isinstance(kept.get(name), int) and kept[name] >= 0 for name in PACE):
        raise CheckpointError(
            f"The run's config has the pace {dict(kept)!r}; expected whole numbers. Restore the file."
        )
    if isinstance(kernel, Several):
        kernel = replace(kernel, tries=max(1, kept["tries"]))
    return replace(objective, kernel=kernel, steps=max(1, kept["steps"])), dict(kept)


def _measured(kernel: Kernel, task: Task, y: Tensor) -> dict[str, Any]:
    if kernel.independent:
        return {"steps": 1, "tries": 0, "reasons": ["T = 1, since a step forgets where the chain was"]}
    start = task.inverse.start(y, 0)
    z, y = start.z[start.found], y[start.found]
    target = Target(task.space.uniform(len(y), y.device), y, math.inf)
    dice, tries = Sampler(0, y.device), 0
    z, taken, moved = _walked(kernel, dice, z, target)
    if isinstance(kernel, Several):
        tries = kernel.tries
        while taken < TAKEN and tries < MOST_TRIES:
            tries *= 2
            z, taken, moved = _walked(replace(kernel, tries=tries), dice, z, target)
    steps = min(MOST_STEPS, math.ceil(MOVED / max(moved, MOVED / MOST_STEPS)))
    reason = f"T = {steps}, since a step changes {moved:.0%} of the symbols"
    reason += f" (with {tries} tries, of which {taken:.0%} of the chains take one)" if tries else ""
    return {"steps": steps, "tries": tries, "reasons": [reason]}


def _walked(kernel: Kernel, dice: Sampler, z: Tensor, target: Target[Any]) -> tuple[Tensor, float, float]:
    """Where chains are after some steps, the share that accepted and the share of symbols changed, of a step each."""
    accepted, moved = torch.zeros((), device=z.device), torch.zeros((), device=z.device)
    for _ in range(STEPS):
        after, info = kernel.step(dice, z, target)
        accepted, moved = accepted + info.acceptance.mean(), moved + (after != z).float().mean()
        z = after
    return z, float(accepted) / STEPS, float(moved) / STEPS
