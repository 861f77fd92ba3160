r"""Every random choice a kernel makes goes through a :class:`Dice`.

Kernels never touch a generator. They ask for one of three choices, one row per example, and say with what
probabilities; kernels on reals ask for a uniform number and invert a distribution. :class:`Sampler` draws from a seeded
generator. The tests use other dice that walk through **all** outcomes and add up their probabilities: the transition
matrix that is checked against Q* comes from the code that runs in training, to machine precision.
"""

from typing import Protocol

import torch
from torch import Tensor

UNIT = 2.0**-40  # what probabilities are rounded to
WIDE, STRETCH = 1024, 64  # rows of this many options are drawn from in stretches


class Dice(Protocol):
    """Source of chance, one choice per example."""

    def categorical(self, log_weights: Tensor) -> Tensor:
        """Draw one column per row of unnormalised log-weights ``[rows, options]``: ``[rows]``."""

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        """Draw from ragged rows of probabilities: row r owns ``weights[offsets[r]:offsets[r+1]]``, which add up to 1.

        Returns flat positions, ``[rows]``.
        """

    def accept(self, log_ratio: Tensor) -> Tensor:
        """True with probability min(1, exp(log_ratio)), per row."""

    def uniform(self, rows: int) -> Tensor:
        """Numbers uniform on [0, 1) in double precision: ``[rows]``. Only kernels on reals ask for these."""


def any_of(dice: Dice, usable: Tensor) -> Tensor:
    """One usable option per row, uniformly: ``usable[rows, options]`` (bool) to ``[rows]``."""
    return dice.categorical(torch.zeros_like(usable, dtype=torch.float32).masked_fill(~usable, -torch.inf))


class Sampler:
    """Dice that draw from one seeded generator on the network's device.

    Choices are made by inversion of the cumulative probabilities: one uniform number per row, whatever the number of
    options. Probabilities are rounded to multiples of 2⁻⁴⁰ and added up as whole numbers, because whole numbers give
    the same sum in any order: the same choice on any number of threads, and on a GPU.

    >>> dice = Sampler(seed=0)
    >>> dice.categorical(torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])).tolist()
    [0, 1]
    """

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed(seed)

    def uniform(self, rows: int) -> Tensor:
        return torch.rand(rows, generator=self.generator, device=self.generator.device, dtype=torch.float64)

    def categorical(self, log_weights: Tensor) -> Tensor:
        # A row's whole numbers and their sums are exact as doubles too, which saves a GPU the conversions.
        weights = log_weights.double().softmax(-1).div(UNIT, rounding_mode="trunc")
        if not _in_stretches(weights):
            cumulative = weights.cumsum(-1)
            level = self.uniform(len(weights))[:, None] * cumulative[:, -1:]
            return _first_above(cumulative, level)
        # First a stretch of options, then one of them.
        count = -(-weights.shape[1] // STRETCH)
        stretches = torch.nn.functional.pad(weights, (0, count * STRETCH - weights.shape[1])).view(-1, count, STRETCH)
        sums = stretches.sum(-1)
        cumulative = sums.cumsum(-1)
        level = self.uniform(len(weights))[:, None] * cumulative[:, -1:]
        chosen = _first_above(cumulative, level)[:, None]
        within = stretches.gather(1, chosen[..., None].expand(-1, 1, STRETCH)).squeeze(1).cumsum(-1)
        return chosen.squeeze(1) * STRETCH + _first_above(within, level - (cumulative - sums).gather(1, chosen))

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        cumulative = torch.nn.functional.pad(_fixed_point(weights.double()).cumsum(0), (1, 0))
        low, high = cumulative[offsets[:-1]], cumulative[offsets[1:]]
        level = low + (self.uniform(len(low)) * (high - low)).long()
        return torch.searchsorted(cumulative, level, right=True) - 1

    def accept(self, log_ratio: Tensor) -> Tensor:
        return self.uniform(len(log_ratio)) < log_ratio.double().exp()

    def state(self) -> Tensor:
        """The generator's state, for a checkpoint."""
        return self.generator.get_state()

    def renew(self, state: Tensor) -> None:
        """:meth:`restore` with a new generator, where a failed recording has spoilt the old one."""
        self.generator = torch.Generator(device=self.generator.device)
        self.restore(state)

    def restore(self, state: Tensor) -> None:
        """Continue exactly where :meth:`state` was taken."""
        self.generator.set_state(state.cpu().clone())  # a view into a larger tensor would not do


def _in_stretches(weights: Tensor) -> bool:
    """Whether to do so: a GPU adds a long row up much faster than it accumulates it, a CPU does not."""
    return weights.is_cuda and weights.shape[1] >= WIDE


def _first_above(cumulative: Tensor, level: Tensor) -> Tensor:
    """Each row's first option above the level: strictly, so that one of weight zero is never chosen, not at level 0."""
    return torch.searchsorted(cumulative, level, right=True).squeeze(-1)


def _fixed_point(probabilities: Tensor) -> Tensor:
    """Multiples of 2⁻⁴⁰; 2²³ rows of them still fit into 64 bits."""
    return (probabilities / UNIT).long()
