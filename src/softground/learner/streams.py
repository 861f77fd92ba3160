"""The streams of chance of one process: all that a run draws, in generators that a checkpoint can hold."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..dice import Sampler
from ..seeds import reseed, stream


class Streams:
    """Dice for the kernels, the order of the examples, their distortion, and the network's random layers.

    Torch's own generators, which all threads share, are among them for what is not the library's; they are
    :func:`~softground.seeds.borrowed`.
    """

    def __init__(self, seed: int, rank: int, device: torch.device) -> None:
        self.seed, self.rank, self.device = seed, rank, device
        self.dice = Sampler(0, device)
        self.order = torch.Generator()
        self.distortion = torch.Generator(device)
        self.chance = torch.Generator(device)
        self.begin()

    def begin(self, again: str = "") -> None:
        """Seed every stream; ``again`` names a second beginning, whose draws are independent of the first."""

        def seed(name: str) -> int:
            return stream(self.seed, f"{name} {again}".strip(), self.rank)

        self.dice.generator.manual_seed(seed("dice"))
        self.order.manual_seed(seed("order"))
        self.distortion.manual_seed(seed("augment"))
        self.chance.manual_seed(seed("network"))
        reseed(seed("network"))

    def states(self) -> dict[str, Tensor]:
        """Where every stream is."""
        states = {
            "dice": self.dice.state(),
            "order": self.order.get_state(),
            "augment": self.distortion.get_state(),
            "network": self.chance.get_state(),
            "torch": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def restore(self, states: Mapping[str, Tensor]) -> None:
        """Go on from :meth:`states`."""
        self.dice.restore(states["dice"])
        self.order.set_state(states["order"])
        self.distortion.set_state(states["augment"])
        self.chance.set_state(states["network"])
        torch.set_rng_state(states["torch"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self.device)
