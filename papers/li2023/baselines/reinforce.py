r"""REINFORCE (RL): the network as a policy that is paid for feasible symbols.

z ~ P(z|x) is drawn for each example and earns the task's reward R(z): 1 if z ∈ S_y, else 0, unless the task knows how
much of z is right (:meth:`softground.Task.reward`). For any b that does not depend on the draw,

.. math:: \nabla_\theta\, E_{z \sim P_\theta}[R(z)] = E_{z \sim P_\theta}[(R(z) - b)\, \nabla_\theta \log P_\theta(z|x)]

so the gradient of −(R(z) − b) log P(z|x) is unbiased; b, the moving average of the rewards of earlier batches, lowers
its variance. (The code published with NGS counts a batch's own rewards into b first, which makes the gradient slightly
biased.) The loss is divided by the number of sites, like the other objectives'. Its value means little; the diagnostic
``reward`` is the figure to watch. Where S_y is a small share of the space and only z ∈ S_y is rewarded, the reward is
almost always 0, and nothing is learnt.

Reference: R. J. Williams, Simple statistical gradient-following algorithms for connectionist reinforcement learning,
Machine Learning 8 (1992).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from softground.errors import LearnerError
from softground.experiments.recipe import IMPLIED
from softground.training.step import OBJECTIVES, Batch, Memory, Teacher, TrainingSet

from .adam import policy

IMPLIED["reinforce"] = policy


@OBJECTIVES.register("reinforce")
@dataclass(frozen=True)
class Reinforce(Teacher):
    """Policy gradient with the task's reward, by default 1 for a feasible sample; any space."""

    decay: float = 0.99  # weight of the past in the moving average of rewards

    def __post_init__(self) -> None:
        check_decay(self.decay)

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        return {"baseline": no_rewards(train.y)}

    def teach(self, batch: Batch) -> None:
        baseline = batch.memory["baseline"]
        z = batch.informed.sample(batch.dice)
        reward = batch.task.reward(z, batch.y)
        advantage = reward - average(baseline, batch.index)
        note_rewards(baseline, batch.index, reward, self.decay)
        with torch.enable_grad():
            log_prob = batch.given(batch.belief).log_prob(z)
            gain = batch.mean(advantage.to(log_prob.dtype) * log_prob) / batch.processes
            batch.losses.append(-gain / batch.task.space.sites)
        batch.figures["reward"] = reward


def check_decay(decay: float) -> None:
    if not 0 <= decay < 1:
        raise LearnerError.of({"decay": decay}, "expected a number from 0 to below 1, such as 0.99.")


def no_rewards(y: Tensor) -> Tensor:
    """A moving average that has seen nothing: ``[examples, 2]`` rows of (weighted sum of rewards, sum of weights).

    A checkpoint takes each row of an objective's memory from the process that owns the example. So a process writes its
    one average into all rows, and finds it again in the row of an example of its own.
    """
    return torch.zeros(len(y), 2, dtype=torch.float64, device=y.device)


def average(totals: Tensor, index: Tensor) -> Tensor:
    """b, as the process that owns ``index`` knows it: 0 before the first reward."""
    row = totals[index[:1]]
    return row[0, 0] / row[0, 1].clamp(min=torch.finfo(totals.dtype).tiny)


def note_rewards(totals: Tensor, index: Tensor, reward: Tensor, decay: float) -> None:
    """Let the moving average take in a batch's rewards.

    Dividing by the sum of weights makes it right from the first batch on (as in Adam): no slow rise from 0.
    """
    seen = torch.stack([reward.mean(), torch.ones_like(reward[0])])
    totals.copy_((decay * totals[index[:1]] + (1 - decay) * seen).expand_as(totals))
