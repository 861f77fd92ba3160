"""The paper's method as its successor ran it, one run; writes its record as JSON.

    python benchmarks/successor_cell.py evenodd --data-dir DIR --seed 0 --out FILE

After the code of Soft-PNet (arXiv 2609.12247), whose baseline it is, with LeNet, Adam, batches of 64 and no labels:

Stage I
    Learn from one grounding per example, at 1e-3: of K drawn from S_y, the likeliest by the network as it stands.
    EvenOdd (10 epochs, K = 10, S_y of the pairs that occur): drawn in the first epoch and kept, since chains walk in
    every tenth epoch after it. Boards (100 epochs, K = 100, 150 valid and 150 invalid ones): drawn anew in every tenth
    epoch; in the others one step of the paper's walk at γ, 1 at first and 0.95 times as high in every epoch after the
    eleventh, at least 0.01.
Stage II
    40 epochs at 1e-4 on the likeliest of K groundings, drawn anew for every batch, not on feasible predictions alone.

An invalid board is drawn as the data are: a valid one in which a cell shows the digit of another one of its row, its
column or its box. It walks by exchanging two cells, as long as it stays invalid. Departures: Stage I leaves the network
that explains most training answers, where the successor's leaves the one with the best *test* figure; any two cells of
a box may be made equal, or exchanged, where the successor leaves some pairs out. On Kand-Logic no code of this baseline
is published, so that it is not run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from softground.dice import Dice, any_of
from softground.experiments import Experiment
from softground.inverses.base import coded
from softground.kernels import DirectWalk, Metropolis
from softground.learner import Stage
from softground.projections import SwapInside
from softground.target import Target
from softground.task import Task
from softground.tasks.sudoku.rule import boxes, groups
from softground.tasks.sudoku.walks import diagonal
from softground.training import Batch, Teacher, TrainingSet

OPTIONS: dict[str, dict[str, Any]] = {
    "evenodd": {"known_pairs": True, "epochs": 10, "draws": 10},
    "validity": {"boards": "both", "epochs": 100, "draws": 100},
}
SAME = {"zero_epochs": 40, "optimizer": "adam", "learning_rate": 1e-3, "zero_learning_rate": 1e-4, "batch_size": 64}
SAME |= {"standardise": False, "evaluate_every": 1000, "keep": "best"}
EVERY = 10  # epochs between two draws of boards
SIZE = 4

Step = Callable[[Dice, Tensor, Target[Any]], Tensor]


def cooled(epoch: int) -> float:
    """γ of an epoch."""
    return max(0.01, 0.95 ** max(0, epoch - EVERY))


@dataclass(frozen=True)
class BestDraw(Teacher):
    """Learn from the likeliest of some draws from S_y, made anew in the epochs that ``fresh`` says; else ``step``."""

    draws: int
    fresh: Callable[[int], bool]
    step: Step | None = None

    def remember(self, train: TrainingSet, seed: int) -> dict[str, Tensor]:
        shape = len(train.y), train.task.space.sites
        return {"groundings": torch.zeros(shape, dtype=torch.long, device=train.y.device)}

    def teach(self, batch: Batch) -> Tensor:
        belief, groundings, epoch = batch.evidence, batch.memory["groundings"], batch.moment.epoch
        if self.fresh(epoch):
            z = drawn(batch.task, batch.y.repeat_interleave(self.draws), batch.dice)
            rows = torch.arange(len(batch.y), device=z.device).repeat_interleave(self.draws)
            best = belief.rows(rows).log_prob(z).view(-1, self.draws).argmax(1)
            groundings[batch.index] = z.view(-1, self.draws, z.shape[1])[torch.arange(len(best)), best]
        elif self.step is not None:
            target = Target.at(belief, batch.y, cooled(epoch))
            groundings[batch.index] = self.step(batch.dice, groundings[batch.index], target)
        return groundings[batch.index]


def drawn(task: Task, y: Tensor, dice: Dice) -> Tensor:
    """Uniform on S_y; where that is a complement, a state of S_y with one cell changed."""
    outside = y < 0
    uniform = task.space.uniform(len(y), y.device)
    z = task.inverse.law(Target(uniform, coded(task.inverse, torch.where(outside, ~y, y)), 1.0)).draw(dice)
    return torch.where(outside[:, None], spoilt(z, dice), z) if bool(outside.any()) else z


def spoilt(z: Tensor, dice: Dice) -> Tensor:
    """Boards in which a cell shows the digit of another one of its row, its column or its box."""
    group = torch.tensor(groups(SIZE), device=z.device)
    pairs = torch.cat([group[:, [i, j]] for i in range(SIZE) for j in range(SIZE) if i != j])
    pair = pairs[any_of(dice, torch.ones(len(z), len(pairs), dtype=torch.bool, device=z.device))]
    return z.scatter(1, pair[:, :1], z.gather(1, pair[:, 1:]))


def board_step(task: Task) -> Step:
    """The paper's walk on valid boards, exchanges of two cells on the others."""
    swap = SwapInside(task.space, [box for i, box in enumerate(boxes(SIZE)) if i % 3 == 0])
    inside = Metropolis(task.inverse, diagonal(task.space, SIZE), swap)
    outside = DirectWalk(swap, task.constraint)

    def step(dice: Dice, z: Tensor, target: Target[Any]) -> Tensor:
        z = z.clone()
        for kernel, rows in ((inside, target.answers >= 0), (outside, target.answers < 0)):
            if len(own := rows.nonzero().flatten()):
                part = Target(target.weights.rows(own), target.answers[own], target.gamma)
                z[own] = kernel.step(dice, z[own], part)[0]
        return z

    return step


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Train once; what came out."""
    options = OPTIONS[given.problem] | SAME | {"data": given.data, "data_dir": given.data_dir, "seed": given.seed}
    options |= {name: value for name in ("epochs", "zero_epochs", "train_size") if (value := getattr(given, name))}
    draws = options.pop("draws")
    made = Experiment.named(given.problem, "paper", device=given.device, **options)
    recipe: Any = made.recipe
    task: Any = made.task
    boards = given.problem == "validity"
    every, step = (EVERY, board_step(task)) if boards else (recipe.epochs, None)
    first = BestDraw(draws, lambda epoch: epoch % every == 0, step)
    stages = [
        Stage("I", first, recipe.epochs, lambda p: torch.optim.Adam(p, lr=recipe.learning_rate), keep=recipe.keep),
        Stage(
            "II",
            BestDraw(draws, lambda epoch: True),
            recipe.zero_epochs,
            lambda p: torch.optim.Adam(p, lr=recipe.zero_learning_rate),
        ),
    ]
    with TemporaryDirectory() as folder:
        found = replace(made, stages=stages, recipe=None).run(Path(folder) / "run", silent=True, quiet=True)
    del found["run_folder"]
    own = {"objective": "successor", "zero_objective": "successor", "draws": draws}
    return found | {"recipe": recipe.to_json() | own}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", choices=list(OPTIONS))
    for name in ("epochs", "zero-epochs", "train-size"):
        parser.add_argument(f"--{name}", type=int, help="another number than the successor's, to try things out")
    parser.add_argument("--data", choices=["digits", "mnist"], default="mnist")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    given.out.write_text(json.dumps(measure(given)))


if __name__ == "__main__":
    main()
