r"""The default way of grounding symbols, chosen before training from the information in the answers.

There are three ways: *plain*; *scaled*, which divides P by the network's usage of the symbols
(:mod:`softground.training.scaled`); and *annealed*, which is scaled at a temperature that falls from 2 to 1 over the
first third of the stage. *Annealed longer* begins at 4 and takes half of the stage.

Scaling prevents merged symbols. Annealing avoids wrong readings that explain nearly every answer, but it slows learning
if an answer says little about each symbol. So it needs answers with a share ι ≥ 0.3 of the symbols' information
(:mod:`softground.training.information`), stages of at least six epochs, and a distribution on S_y. If an answer is no
more informative than a truth value, log 2, scaling can delay the first steps, so the first start is plain. It is also
plain if each site has its own head: different sites then have no usage in common.

A given schedule and ``scaled=False`` are kept. Further starts (the setting ``restarts``) take the other ways in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import CheckpointError
from ..runs.folder import RunFolder
from ..schedules import Auto, Constant, Linear, Schedule
from ..training.information import told
from .datasets import Part
from .plan import Plan
from .stage import Stage

ENOUGH = 0.3  # the least ι for annealing
TRUTH = math.log(2) + 0.01  # the most nats in a truth value
SHORT = 6  # the fewest epochs for annealing
ANNEALED: dict[str, tuple[float, float]] = {"annealed": (2.0, 1 / 3), "annealed longer": (4.0, 1 / 2)}  # γ₀, until when
WAYS = ("plain", "scaled", *ANNEALED)


def is_open(stage: Stage) -> bool:
    """Whether the learner chooses the stage's way of grounding."""
    return stage.scaled is None or isinstance(getattr(stage.objective, "schedule", None), Auto)


def chosen(learner: Plan, train: list[Part], kept: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Choose the ways of all starts and give the reason; None if every stage names its way.

    ``kept`` holds the choices in a resumed run's folder; without an entry there, the run is plain.
    """
    if not any(is_open(stage) for part in train for stage in learner.staged[part.shape]):
        return None
    if kept is not None:
        ways = kept.get("ways", ["plain"])
        if not isinstance(ways, list) or not ways or any(way not in WAYS for way in ways):
            raise CheckpointError(f"The run's config names the ways {str(ways)[:60]}; expected some of {WAYS}.")
        return dict(kept) | {"ways": ways}
    facts: dict[str, Any] = {}
    if not all(part.task.space.categorical for part in train):
        ways, reason = ["plain"], "the symbols are real numbers"
    elif not all(part.task.inverse.exact for part in train):
        ways, reason = ["scaled", "plain"], "S_y has no law to anneal by"
    else:
        each = [(len(part.y), *told(part.task, part.y, part.data.known)) for part in train]
        nats, all_nats = (sum(one[0] * one[k] for one in each) / sum(one[0] for one in each) for k in (1, 2))
        share = nats / all_nats if all_nats else 1.0
        facts, reason = {"told": nats, "share": share}, f"an answer tells {share:.0%} of its symbols"
        if all(part.task.space.head == "site" for part in train):
            ways, reason = ["plain", "scaled", "annealed"], "each site has outputs of its own, and so no common usage"
        elif nats <= TRUTH:
            ways, reason = ["plain", "scaled", "annealed"], "an answer tells no more than a truth value"
        elif share >= ENOUGH:
            ways = ["annealed", "annealed longer", "scaled"]
        else:
            ways = ["scaled", "plain", "annealed"]
    stages = [stage for part in train for stage in learner.staged[part.shape] if is_open(stage)]
    if all(stage.scaled is False for stage in stages):
        ways, reason = ["plain"], "that was given"
    elif not any(isinstance(getattr(stage.objective, "schedule", None), Auto) for stage in stages):
        ways = list(dict.fromkeys("plain" if way == "plain" else "scaled" for way in ways))
    return facts | {"ways": ways[: 1 + learner.settings.restarts], "reason": reason}


def dressed(stage: Stage, way: str, start: int = 0) -> Stage:
    """Return the stage with this way of grounding; a further ``start`` changes its name."""
    scaled, teacher = (way != "plain" if stage.scaled is None else stage.scaled), stage.objective
    if isinstance(getattr(teacher, "schedule", None), Auto):
        schedule: Schedule = Constant(1.0)
        if scaled and way in ANNEALED and stage.epochs >= SHORT:
            first, until = ANNEALED[way]
            schedule = Linear(first, (first - 1) / (until * stage.epochs), 1.0)
        teacher = replace(teacher, schedule=schedule)  # type: ignore[type-var]
    name = f"{stage.name}, start {start + 1}" if start else stage.name
    return replace(stage, scaled=scaled and teacher.sums, objective=teacher, name=name)


def ground(learner: Plan, train: list[Part], folder: RunFolder | None) -> dict[str, Any] | None:
    """Set the ways of the learner's stages, add the stages of further starts, and return the choice, if any.

    All processes take process 0's choice. A resumed run takes the choice in its ``folder``.
    """
    kept = None if folder is None else folder.read_config().get("grounding") or {}
    choice = learner.fabric.broadcast(chosen(learner, train, kept))
    give_ways(learner, choice)
    return choice


def give_ways(learner: Plan, choice: Mapping[str, Any] | None) -> None:
    """Make the stages of every start, each in its way."""
    ways = ["plain"] if choice is None else choice["ways"]
    learner.ways = [ways[start % len(ways)] for start in range(1 + learner.settings.restarts)]
    for shape, stages in learner.staged.items():
        learner.staged[shape] = [
            dressed(stage, way, start) for start, way in enumerate(learner.ways) for stage in stages
        ]


def grounding_in_words(learner: Plan) -> list[str]:
    """Describe the choice and the number of starts in one line."""
    choice, starts = learner.grounding_, len(learner.ways)
    if choice is None and starts == 1:
        return []
    choice = choice or {"ways": ["as given"]}
    why = f", since {choice['reason']}" if "reason" in choice else ""
    return [f"Grounding: {choice['ways'][0]}{why}" + (f"; up to {starts} starts" if starts > 1 else "")]
