"""Is the bias 'gradually wiped out in the training process'? Measured in a small training run of the paper's method.

The remark after Proposition 1 has it that 'the decreasing of γ shrinks the support of Q*, making the gradient estimate
finally align with the true one'. Here formulas of five symbols in built-in digits are learnt by Stage I with the
paper's walk and projection, LeNet-5 on 8×8 pixels by Adam. After some of its epochs, for the first training formulas,
at that epoch's γ and, to tell the two apart, at γ = 1:

- ``after``: the distance to Q* of the chain's law T steps on from where it stands, by the walk's matrix;
- ``settled``: that of the law it ends in, of walks however long: what the solver's choice costs, and parts of S_y that
  the walk does not reach;
- ``unreached``: what Q* gives to those parts;
- ``bias``: the length of the gradient's bias after T steps in the network's outputs;
- how sharp the network is (the mean of its highest probabilities) and Q* (its entropy).
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from softground.data.examples import Examples
from softground.experiments import Experiment
from softground.inverses import Table
from softground.target import Target
from softground.task import Task

from .walks import Walk, distance

DROPPED = (2, 4)  # the paper's
LOOKS = 8  # at training, evenly apart
OPTIONS: dict[str, Any] = {"length": 5, "image_size": 8, "test_size": 200, "zero_epochs": 0, "evaluate_every": 10**6}
OPTIONS |= {"optimizer": "adam", "learning_rate": 2e-3, "batch_size": 32, "standardise": True, "device": "cpu"}


class Watch:
    """An observer that measures after some epochs."""

    def __init__(self, experiment: Experiment, examples: int) -> None:
        recipe, task, train = experiment.recipe, cast(Task, experiment.task), cast(Examples, experiment.train)
        assert recipe is not None
        self.steps, self.every = recipe.steps, max(1, recipe.epochs // LOOKS)
        self.network, self.space, self.x = experiment.network, task.space, train.x[:examples]
        self.y = task.constraint.encode(train.y[:examples])
        table = cast(Table, task.inverse)
        self.walks = {int(y): Walk(table, DROPPED, y[None]) for y in torch.unique(self.y)}
        self.rows: list[dict[str, Any]] = []
        self.learner: Any = None

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and (facts["epoch"] + 1) % self.every == 0:
            gamma = math.inf if facts["gamma"] is None else float(facts["gamma"])
            self.rows.append({"epoch": facts["epoch"] + 1, "feasible": facts["feasible"]} | self._look(gamma))

    @torch.no_grad()
    def _look(self, gamma: float) -> dict[str, Any]:
        belief = self.space.belief(self.network(self.x).double())
        chains = self.learner.loop.parts[0].memory[0]["chains"][: len(self.y)]
        sharp = belief.marginals().amax(-1).mean()
        found: dict[str, Any] = {"gamma": None if math.isinf(gamma) else gamma, "sharpness": float(sharp)}
        for name, at in (("now", gamma), ("one", 1.0)):
            each = [
                self._distances(Target.at(belief.rows(row[None]), self.y[row, None], at), chains[row])
                for row in torch.arange(len(self.y))
            ]
            found[name] = {key: float(torch.stack([e[key] for e in each]).mean()) for key in each[0]}
        return found

    def _distances(self, target: Target[Any], z: Tensor) -> dict[str, Tensor]:
        walk = self.walks[int(target.answers)]
        place = (walk.states == z).all(1).nonzero()[0, 0]
        weight = target.weights.rows(torch.zeros(len(walk.states), dtype=torch.long)).log_prob(walk.states)
        law, after = weight.softmax(0), walk.after(weight, place, self.steps)
        elsewhere = walk.parts != walk.parts[place]
        codes = one_hot(walk.states, self.space.width).double().flatten(1)
        return {
            "after": distance(after, law),
            "settled": distance(walk.settled(weight, place), law),
            "unreached": law[elsewhere].sum(),
            "bias": ((after - law) @ codes).norm(),
            "entropy": -(law * law.clamp(min=1e-300).log()).sum(),
        }


def sharpening(train_size: int, epochs: int, examples: int, seed: int) -> dict[str, Any]:
    """Train, and look at the first ``examples`` training formulas on the way."""
    experiment = Experiment.named("hwf", "paper", train_size=train_size, epochs=epochs, seed=seed, **OPTIONS)
    watch, learner = Watch(experiment, examples), experiment.learner()
    watch.learner = learner
    learner.fit(experiment.train, experiment.test, observer=watch)
    states = [len(watch.walks[int(y)].states) for y in watch.y]
    return {
        "rows": watch.rows,
        "test": learner.results_["I"],
        "states": sum(states) / len(states),
        "steps": watch.steps,
        "recipe": learner.recipe,
    }


__all__ = ["sharpening"]
