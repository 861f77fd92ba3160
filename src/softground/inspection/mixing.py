r"""How well a kernel's chains mix: effective sample size and R̂ over several chains, at falling temperatures.

Several chains of each answer start apart and take the same number of steps. Of each chain the log-weight is followed,
and at some sites whether the symbol is the one that the belief prefers (for reals, the component itself). R̂ near 1
says that the chains agree with each other; the effective sample size (ESS) says how many independent draws their
steps are worth. Both are arviz-stats' rank-normalised estimates.

The belief is lopsided at random, as a network's is before it knows anything and sharper than that; a symmetric one
would hide that chains freeze as γ falls.

Reference: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R̂, Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import importlib.util
import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import SoftgroundError
from ..kernels.base import Kernel
from ..target import Target
from ..task import Task
from .candidates import parts
from .limit import Limit
from .sample import Sample

GAMMAS = (1.0, 0.3, 0.1)
ANSWERS = 4
CHAINS = 4
STEPS, WARM = 100, 50  # steps followed, and steps before that
PARTS = 8  # kernels composed of more than this many take a fifth of the steps
SITES = 16  # components followed
LOPSIDED = 1.5  # standard deviation of the belief's logits
LEAST = 10  # draws without which there are no figures


@dataclass(frozen=True)
class Mixing:
    """One kernel at one temperature. Quantities that no chain ever changes, and all agree on, are left out."""

    kernel: str
    gamma: float
    ess: float  # median over answers and quantities, of ``draws``
    ess_least: float
    rhat: float  # median
    rhat_worst: float
    moved: float  # share of steps that change z
    draws: int  # all chains of an answer together
    seconds: float  # per step of one chain
    whole: bool  # whether all steps were taken


def require() -> None:
    """Say what to do where arviz-stats is not installed."""
    if importlib.util.find_spec("arviz_stats") is None:
        raise SoftgroundError(
            "Mixing is measured with the package arviz-stats, which is not installed. Install the extra, pip install "
            "'softground[inspect]', or leave mixing out (mixing=False, --no-mixing)."
        )


def lopsided(space: Any, rows: int, seed: int) -> Tensor:
    """A network's output that prefers some symbols, at random: a row an answer."""
    shape = (rows, space.sites, space.outputs) if space.categorical else (rows, space.sites)
    return LOPSIDED * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mix(
    task: Task,
    name: str,
    kernel: Kernel,
    gamma: float,
    sample: Sample,
    limit: Limit,
    seed: int,
    output: Tensor | None = None,
) -> Mixing | None:
    """Figures of ``kernel`` at temperature ``gamma``; None where it could not take enough steps.

    ``output`` is the network's for the first answers of the sample; by default a lopsided belief is made up.
    """
    require()
    several = len(list(parts(kernel))) > PARTS
    warm, steps = (WARM // 5, STEPS // 5) if several else (WARM, STEPS)
    if output is None:
        output = lopsided(task.space, ANSWERS, seed)
    answers = min(ANSWERS, len(sample.found), len(output))
    y = torch.cat([f.y for f in sample.found[:answers]]).repeat_interleave(CHAINS, 0)
    belief = task.space.belief(output[:answers].repeat_interleave(CHAINS, 0))
    target: Target[Any] = Target.at(belief, y, gamma)
    start = task.inverse.start(y, seed)
    dice, z = Sampler(seed), start.z
    followed, moved = [], 0.0
    began = time.perf_counter()
    for step in range(warm + steps):
        if step and not limit.left():
            break
        z, info = kernel.step(dice, z, target)
        if step >= warm:
            followed.append(_quantities(task.space, target, z))
            moved += float(info.moved.double().mean())
    taken = step + 1
    seconds = (time.perf_counter() - began) / taken / len(y)
    if len(followed) < LEAST:
        return None
    series = torch.stack(followed, -1).view(answers, CHAINS, -1, len(followed)).transpose(1, 2)
    ess, rhat = _figures(series.flatten(0, 1).numpy())
    return Mixing(
        name,
        gamma,
        float(np.median(ess)),
        float(ess.min()),
        float(np.median(rhat)),
        float(rhat.max()),
        moved / len(followed),
        CHAINS * len(followed),
        seconds,
        len(followed) == steps,
    )


def _quantities(space: Any, target: Target[Any], z: Tensor) -> Tensor:
    """What is followed of each chain, ``[rows, quantities]``."""
    sites = torch.linspace(0, space.sites - 1, min(SITES, space.sites)).long()
    part = z == target.weights.mode() if space.categorical else z
    return torch.cat([target.log_weight(z)[:, None].double(), part[:, sites].double()], 1)


def _figures(series: Any) -> tuple[Any, Any]:
    """ESS and R̂ of ``[quantities, chains, draws]``; quantities that are the same everywhere tell nothing."""
    import arviz_stats.base

    stats: Any = arviz_stats.base.array_stats  # type: ignore[attr-defined]

    varying = (series != series[:, :1, :1]).any((1, 2))
    if not varying.any():  # a single solution, or chains that all found the one state that matters
        return np.array([float(series.shape[1] * series.shape[2])]), np.array([1.0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ess = np.atleast_1d(stats.ess(series[varying], chain_axis=-2, draw_axis=-1))
        rhat = np.atleast_1d(stats.rhat(series[varying], chain_axis=-2, draw_axis=-1))
    return np.where(np.isfinite(ess), ess, 0.0), np.nan_to_num(rhat, nan=math.inf, posinf=math.inf)
