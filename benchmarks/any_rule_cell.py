"""One run of ``any_rule.py``: a rule of one's own on handwritten digits, no kernel named. Writes its record as JSON.

    python benchmarks/any_rule_cell.py mixed --rule z3 --seed 0 --out FILE

Images are scikit-learn's 8×8 digits, drawn with replacement; test examples show the quarter of them that training never
shows. Network, optimiser, epochs and temperature are the library's defaults; the batch size was fixed before anything
was measured.

mixed
    3,000 triples of digits, each with one thing that is true of it: their sum is so much; it is less than 20; one of
    them is a 7. 1,000 states. In Z3, in CPMpy, and as a constraint of one's own.
grid, large
    1,000 grids of 3×4 (10¹² states) and of 4×5 digits (10²⁰), with the sums of all rows and all columns. In CPMpy, and
    as parts (``sg.All``).
few
    60 grids of 3×4. After 20 epochs of its parts, ten more; or ten of Stage II, or of chains on the whole rule.
killer
    300 boards of 4×4 Sudoku, without clues but with cages: neighbouring cells whose sum is told. Sizes and shapes of
    cages are drawn for every board. In CPMpy.
instruments
    2,000 triples of dials of which the total is known: data, network and optimiser of ``examples/instruments.py``, and
    the 200 epochs that its validation part chose. The figure is the root mean square ``error`` of readings.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import softground as sg
from softground.dice import seeded, stream
from softground.runs.folder import plain
from softground.tasks.sudoku.boards import random_boards
from softground.tasks.sudoku.rule import groups

SIZES = {"mixed": (3000, 1000), "grid": (1000, 300), "few": (60, 300), "large": (1000, 300), "killer": (300, 500)}
EPOCHS, DIALS, MORE = 20, 200, 10
BATCH = {"mixed": 64, "grid": 16, "few": 16, "large": 16, "killer": 16}
SHAPES = {"grid": (3, 4), "few": (3, 4), "large": (4, 5)}


@dataclass(frozen=True)
class Problem:
    """Symbols, the rule in one way of writing it, and examples: their symbols and answers."""

    space: sg.Categorical
    rule: Any
    draw: Callable[[int, np.random.Generator], tuple[Tensor, list[Any]]]


class Own(sg.constraints.Constraint):
    """The mixed relations as a user writes them in tensors; an answer is a kind and a number."""

    KINDS = ("=", "<", "has")

    def __init__(self, space: sg.Categorical) -> None:
        self.space = space

    def encode(self, answers: Sequence[Any]) -> Tensor:
        return torch.tensor([(self.KINDS.index(kind), value) for kind, value in answers])

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        kind, value = y.unbind(1)
        total, has = z.sum(1), (z == value[:, None]).any(1)
        return torch.where(kind == 0, total == value, torch.where(kind == 1, total < value, has))

    def admissible(self, z: Tensor) -> Tensor:
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> Any:
        return self.KINDS[int(y[0])], int(y[1])


def mixed(given: argparse.Namespace) -> Problem:
    space = sg.Categorical([range(10)] * 3)

    def in_z3(z: Any, y: Any) -> Any:
        import z3

        (kind, value), total = y, z3.Sum(z)
        return {"has": z3.Or(*[d == value for d in z]), "=": total == value, "<": total < value}[kind]

    def in_cpmpy(z: Any, y: Any) -> Any:
        import cpmpy as cp

        (kind, value), total = y, cp.sum(z)
        return {"has": cp.any(z == value), "=": total == value, "<": total < value}[kind]

    def draw(count: int, rng: np.random.Generator) -> tuple[Tensor, list[Any]]:
        digits, told = rng.integers(10, size=(count, 3)), []
        for row in digits.tolist():
            true = [("=", sum(row))] + [("<", 20)] * (sum(row) < 20) + [("has", 7)] * (7 in row)
            told.append(true[rng.integers(len(true))])
        return torch.from_numpy(digits), told

    rules = {"z3": lambda: sg.SMT(in_z3, space), "cpmpy": lambda: sg.CPMpy(in_cpmpy, space), "own": lambda: Own(space)}
    return Problem(space, rules[given.rule](), draw)


def sums(given: argparse.Namespace) -> Problem:
    rows, columns = SHAPES[given.problem]
    cells = np.arange(rows * columns).reshape(rows, columns)
    lines = [*cells.tolist(), *cells.T.tolist()]
    space = sg.Categorical([range(10)] * cells.size)

    def in_cpmpy(z: Any, y: Any) -> Any:
        import cpmpy as cp

        return [cp.sum([z[i] for i in line]) == total for line, total in zip(lines, y, strict=True)]

    def draw(count: int, rng: np.random.Generator) -> tuple[Tensor, list[Any]]:
        digits = rng.integers(10, size=(count, cells.size))
        return torch.from_numpy(digits), [tuple(int(row[line].sum()) for line in lines) for row in digits]

    rule = sg.All([sg.Sum(line) for line in lines], space) if given.rule == "parts" else sg.CPMpy(in_cpmpy, space)
    return Problem(space, rule, draw)


def killer(given: argparse.Namespace) -> Problem:
    space = sg.Categorical([range(1, 5)] * 16)

    def in_cpmpy(z: Any, y: Any) -> Any:
        import cpmpy as cp

        houses = [cp.AllDifferent([z[i] for i in group]) for group in groups(4)]
        return houses + [cp.sum([z[i] for i in cage]) == total for cage, total in y]

    def draw(count: int, rng: np.random.Generator) -> tuple[Tensor, list[Any]]:
        codes, told = random_boards(4, count, rng), []
        for board in codes:
            told.append(tuple((cage, int(board[list(cage)].sum()) + len(cage)) for cage in cages(rng)))
        return torch.from_numpy(codes), told

    return Problem(space, sg.CPMpy(in_cpmpy, space), draw)


def cages(rng: np.random.Generator) -> list[tuple[int, ...]]:
    """A board cut into cages of 2 or 3 neighbouring cells; a cell that is left over is a cage by itself."""
    free, found = set(range(16)), []
    for cell in rng.permutation(16).tolist():
        if cell not in free:
            continue
        cage, size = [cell], int(rng.integers(2, 4))
        while len(cage) < size:
            near = sorted({n for c in cage for n in neighbours(c)} & free - set(cage))
            if not near:
                break
            cage.append(int(rng.choice(near)))
        free -= set(cage)
        found.append(tuple(sorted(cage)))
    return sorted(found)


def neighbours(cell: int) -> list[int]:
    row, column = divmod(cell, 4)
    around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [4 * r + c for r, c in around if 0 <= r < 4 and 0 <= c < 4]


def examples(problem: Problem, count: int, part: Any, seed: int) -> sg.Examples:
    codes, told = problem.draw(count, np.random.default_rng(stream(seed, part)))
    digits = torch.tensor([int(s) for s in problem.space.alphabets[0]])[codes]  # type: ignore[call-overload]
    return sg.Examples(sg.handwritten(digits, part, stream(seed, f"{part} images") % 2**31), told, symbols=codes)


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Train once; what came out."""
    if given.problem == "instruments":
        return instruments(given)
    began = time.perf_counter()
    problem = {"mixed": mixed, "grid": sums, "few": sums, "large": sums, "killer": killer}[given.problem](given)
    counts = SIZES[given.problem]
    train, test = (examples(problem, n, part, given.seed) for n, part in zip(counts, ("train", "test"), strict=True))
    task = sg.Task(problem.space, problem.rule, name=given.problem)
    with seeded(stream(given.seed, "weights")):
        network = sg.default_network(train.x, problem.space)
    epochs = (given.epochs or EPOCHS) + MORE * (given.then == "parts")
    stages = sg.grounding_stages(task, epochs=epochs, zero_epochs=MORE * (given.then == "zero"))
    if given.then == "chains":
        kernel = sg.kernels.Guided(task.inverse, sg.projections.RandomDrop(problem.space, 4), marginals=True)
        objective = sg.training.SoftenedGrounding(kernel, sg.schedules.Constant(1.0), 2)
        stages.append(sg.Stage("chains", objective, MORE, lambda p: torch.optim.Adam(p, lr=1e-3)))
    if given.labels:
        stages = [replace(stages[0], name="SUP", objective=sg.training.Supervised())]
    batch = BATCH[given.problem]
    learner = sg.Learner(task, network, stages, batch_size=batch, seed=given.seed, device=given.device).fit(train)
    choice = learner.choice_.get(given.problem, {})
    return {
        **learner.evaluate(test),
        "recipe": {"task": given.problem, "rule": given.rule, "labels": given.labels, "seed": given.seed}
        | ({"then": given.then, "more": MORE} if given.then else {})
        | {"epochs": stages[0].epochs, "batch_size": batch, "examples": {"train": counts[0], "test": counts[1]}},
        "choice": {name: choice[name] for name in ("rung", "reason", "seconds", "refused", "walk") if name in choice},
        "wall_seconds": time.perf_counter() - began,
        "training": {name: learner.history_[-1][name] for name in ("feasible", "loss")},
    }


def instruments(given: argparse.Namespace) -> dict[str, Any]:
    """Train once, from totals or from labels."""
    began, place = time.perf_counter(), Path(__file__).resolve().parents[1] / "examples" / "instruments.py"
    spec: Any = importlib.util.spec_from_file_location("instruments", place)
    spec.loader.exec_module(example := importlib.util.module_from_spec(spec))
    train, test = example.examples(2000, 2 * given.seed), example.examples(1000, 2 * given.seed + 1)
    task, objective = sg.Task(example.space, example.rule, metrics=example.error), sg.training.SemanticLoss()
    stage = sg.Stage(
        "I", objective, given.epochs or DIALS, lambda p: torch.optim.AdamW(p, lr=5e-3), sg.learner.one_cycle()
    )
    if given.labels:
        stage = replace(stage, name="SUP", objective=sg.training.Supervised())
    learner = sg.Learner(task, example.reader(given.seed), [stage], seed=given.seed, device=given.device).fit(train)
    return {
        **learner.evaluate(test),
        "recipe": {"task": "instruments", "labels": given.labels, "seed": given.seed, "epochs": stage.epochs},
        "choice": {},
        "wall_seconds": time.perf_counter() - began,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=[*SIZES, "instruments"])
    parser.add_argument("--rule", choices=("z3", "cpmpy", "own", "parts"), default="cpmpy")
    parser.add_argument("--then", choices=("parts", "zero", "chains"), help="what follows after the epochs")
    parser.add_argument("--labels", action="store_true", help="train with labels, as a yardstick")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir", help="not needed: the images are scikit-learn's")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    given.out.write_text(json.dumps(plain(measure(given)), indent=1) + "\n")


if __name__ == "__main__":
    main()
