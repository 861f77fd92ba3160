r"""MAPO: REINFORCE with a memory of rewarded samples.

Each example keeps a set B of z it has drawn whose reward R(z) was not below average: feasible ones, unless the task
rewards more (:meth:`softground.Task.reward`). With :math:`\pi_B = \sum_{z \in B} P(z|x)`, the gradient of the expected
reward splits into the memory's part, which is added up exactly, and the rest, which is sampled:

.. math:: \nabla E[R] = \pi_B \sum_{z \in B} \frac{P(z|x)}{\pi_B} (R(z) - b) \nabla \log P(z|x)
          + (1 - \pi_B)\, E_{z \sim P(\cdot|x),\, z \notin B} [(R(z) - b) \nabla \log P(z|x)] ,

b being REINFORCE's moving average of rewards. Early on π_B is tiny and the memory would be forgotten again, so its
weight is **clipped**: where B is not empty, π_B is replaced by max(π_B, α), and 1 − π_B by the rest. This is biased
while π_B < α, and unbiased from then on.

- *Outside samples.* Liang et al. draw until z ∉ B. Here z is drawn once and counts as 0 when it is in B: the same
  expectation, as (1 − π_B) is the probability of falling outside, without a loop that would not end as π_B → 1.
- *The memory* has a fixed capacity; when it is full, the least probable sample is left out. It knows each sample once.
  A sample enters after the step in which it was drawn, so that the memory a step uses does not depend on its draw.
- *Exploration* is sampling alone, without the original's systematic search of a program space.
- *Reals.* A finite set has probability 0 under a density: π_B = 0, and the memory's weight is α. Inside it each of k
  samples weighs min(ρ, 10)/k, where ρ = P(z|x) / P_then(z|x) is its density now over that when it was drawn
  (truncated importance weights): samples that counted in full would hold the network to the policy that drew them.

The code published with NGS, which the paper's comparison used, differs: it learns from the sample just drawn where it
should replay the memory, and weighs outside samples by their probability twice. That makes the method weaker.

Reference: C. Liang, M. Norouzi, J. Berant, Q. Le and N. Lao, Memory augmented policy optimization for program synthesis
and semantic parsing, NeurIPS 2018.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from softground.errors import LearnerError
from softground.experiments.recipe import IMPLIED
from softground.training.step import OBJECTIVES, Batch, Memory, Teacher, TrainingSet

from .adam import policy
from .reinforce import average, check_decay, no_rewards, note_rewards

LARGEST_RATIO = 10.0  # of densities now and when a real sample was drawn
IMPLIED["mapo"] = policy


@OBJECTIVES.register("mapo")
@dataclass(frozen=True)
class MAPO(Teacher):
    """Policy gradient with a memory of rewarded samples for each example."""

    weight: float = 0.5  # α, the least share of the gradient that a memory gets which is not empty; 0 clips nothing
    capacity: int = 32  # the most samples an example remembers
    decay: float = 0.99  # weight of the past in the moving average of rewards

    def __post_init__(self) -> None:
        check_decay(self.decay)
        if not 0 <= self.weight <= 1:
            raise LearnerError.of({"weight": self.weight}, "expected the memory's least share, from 0 to 1.")
        if self.capacity < 1:
            raise LearnerError.of({"capacity": self.capacity}, "expected room for one sample or more.")

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        y, nothing = train.y, train.task.space.encode([])  # of the type that the space's symbols have
        rewards = torch.zeros(len(y), self.capacity, dtype=torch.float64, device=y.device)
        return {
            "memory": nothing.new_zeros(len(y), self.capacity, train.task.space.sites, device=y.device),
            "rewards": rewards,
            "drawn": torch.zeros_like(rewards),  # log P(z|x) at the time
            "held": torch.zeros(len(y), dtype=torch.long, device=y.device),
            "baseline": no_rewards(y),
        }

    def teach(self, batch: Batch) -> None:
        known, index = batch.memory, batch.index
        memory, held = known["memory"][index], known["held"][index]
        filled = torch.arange(memory.shape[1], device=held.device) < held[:, None]
        # rows() repeats each example's belief, one row per sample of its memory.
        owner = torch.arange(len(held), device=held.device).repeat_interleave(memory.shape[1])
        with torch.enable_grad():
            belief = batch.given(batch.belief)
            log_memory = belief.rows(owner).log_prob(memory.flatten(0, 1)).view_as(filled)
        z = batch.informed.sample(batch.dice)
        reward = batch.task.reward(z, batch.y)
        seen = ((memory == z[:, None]).all(-1) & filled).any(-1)
        b = average(known["baseline"], index)
        scores = log_memory.detach().masked_fill(~filled, -torch.inf)
        categorical = batch.task.space.categorical
        share, outside = self._weights(scores, held > 0, categorical)
        worth = known["rewards"][index] - b
        inside = share[:, None] * worth * self._inside(scores, filled, known["drawn"][index], categorical)
        outside = outside * (reward - b) * ~seen
        with torch.enable_grad():
            log_prob = belief.log_prob(z)
            gain = (inside.to(log_prob.dtype) * log_memory.masked_fill(~filled, 0.0)).sum(-1)
            gain = gain + outside.to(log_prob.dtype) * log_prob
            batch.losses.append(-batch.mean(gain) / batch.processes / batch.task.space.sites)
        note_rewards(known["baseline"], index, reward, self.decay)
        new = (reward > 0) & (reward >= b) & ~seen
        self._remember(known, index, z, new, reward, scores, log_prob.detach())
        batch.figures |= {"reward": reward, "remembered": held, "memory_weight": share}

    def _inside(self, scores: Tensor, filled: Tensor, drawn: Tensor, categorical: bool) -> Tensor:
        """What each remembered sample takes of its memory's share."""
        if categorical:
            return scores.masked_fill(~filled.any(-1, keepdim=True), 0.0).softmax(-1)
        return (scores - drawn).exp().clamp(max=LARGEST_RATIO) / filled.sum(-1, keepdim=True).clamp(min=1)

    def _weights(self, scores: Tensor, remembers: Tensor, categorical: bool) -> tuple[Tensor, Tensor]:
        """The memory's share max(π_B, α), and the factor on a sample from outside, (1 − share) / (1 − π_B)."""
        mass = scores.double().logsumexp(-1).exp().clamp(max=1.0) * categorical
        clipped = remembers & (mass < self.weight)
        share = torch.where(clipped, self.weight, mass)
        return share, torch.where(clipped, (1 - self.weight) / (1 - mass), 1.0)

    def _remember(
        self, known: Memory, index: Tensor, z: Tensor, new: Tensor, reward: Tensor, scores: Tensor, log_prob: Tensor
    ) -> None:
        """Put new rewarded samples into the next free place, or into that of a less probable one."""
        held = known["held"][index]
        full = held == self.capacity
        worst, place = scores.min(-1)
        new = new & (~full | (log_prob > worst))
        here = torch.arange(self.capacity, device=held.device) == torch.where(full, place, held)[:, None]
        here &= new[:, None]
        known["memory"][index] = torch.where(here[..., None], z[:, None], known["memory"][index])
        known["rewards"][index] = torch.where(here, reward[:, None], known["rewards"][index])
        known["drawn"][index] = torch.where(here, log_prob.double()[:, None], known["drawn"][index])
        known["held"][index] = held + (new & ~full)
