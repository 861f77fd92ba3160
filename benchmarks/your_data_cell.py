"""One run of ``your_data.py``: data as people have them, made from images of digits. Writes its record as JSON.

    python benchmarks/your_data_cell.py addition --wrong 0.2 --noise learn --data-dir DIR --seed 0 --out FILE

Every image is used once (of boards: once before any is used again), test examples show images of the test set, and
their answers are right. Network, optimiser, epochs and distortions are those of ``--preset best``, for boards of
Sudoku, else of addition, as ``choose.py`` chose them on validation data of those tasks, whose answers are clean; where
there are fewer examples than in addition, so many more epochs that they add up to as many. Nothing was chosen for what
is measured here.

addition
    Pairs with their sums. A share ``--wrong`` has another sum instead, uniform over the other 18.
modular
    5,000 pairs with (a + b) mod 10, and ``--anchors`` labelled images of each digit, which no pair shows.
product
    Triples with a·b + c. A share ``--infeasible`` has a number instead that no triple gives: 91 … 181, uniform.
boards
    150 valid 4×4 boards, uniform over the 288, and 150 invalid ones, whose answer is ``Not(True)``; to test on, 500 of
    each. Invalid: a valid board in which one cell shows the digit of another cell of its row, its column or its box;
    the cell, which of the three, and the other cell are uniform. A board is judged right if the network reads a valid
    board and it is valid, or an invalid one and it is invalid.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import softground as sg
from softground.data.digits import Digits, load_digits
from softground.dice import seeded, stream
from softground.experiments import Experiment
from softground.experiments.named import named_recipe, problem_of
from softground.experiments.place import Place
from softground.experiments.recipe import Recipe
from softground.runs.folder import plain
from softground.tasks.sudoku.boards import draw_images, random_boards
from softground.tasks.sudoku.problem import sudoku_task
from softground.tasks.sudoku.rule import groups

Change = Callable[[int, np.random.Generator], int]
RULES: dict[str, tuple[int, Callable[..., Any], Change]] = {  # sites, rule, and what is told instead of an answer
    "addition": (2, lambda a, b: a + b, lambda y, rng: (y + int(rng.integers(1, 19))) % 19),
    "modular": (2, lambda a, b: (a + b) % 10, lambda y, rng: (y + int(rng.integers(1, 10))) % 10),
    "product": (3, lambda a, b, c: a * b + c, lambda y, rng: int(rng.integers(91, 182))),
}
SIZES = {"addition": 30_000, "modular": 5_000, "product": 20_000, "boards": 150}
TEST_BOARDS = 500
OWN = ("data", "examples", "wrong", "infeasible", "anchors")  # options that make the data
PRESET = {"boards": "sudoku"}  # else addition's


@dataclass(frozen=True)
class Data:
    """What a run learns from, and what judges it."""

    task: sg.Task
    train: sg.Examples
    test: sg.Examples
    anchors: sg.Anchors | None = None
    wrong: frozenset[int] = frozenset()  # the training examples that are told a wrong answer


def numbers(given: argparse.Namespace, pools: Sequence[Digits], rng: np.random.Generator) -> Data:
    """Digits dealt out in a random order, and what they give."""
    sites, rule, change = RULES[given.problem]
    space = sg.Categorical([range(10)] * sites)
    task = sg.Task(space, sg.Program(rule, space, vectorised=True), name=given.problem)
    (seen, unseen), (first, second) = pools, (rng.permutation(len(pool.labels)) for pool in pools)
    held = np.concatenate([np.flatnonzero(seen.labels[first] == digit)[: given.anchors] for digit in range(10)])
    images, labels = seen.images[first[held]][:, None], seen.labels[first[held]].tolist()
    train = dealt(seen, np.delete(first, held), sites, rule, given.examples)
    wrong = rng.permutation(len(train))[: round((given.wrong + given.infeasible) * len(train))].tolist()
    told = list(train.y)
    for place in wrong:
        told[place] = change(told[place], rng)
    anchors = sg.Anchors(torch.from_numpy(images), labels) if len(held) else None
    test = dealt(unseen, second, sites, rule, len(second))
    return Data(task, replace(train, y=told), test, anchors, frozenset(wrong))


def dealt(pool: Digits, order: Any, sites: int, rule: Callable[..., Any], most: int) -> sg.Examples:
    """At most so many examples from images in this order, each used once."""
    count = min(most, len(order) // sites)
    places = order[: count * sites].reshape(count, sites)
    codes = pool.labels[places].astype(np.int64)
    return sg.Examples(
        torch.from_numpy(pool.images[places][:, :, None]),
        [rule(*row) for row in codes.tolist()],
        torch.from_numpy(codes),
    )


def boards(given: argparse.Namespace, pools: Sequence[Digits], rng: np.random.Generator) -> Data:
    """Valid and invalid boards in turn."""
    parts = [shown(pool, count, rng) for pool, count in zip(pools, (given.examples, TEST_BOARDS), strict=True)]
    return Data(sudoku_task(4), *parts)


def shown(pool: Digits, count: int, rng: np.random.Generator) -> sg.Examples:
    """So many valid boards and as many invalid ones, in images."""
    codes = random_boards(4, 2 * count, rng)
    for board in codes[1::2]:
        cell, kind = rng.integers(16), rng.integers(3)
        (group,) = [group for group in groups(4)[4 * kind : 4 * kind + 4] if cell in group]
        board[cell] = board[rng.choice([other for other in group if other != cell])]
    images = torch.from_numpy(pool.images[draw_images(pool, codes, rng)][:, :, None])
    return sg.Examples(images, [True, sg.Not(True)] * count, torch.from_numpy(codes))


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Train once; what came out."""
    *pools, note = load_digits(given.data, given.data_dir)
    rng = np.random.default_rng(stream(given.seed, "data"))
    data = (boards if given.problem == "boards" else numbers)(given, pools, rng)
    recipe = recipe_of(given)
    problem = problem_of(recipe)
    with seeded(stream(given.seed, "weights")):
        network = problem.network(recipe, data.train.x, data.task.space)
    experiment = Experiment(
        data.task,
        network,
        data.train,
        data.test,
        problem.stages(recipe, data.task),
        problem.distortion if recipe.augment else None,
        place=Place(device=given.device),
        **recipe.changed(seed=given.seed, unexplained=given.unexplained).chosen(),
    )
    learner = experiment.learner().fit(data.train, data.test, anchors=data.anchors)
    last = learner.history_[-1]
    found = {
        **list(learner.results_.values())[-1],
        "recipe": recipe.to_json() | {"task": given.problem, "problem": {name: getattr(given, name) for name in OWN}},
        "note": note,
        "examples": {"train": len(data.train), "test": len(data.test), "wrong": len(data.wrong)},
        "wall_seconds": learner.seconds_,
        "training": {name: last[name] for name in ("feasible", "noise", "meant", "unexplained") if name in last},
    }
    if recipe.noise:
        suspects = {one.example for one in learner.suspects_}
        hits = len(suspects & data.wrong)
        found |= {"recall": hits / max(1, len(data.wrong)), "precision": hits / max(1, len(suspects))}
    return found


def recipe_of(given: argparse.Namespace) -> Recipe:
    """The preset's recipe with the options in their place."""
    kind = PRESET.get(given.problem, "addition")
    own = {"data": given.data, "train_size": given.examples * 2 if kind == "sudoku" else given.examples}
    options = {"seed": given.seed, "objective": given.objective, "noise": given.noise, "unexplained": given.unexplained}
    options |= {name: getattr(given, name) for name in ("epochs", "network") if getattr(given, name)}
    recipe = named_recipe(kind, "best", **own, **options, evaluate_every=10**6)[0]
    if kind == "sudoku" or given.epochs:  # Sudoku's preset sees to it by itself
        return recipe
    return replace(recipe, epochs=round(recipe.epochs * SIZES["addition"] / SIZES[given.problem]))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=list(SIZES))
    parser.add_argument("--wrong", type=float, default=0.0, help="share of wrong answers")
    parser.add_argument("--infeasible", type=float, default=0.0, help="share of answers that nothing explains")
    parser.add_argument("--anchors", type=int, default=0, help="labelled images of each digit")
    parser.add_argument("--noise", type=lambda text: text if text == "learn" else float(text), default=0.0)
    parser.add_argument("--unexplained", default="raise")
    parser.add_argument("--objective", default="grounding", help="sup: with labels")
    parser.add_argument(
        "--examples", type=int, help="at most so many training examples, of boards so many of each kind"
    )
    parser.add_argument("--epochs", type=int, help="another number than the preset's, to try things out")
    parser.add_argument("--network", help="another than the preset's, to try things out")
    parser.add_argument("--data", choices=["digits", "mnist"], default="mnist")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    given.examples = given.examples or SIZES[given.problem]
    given.out.write_text(json.dumps(plain(measure(given))))


if __name__ == "__main__":
    main()
