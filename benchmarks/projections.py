"""Chains on a rule without a law: the projection that the search recommends against short trials of small ones.

    python benchmarks/projections.py [--seeds 2] [--jobs 1] [--only grid sudoku] [--rows search trial three]

Runs on record in ``--out`` are not repeated. Two rules in CPMpy, each as one whole, so that nothing but chains is left:

grid
    300 grids of 4×5 digits; the sums of all rows and columns are known.
sudoku
    200 boards of 6×6 Sudoku with boxes of 2×3, without clues. Digits count under the renaming that agrees best.

Images are scikit-learn's 8×8 digits; test images are never shown in training. The library's network, optimiser and
rate; 16 examples a batch. Kernels are composed of Guided and Collapsed on one projection. T and γ₀ follow from the
chains' movement, in all rows alike. What differs is how the projection is found:

search
    ``softground.walks.recommend``, for at most ten seconds.
trial
    Chains of 16 answers take four steps at γ = ∞ with RandomDrop(1), (2) and (3). The projection that changes most
    symbols in a step is taken; acceptance breaks ties, then the fewer sites.
three
    RandomDrop(3), whatever the trial says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cpmpy as cp
import numpy as np
import torch
from cells import fill, parser, recorded
from torch import Tensor

import softground as sg
from softground.dice import Sampler, seeded, stream
from softground.metrics import best_relabelling
from softground.runs.folder import plain
from softground.target import Target
from softground.walks.candidates import collapsed
from softground.walks.recommendation import Recommendation, paced, recommend
from softground.walks.solutions import some
from softground.walks.time_limit import TimeLimit

ROWS = ("search", "trial", "three")
SIZES = {"grid": (300, 300), "sudoku": (200, 300)}
BATCH, EPOCHS, SECONDS, CHAINS, STEPS = 16, 60, 10.0, 16, 4
CELLS = np.arange(20).reshape(4, 5)
LINES = [*CELLS.tolist(), *CELLS.T.tolist()]
BOARD = np.arange(36).reshape(6, 6)
HOUSES = [*BOARD.tolist(), *BOARD.T.tolist()]
HOUSES += [BOARD[r : r + 2, c : c + 3].flatten().tolist() for r in (0, 2, 4) for c in (0, 3)]


def sums(z: Any, y: Any) -> list[Any]:
    """Rows and columns of a grid have their sums."""
    return [cp.sum([z[i] for i in line]) == total for line, total in zip(LINES, y, strict=True)]


def valid(z: Any, y: Any) -> list[Any]:
    """Rows, columns and boxes of a board have no digit twice."""
    return [cp.AllDifferent([z[i] for i in house]) for house in HOUSES]


def boards(count: int, rng: np.random.Generator) -> Any:
    """Random valid boards as codes, by a search that tries digits in random order."""
    near = [sorted({j for house in HOUSES if i in house for j in house if j < i}) for i in range(36)]

    def filled(board: list[int]) -> list[int] | None:
        if len(board) == 36:
            return board
        taken = {board[j] for j in near[len(board)]}
        tried = (filled([*board, int(d)]) for d in rng.permutation(6) if d not in taken)
        return next((found for found in tried if found is not None), None)

    return np.array([filled([]) for _ in range(count)])


def renamed(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Valid boards; and correct digits, under the renaming that agrees best."""
    assert symbols is not None
    right = best_relabelling(predicted, symbols)[predicted] == symbols
    symbol = right.double().mean().item()
    return {"answer_accuracy": feasible.double().mean().item(), "relabelled_symbol_accuracy": symbol}


def problem(name: str) -> tuple[sg.Task, Any]:
    """A task without a law, and what draws its examples."""
    space = sg.Categorical([range(10)] * 20 if name == "grid" else [range(1, 7)] * 36)
    rule = sg.CPMpy(sums if name == "grid" else valid, space)
    inverse, figures = sg.inverses.CPSAT(rule), {} if name == "grid" else {"metrics": renamed}
    task = sg.Task(space, rule, inverse, name=name, **figures)

    def draw(count: int, part: Any, seed: int) -> sg.Examples:
        rng = np.random.default_rng(stream(seed, part))
        codes = rng.integers(10, size=(count, 20)) if name == "grid" else boards(count, rng)
        answers = [tuple(int(row[line].sum()) for line in LINES) if name == "grid" else () for row in codes]
        digits = torch.from_numpy(codes + (name == "sudoku"))
        images = sg.handwritten(digits, part, stream(seed, f"{part} images") % 2**31)
        return sg.Examples(images, answers, symbols=torch.from_numpy(codes))

    return task, draw


def walk(task: sg.Task, projection: Any) -> sg.kernels.Kernel:
    """The walk that the library takes on a projection."""
    guided = sg.kernels.Guided(task.inverse, projection, marginals=True)
    return sg.kernels.Composed([guided, collapsed(task, projection, change=True)])


def tried(task: sg.Task, answers: Sequence[Any], row: str) -> tuple[Recommendation, list[dict[str, Any]]]:
    """The projection that a short trial chooses, and its figures."""
    y = task.constraint.encode(list(answers[:CHAINS]))
    start = task.inverse.start(y if len(y) == CHAINS else y.repeat(CHAINS, 1)[:CHAINS], 0)
    y = task.constraint.encode([answers[i % len(answers)] for i in range(CHAINS)])[start.found]
    figures, kernels = [], []
    for size in (1, 2, 3):
        projection = sg.projections.RandomDrop(task.space, size)
        kernel, dice, z = walk(task, projection), Sampler(0), start.z[start.found]
        target: Target[Any] = Target(task.space.uniform(len(y), y.device), y, float("inf"))
        moved = accepted = 0.0
        began = time.perf_counter()
        for _ in range(STEPS):
            after, info = kernel.step(dice, z, target)
            moved += float((after != z).double().mean()) / STEPS
            accepted += float(info.acceptance.double().mean()) / STEPS
            z = after
        seconds = (time.perf_counter() - began) / STEPS
        figures.append({"dropped": size, "changed": moved, "accepted": accepted, "seconds": seconds})
        kernels.append((projection, kernel))
    best = 2 if row == "three" else max(range(3), key=lambda k: (figures[k]["changed"], figures[k]["accepted"], -k))
    projection, kernel = kernels[best]
    return Recommendation(kernel, projection, 1, 1.0, (), f"RandomDrop({best + 1})"), figures


def cell(given: argparse.Namespace) -> dict[str, Any]:
    """Train once; what came out."""
    began = time.perf_counter()
    task, draw = problem(given.problem)
    train, test = (draw(n, p, given.seed) for n, p in zip(SIZES[given.problem], ("train", "test"), strict=True))
    chosen = time.perf_counter()
    figures: list[dict[str, Any]] = []
    if given.row == "search":
        found = recommend(task, train.answers, seconds=SECONDS)
    else:
        found, figures = tried(task, train.answers, given.row)
        limit = TimeLimit(SECONDS)
        found = paced(task, some(task, train.answers, 16, 0, limit), found, 0, limit)
    chosen = time.perf_counter() - chosen
    with seeded(stream(given.seed, "weights")):
        network = sg.default_network(train.x, task.space)
    schedule = sg.schedules.Constant(found.gamma0)
    stages = sg.grounding_stages(task, found.kernel, schedule, epochs=given.epochs, steps=found.steps)
    learner = sg.Learner(task, network, stages, batch_size=BATCH, seed=given.seed, device=given.device).fit(train)
    last = learner.history_[-1]
    return {
        **learner.evaluate(test),
        "recipe": {"task": given.problem, "row": given.row, "seed": given.seed, "epochs": given.epochs}
        | {"batch_size": BATCH, "examples": dict(zip(("train", "test"), SIZES[given.problem], strict=True))},
        "choice": {"walk": repr(found.projection), "steps": found.steps, "gamma0": found.gamma0}
        | {"reasons": list(found.reasons), "seconds": chosen, "trials": figures},
        "wall_seconds": time.perf_counter() - began,
        "training": {name: last[name] for name in ("acceptance", "moved", "feasible", "loss") if name in last},
    }


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's record; None where it failed or did not end in time."""
    return recorded(Path(__file__).resolve(), name, options, device, min(limit, 1500.0))


def main(argv: Sequence[str]) -> None:
    """Run what is missing, or one cell."""
    if argv[:1] == ["cell"]:
        one = argparse.ArgumentParser()
        one.add_argument("problem", choices=list(SIZES))
        one.add_argument("row", choices=ROWS)
        one.add_argument("--seed", type=int, default=0)
        one.add_argument("--epochs", type=int, default=EPOCHS)
        one.add_argument("--device", default="auto")
        one.add_argument("--data-dir", help="not needed: the images are scikit-learn's")
        one.add_argument("--out", type=Path, required=True)
        given = one.parse_args(argv[1:])
        given.out.write_text(json.dumps(plain(cell(given)), indent=1) + "\n")
        return
    options = parser(str(__doc__), "projections")
    options.add_argument("--only", nargs="+", choices=list(SIZES), default=list(SIZES))
    options.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    options.set_defaults(seeds=2)
    given = options.parse_args([*argv, "--data-dir", "embedded"])
    names = [(p, row, seed) for seed in range(given.seeds) for p in given.only for row in given.rows]
    cells = {f"{p}/{row}/{seed}": f"cell {p} {row} --seed {seed}" for p, row, seed in names}
    figures = ("symbol_accuracy", "relabelled_symbol_accuracy", "answer_accuracy")
    fill(given, "", cells, figures, "python benchmarks/projections.py", measure)


if __name__ == "__main__":
    main(sys.argv[1:])
