"""A recommended kernel, projection, T and γ₀, with reasons.

If a kernel draws from Q* directly, it is recommended without measurements. Otherwise candidates are compared
(:mod:`.ranking`). The walk on the best one composes two kernels that are exact for Q*:
:class:`~softground.kernels.Collapsed`, which moves even while the network is untrained, and
:class:`~softground.kernels.Guided`, which frees chains as γ falls.

T is the number of such steps after which nine chains in ten have moved at γ₀, at most 10 (the paper's). γ₀ is the
first of 1, 2, 5, 10 at which chains move at least half as often as at γ = ∞: "a good initial temperature should ensure
the new state will not be rejected at the first few training epochs" (Appendix B).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..dice import Sampler
from ..errors import CheckpointError
from ..files import Json
from ..inverses.base import cost, own_kernel
from ..kernels import Composed, Exact, Guided, Kernel, default_kernel
from ..projections import Projection, RandomBlock, RandomDrop
from ..target import Target
from ..task import Task
from .candidates import collapsed, swapping
from .ranking import Ranked, ranking
from .solutions import Sample, some, take
from .time_limit import TimeLimit

SAMPLE = 16  # answers looked at
TRIED = {"tensor": (32, 10), "solver": (8, 3)}  # chains and steps that movement is measured on
MOST = 10  # steps; the paper's T
GAMMAS = (1.0, 2.0, 5.0, 10.0)
LOPSIDED = 1.5  # standard deviation of the belief's logits


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to train with. ``projection`` is None where the kernel needs none, or brings its own."""

    kernel: Kernel
    projection: Projection | None
    steps: int
    gamma0: float
    reasons: tuple[str, ...]
    name: str = "recommended"
    change: bool = False  # see Ranked
    swaps: bool = False

    def __str__(self) -> str:
        projection = "none to choose" if self.projection is None else repr(self.projection)
        head = f"kernel {self.name}, projection {projection}, T = {self.steps}, γ₀ = {self.gamma0:g}"
        return "\n".join([head, *(f"- {reason}" for reason in self.reasons)])

    @property
    def kept(self) -> Json:
        """What :func:`rebuilt` makes a walk again from."""
        walk = {"dropped": getattr(self.projection, "size", None), "block": isinstance(self.projection, RandomBlock)}
        pace = {"steps": self.steps, "gamma0": self.gamma0, "reasons": list(self.reasons)}
        return walk | {"change": self.change, "swaps": self.swaps} | pace


def recommend(
    task: Task,
    answers: Sequence[object] | None = None,
    *,
    sample: int = SAMPLE,
    seed: int = 0,
    seconds: float = math.inf,
) -> Recommendation:
    """What to train ``task`` with, judged by some of its answers; nothing else is looked at.

    Parameters
    ----------
    task
        The task.
    answers
        The training answers. They may be left out where Q* can be drawn from directly, and where the rule is a
        program, which is then tried on random states.
    sample, seed
        How many distinct answers to look at, and what decides every draw.
    seconds
        How long that may take. Trials are counted, so that the same seed gives the same choice; where time is up
        before they are done, the best of what was measured is taken, and the last reason says so.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(10), range(10)])
    >>> print(recommend(Task(space, Program(lambda a, b: a + b, space))).name)
    Exact
    """
    best = direct(task)
    if best is not None:
        return best
    limit = TimeLimit(seconds)
    first = limit.part(0.3)
    if answers is not None and math.isfinite(seconds):
        found = some(task, answers, sample, seed, first)
    else:
        found = take(task, answers, sample, seed, first)
    ranked = ranking(task, found, {}, limit, seed) if found.found else []
    best = choose(task, found, ranked, seed, limit)
    if limit.reached:
        hurried = f"The trials were ended after {seconds:g} s: a faster or quieter machine may choose otherwise."
        best = replace(best, reasons=(*best.reasons, hurried))
    return best


def rebuilt(task: Task, kept: Mapping[str, Any]) -> Recommendation:
    """A walk again, without measuring anything; ``kept`` is a recommendation's."""
    try:
        dropped, steps, gamma0 = kept["dropped"], int(kept["steps"]), float(kept["gamma0"])
        family = RandomBlock if kept["block"] else RandomDrop
        projection = None if dropped is None else family(task.space, dropped)
        change, swaps, reasons = bool(kept["change"]), bool(kept["swaps"]), tuple(map(str, kept.get("reasons", ())))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"The walk that the run was started with cannot be read: {error!r}.") from error
    if projection is None:
        return Recommendation(default_kernel(task.inverse, task.space), None, steps, gamma0, reasons)
    kernel: Kernel = collapsed(task, projection, change)
    walk = Composed([Guided(task.inverse, projection, marginals=True), swapping(task, kernel) if swaps else kernel])
    return Recommendation(walk, projection, steps, gamma0, reasons, "Guided + Collapsed", change, swaps)


def direct(task: Task) -> Recommendation | None:
    """What to do where a kernel is exact without a projection; None elsewhere."""
    reasons: tuple[str, ...]
    if task.inverse.exact:
        reasons = (
            f"Exact: S_y can be listed or summed ({task.inverse!r}), so every step is an independent draw from Q*, and "
            "the loss uses Q*'s marginals without sampling noise. No chain has to mix, so no projection is needed.",
            "T = 1: a second draw would be as good as the first.",
            "γ₀ = 1, held constant: there the gradient is the semantic loss's (Proposition 2); no annealing is needed.",
        )
        return Recommendation(Exact(task.inverse), None, 1, 1.0, reasons, "Exact")
    kernel = None if task.space.categorical else own_kernel(task.inverse)
    if kernel is None:
        return None
    reasons = (
        f"{type(kernel).__name__}: along a component, Q* is a normal law cut to an interval, and is drawn from "
        "exactly; no proposal is rejected. Its steps are not independent.",
        "γ₀ = 1: the paper's. Where S_y is convex nothing is gained by warmth, and γ = 0 (PointMass) works too.",
    )
    return Recommendation(kernel, None, 1, 1.0, reasons, type(kernel).__name__)


def choose(
    task: Task, sample: Sample, ranked: Sequence[Ranked], seed: int, limit: TimeLimit | None = None
) -> Recommendation:
    """The recommendation that follows from the comparison."""
    best = next((r for r in ranked if r.usable), None)
    exact = direct(task)
    if exact is not None:
        other = (_because(best, "If you use a walk anyway, use"),) if best and best.led else ()
        return replace(exact, reasons=(*exact.reasons, *other))
    if best is None:
        kernel = default_kernel(task.inverse, task.space)
        reason = "No candidate projection could be measured, so this is the default: the network's own proposals."
        return Recommendation(kernel, None, 1, 1.0, (reason,), type(kernel).__name__)
    found = Recommendation(best.kernel, None, 1, 1.0, (_because(best),), best.name)
    if best.projection is not None:
        why = (
            "S_y can be neither listed nor summed here, so chains must walk. Guided jumps to what the network reads, "
            "which frees chains as γ falls; Collapsed moves while the network knows nothing. Both are exact for Q*."
        )
        walk = Composed([Guided(task.inverse, best.projection, marginals=True), best.kernel])
        reasons = (why, _because(best))
        found = Recommendation(walk, best.projection, 1, 1.0, reasons, "Guided + Collapsed", best.change, best.swaps)
    return paced(task, sample, found, seed, limit or TimeLimit())


def _because(best: Ranked, use: str = "Use") -> str:
    what = "projection" if best.projection else "kernel"
    why = [f"{use} {what} `{best.name}`, the best of the candidates."]
    if best.led is not None:
        why.append(f"{best.led}.")
    if best.components:
        pieces = max(x.count for x in best.components)
        how = "in one component" if pieces == 1 else f"in up to {pieces:,} components"
        why.append(f"{best.connected:.0%} of the pairs of solutions are connected ({how}).")
    if best.fibres is not None:
        why.append(
            f"{best.fibres.movement:.0%} of the moves find a completion, among {best.fibres.mean:.3g} on average."
        )
    if not best.satisfactory:
        why.append("No walk compared connects the solutions well: use it with care, or write a kernel yourself.")
    return " ".join(why)


def paced(task: Task, sample: Sample, best: Recommendation, seed: int, limit: TimeLimit) -> Recommendation:
    """With T and γ₀ from how often chains move."""
    free = movement(task, best.kernel, sample, math.inf, seed, limit.part(0.3))
    for gamma in GAMMAS:
        moved = movement(task, best.kernel, sample, gamma, seed, limit.part(0.4))
        if moved >= free / 2 or gamma == GAMMAS[-1] or not limit.left():
            break
    steps = MOST if moved <= 0 else 1 if moved >= 0.9 else min(MOST, math.ceil(math.log(0.1) / math.log(1 - moved)))
    pace = f"T = {steps}: {moved:.0%} of the chains move in a step at γ = {gamma:g}"
    pace += ", so nine in ten have moved." if steps < MOST else "; no more than the paper's 10 are proposed."
    start = f"γ₀ = {gamma:g}: chains move {moved / free:.0%} as often as at γ = ∞." if free else "γ₀ = 1: the paper's."
    return replace(best, steps=steps, gamma0=gamma if free else 1.0, reasons=(*best.reasons, pace, start))


def movement(task: Task, kernel: Kernel, sample: Sample, gamma: float, seed: int, limit: TimeLimit) -> float:
    """Share of steps that change z, of as many as there is time for, one at least.

    The belief is that of a network that prefers some symbols, at random.
    """
    (rows, most), space = TRIED[cost(task.inverse)], task.space
    z, y = sample.rows(rows, seed)
    shape = (rows, space.sites, space.outputs) if space.categorical else (rows, space.sites)
    output = LOPSIDED * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    target: Target[Any] = Target.at(space.belief(output), y, gamma)
    dice = Sampler(seed)
    moved: list[float] = []
    while len(moved) < most and not (moved and not limit.left()):
        z, info = kernel.step(dice, z, target)
        moved.append(float(info.moved.double().mean()))
    return sum(moved) / len(moved)
