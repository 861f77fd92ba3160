"""Claims in the text that no table holds: how many solutions jump, and how long Z3 takes for an inversion."""

from __future__ import annotations

import time
from typing import Any, cast

import torch
from torch import Tensor

from softground.data.examples import Examples
from softground.dice import Sampler, stream
from softground.experiments import Experiment
from softground.inverses.base import Inverse
from softground.kernels import KERNELS
from softground.learner import make_fabric
from softground.learner.datasets import Batches
from softground.learner.evaluation import beliefs
from softground.projections import ChangeOne, Drop, Projection
from softground.projections.base import Move
from softground.projections.moves import SwapInside
from softground.reals import AddNoise
from softground.target import Target
from softground.task import Task
from softground.tasks.formulas import Formulas
from softground.tasks.formulas.data.alphabet import value
from softground.tasks.formulas.rule import formula_program
from softground.tasks.sdsp import random_graphs, sdsp_task
from softground.tasks.sdsp.problem import NOISE, dropped
from softground.tasks.sudoku import sudoku_task
from softground.tasks.sudoku.rule import boxes
from softground.tasks.sudoku.walks import diagonal

from .baselines import Z3Reals

WALKS = 10  # T


def jump(experiment: Experiment) -> tuple[dict[str, Any], str]:
    """The share of solutions that have changed after one walk over the training set, and after T, at γ = 1.

    The paper's projection and walk, its network before any training, chains where the inverse puts them. An epoch of
    the paper's is one walk (its 1,000 epochs count each), an epoch of the learner's is T.
    """
    device = make_fabric(experiment.place.device).device
    task, train = cast(Task, experiment.task), cast(Examples, experiment.train)
    y = task.constraint.encode(train.y).to(device)
    start = task.inverse.start(y, stream(experiment.seed, "start I")).z
    kernel = KERNELS["metropolis"](Formulas(length=task.space.sites).walk(task), False)
    dice = Sampler(stream(experiment.seed, "dice"), device)
    network = experiment.network.to(device)
    moved: dict[int, list[Tensor]] = {1: [], WALKS: []}
    accepted = []
    with torch.no_grad():
        for index, belief in beliefs(task.space, network, Batches(train, device)):
            target, z = Target.at(belief, y[index], 1.0), start[index]
            for walk in range(1, WALKS + 1):
                z, info = kernel.step(dice, z, target)
                if walk in moved:
                    moved[walk].append((z != start[index]).any(-1))
                if walk == 1:
                    accepted.append(info.acceptance)
    shares = {f"after_{walk}": torch.cat(rows).double().mean().item() for walk, rows in moved.items()}
    return {"moved": shares, "acceptance": torch.cat(accepted).double().mean().item(), "examples": len(y)}, device.type


def z3_times(task: str, queries: int, seed: int) -> dict[str, Any]:
    """Milliseconds of one inversion by Z3 in one process: one completion (the paper's query), and the whole fibre.

    States are feasible, the walk has changed one kept component, and nothing is remembered between queries.
    """
    z, y, projection, move, inverses = _queries(task, queries, seed)
    dice = Sampler(stream(seed, "dice"))
    dropped = projection.draw(dice, len(z), z.device)
    proposal = move.propose(dice, z, dropped.kept(z.shape[1]))
    times = {}
    for name, inverse in inverses.items():
        begin = time.perf_counter()
        fibre = inverse.fibre(proposal, y, dropped)
        times[name] = {
            "milliseconds": 1000 * (time.perf_counter() - begin) / len(z),
            "feasible": (fibre.count > 0).double().mean().item(),
            "completions": fibre.count.double().mean().item(),
        }
    return {"queries": len(z), "inversions": times}


def _queries(task: str, count: int, seed: int) -> tuple[Tensor, Tensor, Projection, Move, dict[str, Inverse]]:
    """Feasible states and their answers, the paper's projection and walk, and inverses by Z3."""
    from softground.constraints.smt import SMT
    from softground.inverses.z3 import Z3
    from softground.tasks.formulas.rule import formula_rule
    from softground.tasks.sudoku.rule import sudoku_smt

    if task == "sdsp":
        paths = sdsp_task(margin=2.0**-10)
        graphs = random_graphs(count, 30, stream(seed, "train graphs")).examples()
        y = paths.constraint.encode(graphs.y)
        z = paths.inverse.start(y, seed).z
        move = cast(Move, AddNoise(NOISE))
        return z, y, Drop(paths.space, dropped(30)), move, {"one": Z3Reals(cast(Any, paths.constraint))}
    if task == "sudoku":
        sudoku = sudoku_task(4)
        space, smt = sudoku.space, sudoku_smt(4, sudoku.space)
        y = smt.encode([True] * count)
        projection, move = diagonal(space, 4), cast(Move, SwapInside(space, boxes(4)))
        z = sudoku.inverse.start(sudoku.constraint.encode([True] * count), seed).z
    else:
        program = formula_program(7)
        space = program.space
        smt = SMT(formula_rule, space, answers=program)
        some = space.states(torch.randint(space.size, (count,), generator=torch.Generator().manual_seed(seed)))
        y = smt.encode([value(state) for state in space.decode(some)])  # type: ignore[arg-type]
        z, projection, move = some, Drop(space, [2, 4]), cast(Move, ChangeOne(space))
    return z, y, projection, move, {"one": Z3(smt, cap=1, table=0, cache=0), "whole": Z3(smt, cap=512, cache=0)}


__all__ = ["WALKS", "jump", "z3_times"]
