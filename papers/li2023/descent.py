r"""Proposition 1's inequality, for K steps of SGD with gradients from chains of known bias.

With the constants of the lemma that its proof applies, for steps :math:`\eta \le 1/\lambda`:

.. math:: \frac1K \sum_{k=0}^{K-1} E \|\nabla\ell(\theta_k)\|^2 \le
          \frac{2 \Delta_0}{\eta K} + \eta \lambda \sigma^2 + (n \epsilon L)^2 , \qquad \eta = \alpha / \sqrt{K} .

(λ is the smoothness that the paper calls ℓ, like its loss; the T + 1 that it prints under the root is K in the lemma,
and it leaves out the expectation and the condition on η.) The lemma has the bias ‖m‖² itself in the last place, as a
mean over the steps, and the proof bounds it by (nεL)². Both are tested, and a right side without either, which must
fail somewhere.

**The problem** is so small that every constant is known: two symbols, a from {0, 1} and b from {0, 1, 2}, of which
ab = 0 is told; one image, so that the network is a row of logits a site. The walk changes b and the inverse fills in a;
b = 0 has two completions and the others one, so that its law π is not Q*. With one-hot codes c(z) and γ fixed,

- ∇ log P(z) = c(z) − p is never longer than L = 2. So L² bounds the left side, and a right side above it says nothing;
- :math:`\ell(\theta) = -\gamma \log \sum_{S_y} P^{1/\gamma}`, whose gradient is −E log P's under Q*, has the Hessian
  diag p − ppᵀ − Cov(c)/γ: both parts are positive, the first at most 1/2, the second at most 1/γ (a quarter of the
  largest ‖c − c'‖²), so λ = max(1/2, 1/γ);
- ℓ ≥ −max(γ − 1, 0) log n, so Δ₀ is at most ℓ(θ₀) less that;
- a one-hot vector of k has a variance of at most 1 − 1/k, so σ² ≤ 1/2 + 2/3;
- n = 4; ε is the largest total variation between Q* and a law that a z was drawn from, at any step of any run.

At γ = 2 the optimum is no single z, at γ = 1/2 it is. A z is drawn from the law of T steps of the walk from where the
chain stands (Algorithm 1), from π, or from Q*. 'Without noise' descends the expectation of the gradient under π.

Reference: A. Ajalloeian and S. U. Stich, On the convergence of SGD with biased gradients, 2020 (arXiv:2008.00051).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from softground.constraints import Program
from softground.dice import stream
from softground.inverses import Table
from softground.spaces.categorical import Categorical

from .walks import Walk, distance

SIZES = (2, 3)
L2 = 2.0 * len(SIZES)  # L²
NOISE = sum(1 - 1 / size for size in SIZES)  # σ²
GAMMAS = (2.0, 0.5)
ALPHAS = (0.5, 1.5, 4.0)
FEW = 64  # steps
SPREAD = 0.3  # of θ₀
TAIL = 4.0  # standard errors of the left side's mean by which it must exceed the right to count as a failure

Law = Callable[..., Tensor]
"""The law of the next z, from a walk, log w ``[rows, n]`` and the chains' places ``[rows]``: ``[rows, n]``."""


def product() -> Walk:
    """The walk on S_y, which drops a."""
    program = Program(lambda a, b: a * b, Categorical([range(size) for size in SIZES]))
    return Walk(Table(program), (0,), program.encode([0]))


def exact(walk: Walk, log_weight: Tensor, place: Tensor) -> Tensor:
    """Q*."""
    return log_weight.softmax(-1)


def smoothness(gamma: float) -> float:
    """λ."""
    return max(0.5, 1 / gamma)


LAWS: dict[str, Law] = {"Q\\*": exact, "π": Walk.settled} | {f"T = {t}": partial(Walk.after, steps=t) for t in (1, 4)}
SILENT = "π, without noise"


@dataclass
class Descent:
    """SGD in many runs at once, row by row; each has its own η and number of steps K.

    ``law`` is the one whose distance to Q* is claimed. z is drawn from ``drawn``: the same, unless a bug is planted.
    """

    law: Law
    gamma: float
    eta: Tensor  # [rows]
    steps: Tensor  # [rows], K
    noisy: bool = True
    drawn: Law | None = None

    def run(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Of every row: ℓ(θ₀), the means of ‖∇ℓ‖² and of ‖m‖² over its steps, and its largest ε."""
        walk, rows = product(), len(self.eta)
        codes = torch.cat([torch.eye(s, dtype=torch.float64)[z] for s, z in zip(SIZES, walk.states.T, strict=True)], 1)
        theta = SPREAD * torch.randn(rows, sum(SIZES), generator=generator, dtype=torch.float64)
        place = torch.zeros(rows, dtype=torch.long)
        gradient, bias, epsilon = torch.zeros(3, rows, dtype=torch.float64)
        for k in range(int(self.steps.max())):
            log_p = torch.cat([part.log_softmax(-1) for part in torch.split(theta, list(SIZES), 1)], 1)
            weight, going = log_p @ codes.T / self.gamma, (k < self.steps).double()
            if not k:
                first = -self.gamma * weight.logsumexp(-1)
            law = claimed = self.law(walk, log_weight=weight, place=place)
            if self.drawn is not None:
                law = self.drawn(walk, log_weight=weight, place=place)
            expected, right = law @ codes, weight.softmax(-1) @ codes
            gradient += going * (log_p.exp() - right).square().sum(1)
            bias += going * (expected - right).square().sum(1)
            epsilon = epsilon.maximum(going * distance(claimed, weight.softmax(-1)))
            if self.noisy:
                place = torch.multinomial(law.clamp(min=0), 1, generator=generator).squeeze(1)
                expected = codes[place]
            theta = theta - (going * self.eta)[:, None] * (log_p.exp() - expected)
        return {"first": first, "left": gradient / self.steps, "bias": bias / self.steps, "epsilon": epsilon}

    def sides(self, generator: torch.Generator, count: int) -> list[dict[str, Any]]:
        """Both sides of the inequality, for every ``count`` rows in turn, which must have η and K in common."""
        done, n, found = self.run(generator), len(product().states), []
        for rows in torch.split(torch.arange(len(self.eta)), count):
            eta, steps, left = float(self.eta[rows[0]]), int(self.steps[rows[0]]), done["left"][rows]
            delta = float(done["first"][rows].mean()) + max(self.gamma - 1, 0.0) * math.log(n)
            epsilon = float(done["epsilon"][rows].max())
            row = {"steps": steps, "eta": eta, "left": float(left.mean()), "epsilon": epsilon, "runs": count}
            row["error"] = float(left.std() / math.sqrt(count)) if count > 1 else 0.0
            row["descent"] = 2 * delta / (eta * steps) + eta * smoothness(self.gamma) * NOISE * self.noisy
            found.append(row | {"bias": float(done["bias"][rows].mean()), "bound": (n * epsilon) ** 2 * L2})
        return found


def holds(row: dict[str, Any], last: str | None) -> bool:
    """Whether the inequality holds with this last term: ``bound``, the paper's; ``bias``, the lemma's; or none."""
    return bool(row["left"] - TAIL * row["error"] <= row["descent"] + (row[last] if last else 0.0))


def descent(runs: int, steps: int, seed: int) -> dict[str, Any]:
    """Rows for every γ, law, α, and K few or ``steps``."""
    generator = torch.Generator().manual_seed(stream(seed, "descent"))
    cases = [(alpha, k) for k in (FEW, steps) for alpha in ALPHAS]
    rows = []
    for gamma in GAMMAS:
        for name, law in (LAWS | {SILENT: LAWS["π"]}).items():
            count = runs if name != SILENT else 1
            eta = torch.tensor([alpha / math.sqrt(k) for alpha, k in cases], dtype=torch.float64)
            many = torch.tensor([k for _, k in cases])
            made = Descent(law, gamma, eta.repeat_interleave(count), many.repeat_interleave(count), name != SILENT)
            for (alpha, _), row in zip(cases, made.sides(generator, count), strict=True):
                rows.append({"gamma": gamma, "law": name, "alpha": alpha} | row)
    return {"rows": rows, "limit": L2, "states": len(product().states)}


__all__ = ["LAWS", "SILENT", "Descent", "descent", "holds", "smoothness"]
