"""The figures for a verdict, from the network's readings of training and held-out examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..dice import untouched
from ..files import Json
from ..metrics import best_relabelling
from ..preparing import reporter
from ..training.information import spread
from ..training.noise import Noise
from .datasets import Part
from .device import everyone
from .evaluation import BATCH, Reading, believe, output_of, sites_of
from .plan import Plan
from .restarts import RARE, best_of
from .run_state import Progress
from .trained_part import TrainedPart
from .verdict import HALF, Figures, Verdict, verdict_of

SAMPLE = 2_000  # training examples read for a run without a folder
DRAWS = 1_024  # random states that measure chance
OFTEN, CONFUSED = 5, 0.3  # occurrences from which a symbol is judged, and the share of them that is a confusion
WIDEST = 500  # the largest alphabet for counting confusions


@torch.no_grad()
def verdict_figures(
    learner: Plan,
    parts: Sequence[TrainedPart],
    progress: Progress,
    held_out: Mapping[str, Sequence[Part]],
    readings: Mapping[str, Sequence[Reading]],
    trained: Sequence[Reading] | None = None,
) -> tuple[Figures, Json]:
    """The figures of a run that has ended, and what inspection finds of the readings of one shape (for a summary).

    ``readings`` are those of the held-out data, ``trained`` those of the training data. If the latter are not given, a
    sample is read here.
    """
    history, settings, space = progress.history, learner.settings, parts[0].task.space
    early = stopped(learner, history)
    if early and trained is None:
        return Figures(explained=history[-1].get("feasible"), stopped=early), {}
    with untouched():
        read = [_sampled(p) if trained is None else (_all(p), trained[k].predicted[0]) for k, p in enumerate(parts)]
    counted = torch.stack([_counted(part, *one) for part, one in zip(parts, read, strict=True)]).sum(0)
    right, answers, chance = torch.tensor(everyone(learner.fabric, counted.tolist())).sum(0).tolist()
    figures: dict[str, Any] = {"explained": right / answers if answers else None, "chance": chance / max(answers, 1)}
    figures |= {"sites": space.sites, "symbols": len(space.symbols) if space.categorical else 0}
    name = next((name for name in ("test", "validation") if name in held_out), None)
    if name is not None:
        pairs = list(zip(held_out[name], readings[name], strict=True))
        right, answers, _ = torch.stack([_counted(p, _all(p), r.predicted[0], 0) for p, r in pairs]).sum(0).tolist()
        figures |= {"held_out": right / answers if answers else None, **_true_symbols(*zip(*pairs, strict=True))}
    if progress.starts:
        best = best_of(progress.starts)
        signs = {each.kind: each for each in best.failures}
        figures |= {"unexplained": None if best.loss is None else "unexplained" in signs}
        if "unused" in signs and "accuracy" not in figures:
            figures |= {"unused": tuple(signs["unused"].names)}
    if settings.noise == "learn":
        figures |= {"noise": Noise("learn").at(history)}
    figures |= {"stopped": early}
    labelled = any(part.data.known is not None or part.data.anchors is not None for part in parts)
    labelled |= not all(each.objective.weak for each in learner.stages)
    figures |= {"labelled": labelled}
    found: Json = {}
    if len(parts) == 1 and (trained is not None or (figures["explained"] or 0.0) >= HALF):
        (part,), ((rows, z),) = parts, read
        fine = part.task.feasible(z, part.y[rows])
        found = reporter().facts(part.task, z[fine], part.y[rows][fine])
    nameless = parts[0].task.nameless_symbols
    names = {"one_to_one": 2, "disagree": [*map(str, space.symbols)]} if nameless else found.get("other_maps")
    return Figures(**figures, names=names), found


def unfinished(learner: Plan, history: Sequence[Json]) -> Verdict:
    """The verdict on a run interrupted after these epochs, by the readings in the last one."""
    if not history:
        return verdict_of(Figures())
    return verdict_of(
        Figures(explained=history[-1].get("feasible"), stopped=stopped(learner, history) or (len(history),) * 2)
    )


def stopped(learner: Plan, history: Sequence[Json]) -> tuple[int, int] | None:
    """Epochs done and planned of a run that was ended early; None for a complete run."""
    names, each = [stage.name for stage in learner.stages], len(learner.stages) // len(learner.ways)
    last = names.index(history[-1]["stage"])
    stage, start = learner.stages[last], last // each
    whole = history[-1]["epoch"] + 1 >= stage.epochs or stage.patience > 0
    if whole and last % each == each - 1:
        return None
    return len(history), sum(each.epochs for each in learner.stages[: each * (start + 1)])


def _all(part: Part) -> Tensor:
    return torch.arange(len(part.data), device=part.data.device)


def _sampled(part: TrainedPart) -> tuple[Tensor, Tensor]:
    """Some training examples of this process, and the network's readings."""
    rows, found = spread(len(part.data), SAMPLE).to(part.data.device), []
    for index, x in part.data.walk(list(torch.split(rows, BATCH))):
        found.append(believe(part.space, output_of(part.network, x), part.data.at(index)).mode())
    return rows, torch.cat(found)


def _counted(part: Part, rows: Tensor, z: Tensor, draws: int = DRAWS) -> Tensor:
    """Among examples with an answer: the numbers explained, in total, and explained by chance."""
    given = torch.tensor([part.data.answers[row] is not None for row in rows.tolist()], device=z.device)
    fine = part.task.feasible(z, part.y[rows]) & given
    some, count = given.nonzero().flatten(), given.sum().double()
    some = some[torch.arange(draws if len(some) else 0, device=z.device) % max(1, len(some))]
    random = part.task.space.random(len(some), torch.Generator().manual_seed(0)).to(z)
    lucky = part.task.feasible(random, part.y[rows][some]).double().mean() if len(some) else torch.zeros(())
    return torch.stack([fine.sum().double(), count, lucky.to(count) * count])


def _true_symbols(parts: Sequence[Part], readings: Sequence[Reading]) -> Json:
    """Compare the readings with the true symbols, if these are known."""
    sites = sites_of(parts, readings)
    if not sites:
        return {}
    true, read = (torch.cat([getattr(each, name) for each in sites]) for name in ("truth", "predicted"))
    names, size = [*map(str, parts[0].space.symbols)], len(parts[0].space.symbols)
    found: Json = {"accuracy": float((read == true).double().mean())}
    found["relabelled"] = float((best_relabelling(read, true, size)[read] == true).double().mean())
    if size > WIDEST:
        return found
    counts = torch.bincount(true * size + read, minlength=size * size).view(size, size)
    often, total = counts.sum(1), counts.sum(0)
    rare = (often >= OFTEN) & (total < RARE * often)
    wrong = (counts.double() / often.clamp(min=1)[:, None]).fill_diagonal_(0)
    worst = [
        (names[a], names[b], float(wrong[a, b])) for a, b in (wrong >= CONFUSED).nonzero().tolist() if often[a] >= OFTEN
    ]
    return found | {
        "confused": tuple(sorted(worst, key=lambda one: -one[2])),
        "unused": tuple(names[at] for at in rare.nonzero().flatten().tolist()),
    }
