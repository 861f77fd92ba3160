"""Which kernel, projection, T and γ₀ to train with, and why: the code behind ``projection="auto"``.

Where Q* can be drawn from directly nothing is measured: the kernel that does so is recommended. Elsewhere candidate
projections are compared (:mod:`.compare`), and the walk on the best of them is the composition of two kernels that are
exact for Q*: :class:`~softground.kernels.Collapsed`, which moves even while the network knows nothing, and
:class:`~softground.kernels.Guided`, which frees chains as γ falls.

T is the number of such steps after which nine chains in ten have moved at γ₀, at most 10 (the paper's). γ₀ is the
first of 1, 2, 5, 10 at which chains move at least half as often as at γ = ∞: "a good initial temperature should ensure
the new state will not be rejected at the first few training epochs" (Appendix B).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

from ..dice import Sampler
from ..kernels import Collapsed, Composed, Exact, Guided, Kernel, default_kernel
from ..projections import Projection
from ..reals import SiteGibbs
from ..reals.differences import Differences
from ..target import Target
from ..task import Task
from .candidates import parts
from .compare import Compared, compare
from .leading import PARTS, Led
from .limit import Limit
from .mixing import lopsided
from .sample import Sample, take

SAMPLE = 16  # answers looked at
TRIALS = 10  # steps that movement is measured over
ROWS = 32
MOST = 10  # T of the paper
CLOSE = 0.1  # agreement with the target, below which a kernel made for the task is preferred to a general one
GAMMAS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to train with. ``projection`` is None where the kernel needs none, or brings its own."""

    kernel: Kernel
    projection: Projection | None
    steps: int
    gamma0: float
    reasons: tuple[str, ...]
    name: str = "recommended"

    def __str__(self) -> str:
        projection = "none to choose" if self.projection is None else repr(self.projection)
        head = f"kernel {self.name}, projection {projection}, T = {self.steps}, γ₀ = {self.gamma0:g}"
        return "\n".join([head, *(f"- {reason}" for reason in self.reasons)])


@singledispatch
def exactness(kernel: Any) -> str | None:
    """Why a kernel is exact here without any projection; None where it is not."""
    return None


@exactness.register
def _(kernel: Exact) -> str:
    return (
        f"Exact: sums over S_y are known ({kernel.inverse!r}), so every step is an independent draw from Q*, and the "
        "loss uses Q*'s marginals without sampling noise. No chain has to mix, so no projection is needed."
    )


@exactness.register
def _(kernel: SiteGibbs) -> str:
    return (
        "SiteGibbs: given the others, each component's law under Q* is a normal cut to an interval, and is drawn from "
        "exactly; no proposal is rejected. Its steps are not independent, though: see the effective sample size."
    )


def recommend(
    task: Task,
    answers: Sequence[Any] | None = None,
    *,
    kernels: Mapping[str, Kernel] | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    limit: Limit | None = None,
) -> Recommendation:
    """What to train ``task`` with, judged by some of its answers; nothing else is looked at.

    Parameters
    ----------
    task
        The task.
    answers
        The training answers. They may be left out where Q* can be drawn from directly, and where the rule is a
        program, which is then tried on random states.
    kernels
        Kernels of one's own, by name, to be compared as well.
    sample, seed
        How many distinct answers to look at, and what decides every draw.
    limit
        How long it may take; by default as long as it takes, some seconds.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(10), range(10)])
    >>> print(recommend(Task(space, Program(lambda a, b: a + b, space))).name)
    Exact
    """
    direct = _direct(task)
    if direct is not None:
        return direct
    limit = limit or Limit()
    found = take(task, answers, sample, seed, limit)
    return choose(task, found, compare(task, found, kernels or {}, limit, seed), {}, kernels or {}, seed)


def auto_kernel(task: Task, answers: Sequence[Any] | None = None, *, seed: int = 0) -> Kernel:
    """The recommended kernel, its T steps composed into one."""
    found = recommend(task, answers, seed=seed)
    return Composed([found.kernel] * found.steps) if found.steps > 1 else found.kernel


def choose(
    task: Task,
    sample: Sample,
    compared: Sequence[Compared],
    led: Mapping[str, Led],
    kernels: Mapping[str, Kernel],
    seed: int,
) -> Recommendation:
    """The recommendation that follows from the comparison; ``led`` says how chains of given kernels fared."""
    usable = [c for c in compared if c.usable]
    best = usable[0] if usable else None
    direct = _direct(task)
    if direct is not None:
        other = (f"Were you to walk all the same: {_because(best)}",) if best and best.led else ()
        return replace(direct, reasons=(*direct.reasons, *other))
    own = max(led, key=lambda name: (led[name].arrived, led[name].agreement), default=None)
    if own is not None and not (best and best.satisfactory) and _as_far(led[own], best):
        reason = f"{own}: {_arrived(led[own])}. No projection that was compared leads chains much further."
        return _paced(task, sample, kernels[own], None, own, (reason,), seed)
    if best is None:
        kernel = default_kernel(task.inverse, task.space)
        reason = "No candidate projection could be measured, so this is the default: the network's own proposals."
        return Recommendation(kernel, None, 1, 1.0, (reason,), _name(kernel))
    c = best.candidate
    guided = Guided(c.inverse, c.projection, marginals=True)
    walk = Composed([guided, Collapsed(c.inverse, c.projection, c.move, marginals=True)])
    why = (
        "S_y can be neither listed nor summed here, so chains must walk. Guided jumps to what the network reads, which "
        "frees chains as γ falls; Collapsed moves while the network knows nothing. Both are exact for Q*.",
        _because(best),
    )
    return _paced(task, sample, walk, c.projection, "Guided + Collapsed", why, seed)


def _direct(task: Task) -> Recommendation | None:
    """What to do where a kernel is exact without a projection."""
    rule = task.constraint
    kernel = SiteGibbs(rule) if isinstance(rule, Differences) else default_kernel(task.inverse, task.space)
    reason = exactness(kernel)
    if reason is None:
        return None
    if isinstance(kernel, SiteGibbs):
        start = "γ₀ = 1: the paper's. Where S_y is convex nothing is gained by warmth, and γ = 0 (PointMass) works too."
        return Recommendation(kernel, None, 1, 1.0, (reason, start), _name(kernel))
    pace = "T = 1: a second draw would be as good as the first."
    start = "γ₀ = 1, held constant: there the gradient is the semantic loss's (Proposition 2); no annealing is needed."
    return Recommendation(kernel, None, 1, 1.0, (reason, pace, start), _name(kernel))


def _because(best: Compared) -> str:
    c, fibres = best.candidate, best.fibres
    assert fibres is not None
    why = [f"projection '{c.name}', of all candidates the first by the rule."]
    if best.led is not None:
        why.append(f"{_arrived(best.led)}.")
    if best.components:
        pieces = max(x.count for x in best.components)
        how = "in one component" if pieces == 1 else f"in up to {pieces:,} components"
        why.append(f"{best.connected:.0%} of the pairs of solutions are connected ({how}).")
    why.append(f"{fibres.movement:.0%} of the moves find a completion, among {fibres.mean:.3g} on average.")
    if not best.satisfactory:
        why.append("No projection compared connects the solutions well: use it with care, or write a kernel yourself.")
    return " ".join(why)


def _as_far(own: Led, best: Compared | None) -> bool:
    """Whether a kernel that was given leads chains as far as the best projection, give or take :data:`CLOSE`."""
    return best is None or (own.arrived >= best.arrived and own.agreement >= best.agreement - CLOSE)


def _arrived(led: Led) -> str:
    end = f"after {led.steps:.0f} steps on average" if led.steps is not None else f"in {led.allowed} steps"
    rest = "" if led.arrived == 1 else f"; in the end {led.agreement:.0%} of the sites were the target's"
    return f"{led.arrived:.0%} of the chains led from one solution to another arrived {end}{rest}"


def _paced(
    task: Task,
    sample: Sample,
    kernel: Kernel,
    projection: Projection | None,
    name: str,
    why: tuple[str, ...],
    seed: int,
) -> Recommendation:
    """T and γ₀ from how often chains move."""
    free = movement(task, kernel, sample, math.inf, seed)
    for gamma in GAMMAS:
        moved = movement(task, kernel, sample, gamma, seed)
        if moved >= free / 2 or gamma == GAMMAS[-1]:
            break
    steps = MOST if moved <= 0 else 1 if moved >= 0.9 else min(MOST, math.ceil(math.log(0.1) / math.log(1 - moved)))
    pace = f"T = {steps}: {moved:.0%} of the chains move in a step at γ = {gamma:g}"
    pace += ", so that nine in ten have moved." if steps < MOST else "; more than the paper's 10 are not proposed."
    start = f"γ₀ = {gamma:g}: chains move {moved / free:.0%} as often as at γ = ∞." if free else "γ₀ = 1: the paper's."
    return Recommendation(kernel, projection, steps, gamma if free else 1.0, (*why, pace, start), name)


def movement(task: Task, kernel: Kernel, sample: Sample, gamma: float, seed: int) -> float:
    """Share of steps that change z, under a lopsided belief."""
    z, y = sample.rows(ROWS, seed)
    target: Target[Any] = Target.at(task.space.belief(lopsided(task.space, ROWS, seed)), y, gamma)
    dice, moved = Sampler(seed), 0.0
    trials = TRIALS if len(list(parts(kernel))) <= PARTS else 2
    for _ in range(trials):
        z, info = kernel.step(dice, z, target)
        moved += float(info.moved.double().mean())
    return moved / trials


def _name(kernel: Kernel) -> str:
    return type(kernel).__name__
