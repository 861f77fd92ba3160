"""The random streams of one process: everything a run draws, in generators that a checkpoint can hold."""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..dice import Sampler
from ..seeds import reseed, stream


class Streams:
    """Dice for the kernels, the order of the examples, their distortion, and the network's random layers.

    Layers and data sets of the user's own draw from torch's global generators, which all threads share. A fit borrows
    them (:func:`~softground.seeds.borrowed`), and their state belongs to the streams too.
    """

    def __init__(self, seed: int, rank: int, device: torch.device) -> None:
        self.seed, self.rank, self.device = seed, rank, device
        self.dice, self.order = Sampler(0, device), torch.Generator()
        self.distortion, self.chance = torch.Generator(device), torch.Generator(device)
        self.begin()

    def begin(self, again: str = "") -> None:
        """Seed every stream; ``again`` names a second beginning, whose draws are independent of the first."""
        # All processes deal the same batches, and the same anchors.
        ranks = {name: 0 if name == "order" else self.rank for name in self._generators()}
        seeds = {name: stream(self.seed, f"{name} {again}".strip(), rank) for name, rank in ranks.items()}
        for name, generator in self._generators().items():
            generator.manual_seed(seeds[name])
        reseed(seeds["network"])

    def renew(self, distortion: Tensor, chance: Tensor) -> None:
        """New generators in place of two that a failed recording has spoilt, which stood at these places."""
        self.distortion, self.chance = (torch.Generator(self.device).set_state(at) for at in (distortion, chance))

    def states(self) -> dict[str, Tensor]:
        """Where every stream is."""
        states = {name: generator.get_state() for name, generator in self._generators().items()}
        states["torch"] = torch.get_rng_state()
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def restore(self, states: Mapping[str, Tensor]) -> None:
        """Go on from :meth:`states`."""
        for name, generator in self._generators().items():
            generator.set_state(states[name])
        torch.set_rng_state(states["torch"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self.device)

    def _generators(self) -> dict[str, torch.Generator]:
        """The library's own streams by name. Not stored, because dice may get a new generator."""
        return {"dice": self.dice.generator, "order": self.order, "augment": self.distortion, "network": self.chance}
