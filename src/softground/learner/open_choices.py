"""Choices that a learner makes when it knows the answers: the inverse, and a kernel or teacher for it.

The inverse is that of the first rung that serves the training answers (:mod:`softground.inverses.ladder`). If it knows
the distribution on S_y, the kernel is exact. Otherwise chains walk on the projection that moves best in a trial on the
rule's own solutions (:func:`softground.walks.recommend`), within ten seconds. A run folder keeps these choices, and a
resumed run takes them without a new trial.

If only T is open, a trial determines the number of steps between two gradients. Chains that hardly move between two
visits repeat themselves, and a network learns its own mistakes from them. So chains of some training answers walk at
γ = ∞, as with an untrained network:

- a kernel with several tries (:class:`~softground.kernels.Several`) gets as many as let a quarter of the chains take
  one of them in a step, in powers of two;
- T is as many steps as change half of the symbols.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import CheckpointError
from ..files import Json
from ..inverses.base import own_kernel
from ..inverses.ladder import ORDER
from ..kernels import Kernel, Several, default_kernel
from ..preparing import hushed, told
from ..runs.folder import RunFolder
from ..schedules import Auto, Constant
from ..target import Target
from ..task import Task
from ..training import SoftenedGrounding, Teacher, parts_objective
from ..walks.recommendation import rebuilt, recommend
from .datasets import Part
from .plan import Choices, Plan

WALK = ("dropped", "block", "change", "swaps", "steps", "gamma0")
SECONDS = 10.0  # time limit of a trial of projections
PACE = ("steps", "tries")  # saved entries that affect the run
CHAINS, STEPS = 128, 4  # of a trial
MOVED, TAKEN = 0.5, 0.25  # shares of the symbols that a visit changes, and of the chains that take a try in a step
MOST_STEPS, MOST_TRIES = 8, 64


def settle(learner: Plan, train: list[Part], folder: RunFolder | None, quiet: bool) -> Choices:
    """Make the open choices, or take those in ``folder``. All processes take process 0's choice."""
    with hushed(quiet):
        kept = {} if folder is None else _kept(folder)
        found = _settle(learner, train, kept) if learner.fabric.is_global_zero else {}
        if learner.fabric.world_size > 1:
            found = learner.fabric.broadcast(found)
            if not learner.fabric.is_global_zero:
                _settle(learner, train, found)
        told("")
        return found


def _settle(learner: Plan, train: list[Part], kept: Choices) -> Choices:
    found: Choices = {}
    for part in train:
        stages, name = learner.staged[part.shape], str(part.task.name if part.shape is None else part.shape)
        before = kept.get(name, {})
        for number, stage in enumerate(stages):
            if not stage.objective.open and not (part.task.open and part.task.inverse.exact):
                continue
            if name not in found:
                choice = part.task.settle(part.y, before.get("rung"))
                found[name] = choice.to_json() if choice else {}
            teacher: Teacher = stage.objective
            if not isinstance(teacher, SoftenedGrounding) or not teacher.open:
                continue
            if teacher.kernel is not None:
                teacher, pace = with_measured_steps(teacher, part.task, part.y, before.get("pace"))
                found[name] |= {"pace": pace}
            elif (other := _by_parts(part, teacher)) is not None:
                teacher = other
            else:
                teacher, walk = _walk(teacher, part, before.get("walk"))
                found[name] |= {"walk": walk} if walk else {}
            stages[number] = replace(stage, objective=teacher)
    return {name: facts for name, facts in found.items() if facts}


def _by_parts(part: Part, teacher: SoftenedGrounding) -> Teacher | None:
    """The teacher for learning a rule part by part, also with a given inverse without a distribution."""
    task, choice = part.task, part.task.choice
    if choice is None and (task.inverse.exact or own_kernel(task.inverse) is not None):
        return None
    return parts_objective(task, teacher.schedule) if choice is None or choice.rung == "parts" else None


def _walk(
    teacher: SoftenedGrounding, part: Part, kept: Mapping[str, object] | None
) -> tuple[SoftenedGrounding, Json | None]:
    """Return the teacher with its kernel, and the entry to save if chains walk."""
    task, inverse = part.task, part.task.inverse
    if inverse.exact or own_kernel(inverse) is not None or not task.space.categorical or task.space.sites < 2:
        return replace(teacher, kernel=default_kernel(inverse, task.space)), None
    best = rebuilt(task, kept) if kept else recommend(task, part.data.answers, seconds=SECONDS)
    schedule = Constant(best.gamma0) if teacher.schedule in (Constant(1.0), Auto()) else teacher.schedule
    return SoftenedGrounding(best.kernel, schedule, max(teacher.steps, best.steps)), dict(kept or best.kept)


def _kept(folder: RunFolder) -> Choices:
    """Read the choices in a run folder."""
    kept = folder.read_config().get("choice") or {}
    if not isinstance(kept, dict) or not all(isinstance(one, dict) for one in kept.values()):
        raise CheckpointError(f"{folder.path}: its config names no choice of an inverse. Restore the file.")
    for one in kept.values():
        if one.get("rung") not in (None, *ORDER):
            raise CheckpointError(
                f"{folder.path}: its config names the inverse {str(one.get('rung'))[:40]!r}; expected one of "
                f"{', '.join(ORDER)}. Restore the file."
            )
    return kept


def deciding(choices: Choices) -> Choices:
    """The entries of the choices that affect the run, without reasons and times."""
    walks = {name: one["walk"] for name, one in choices.items() if "walk" in one}
    return {
        name: {"rung": one.get("rung")}
        | ({"walk": {part: walks[name][part] for part in WALK}} if name in walks else {})
        | ({"pace": {part: one["pace"][part] for part in PACE}} if "pace" in one else {})
        for name, one in choices.items()
    }


def choices_in_words(choices: Choices) -> list[str]:
    """Describe the choices and their reasons, one line each."""
    lines = []
    for name, one in choices.items():
        of = f" of shape {name}" if len(choices) > 1 else ""
        if "rung" in one:
            cost = f", {one['seconds']:.1f} s" if one["seconds"] >= 0.05 else ""
            lines.append(f"Inverse{of}: {one['rung']} ({one['reason']}{cost})")
            lines += [f"  not {other['rung']}: {other['reason']}" for other in one["refused"]]
        lines += [f"Walk{of}: {reason}" for part in ("walk", "pace") for reason in one.get(part, {}).get("reasons", ())]
    return lines


def with_measured_steps(
    teacher: SoftenedGrounding, task: Task, y: Tensor, kept: Mapping[str, Any] | None
) -> tuple[SoftenedGrounding, Json]:
    """Return the teacher with its T and its kernel's tries, and the entry to save."""
    assert teacher.kernel is not None
    kernel = teacher.kernel.bound(task)
    if kept is None:
        kept = _measured(kernel, task, y[:CHAINS])
    elif not all(isinstance(kept.get(name), int) and kept[name] >= 0 for name in PACE):
        raise CheckpointError(
            f"The run's config has the pace {dict(kept)!r}; expected whole numbers. Restore the file."
        )
    if isinstance(kernel, Several):
        kernel = replace(kernel, tries=max(1, kept["tries"]))
    return replace(teacher, kernel=kernel, steps=max(1, kept["steps"])), dict(kept)


def _measured(kernel: Kernel, task: Task, y: Tensor) -> Json:
    if kernel.independent:
        return {"steps": 1, "tries": 0, "reasons": ["T = 1, since a step forgets where the chain was"]}
    start = task.inverse.start(y, 0)
    z, y = start.z[start.found], y[start.found]
    target = Target.at(task.space.uniform(len(y), y.device), y, math.inf)
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
    """Walk some steps; return the states and, per step, the shares of accepted moves and of changed symbols."""
    accepted, moved = torch.zeros((), device=z.device), torch.zeros((), device=z.device)
    for _ in range(STEPS):
        after, info = kernel.step(dice, z, target)
        accepted, moved = accepted + info.acceptance.mean(), moved + (after != z).float().mean()
        z = after
    return z, float(accepted) / STEPS, float(moved) / STEPS
