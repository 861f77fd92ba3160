r"""How well a kernel's chains mix: effective sample size and R̂ over several chains, at falling temperatures.

Several chains of each answer start apart and take the same number of steps. Of each chain the log-weight is followed,
and at some sites whether the symbol is the one that the belief prefers (for reals, the component itself). R̂ near 1
says that the chains agree with each other; the effective sample size (ESS) says how many independent draws their
steps are worth. Both are arviz-stats' rank-normalised estimates.

The belief is lopsided at random; a symmetric one would hide that chains freeze as γ falls.

Reference: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R̂, Bayesian Analysis 16 (2021).
"""

import importlib.util
import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import SoftgroundError
from ..kernels import Kernel
from ..target import Target
from ..task import Task
from .solutions import Sample
from .time_limit import TimeLimit

GAMMAS = (1.0, 0.3, 0.1)
ANSWERS = 4
CHAINS = 4
STEPS, WARM = 100, 50  # steps followed, and steps before that
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
            "Mixing is measured with the package arviz-stats, which is not installed. Install it (pip install "
            "arviz-stats), or leave mixing out (mixing=False)."
        )


def lopsided(space: Any, rows: int, seed: int) -> Tensor:
    """A network's output that prefers some symbols, at random: one row per answer."""
    shape = (rows, space.sites, space.outputs) if space.categorical else (rows, space.sites)
    return LOPSIDED * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mix_all(
    task: Task, kernels: Mapping[str, Kernel], sample: Sample, limit: TimeLimit, seed: int
) -> tuple[Mixing, ...]:
    """Figures of each kernel at each temperature, as far as time allows."""
    runs = [(name, kernel, gamma) for name, kernel in kernels.items() for gamma in GAMMAS]
    result = []
    for turn, (name, kernel, gamma) in enumerate(runs):
        share = limit.part(1 / (len(runs) - turn))
        result.append(mix(task, name, kernel, gamma, sample, share, seed) if share.left() else None)
        limit.reached = limit.reached or share.reached
    return tuple(m for m in result if m is not None)


def mix(
    task: Task, name: str, kernel: Kernel, gamma: float, sample: Sample, limit: TimeLimit, seed: int
) -> Mixing | None:
    """Figures of ``kernel`` at temperature ``gamma``; None where it could not take enough steps."""
    answers = min(ANSWERS, len(sample.found))
    y = torch.cat([f.y for f in sample.found[:answers]]).repeat_interleave(CHAINS, 0)
    belief = task.space.belief(lopsided(task.space, ANSWERS, seed)[:answers].repeat_interleave(CHAINS, 0))
    target: Target[Any] = Target.at(belief, y, gamma)
    dice, z = Sampler(seed), task.inverse.start(y, seed).z
    followed, moved = [], 0.0
    began = time.perf_counter()
    for step in range(WARM + STEPS):
        if step and not limit.left():
            break
        z, info = kernel.step(dice, z, target)
        if step >= WARM:
            followed.append(_quantities(task.space, target, z))
            moved += float(info.moved.double().mean())
    seconds = (time.perf_counter() - began) / (step + 1) / len(y)
    draws = len(followed)
    if draws < LEAST:
        return None
    series = torch.stack(followed, -1).view(answers, CHAINS, -1, draws).transpose(1, 2)
    ess, rhat = _figures(series.flatten(0, 1).numpy())
    figures = float(np.median(ess)), float(ess.min()), float(np.median(rhat)), float(rhat.max())
    return Mixing(name, gamma, *figures, moved / draws, CHAINS * draws, seconds, draws == STEPS)


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
