"""A batch's way through the network: a recording that fails is made up for, draw for draw."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from softground.data.augment import RandomAffine
from softground.learner.outputs import Outputs
from softground.learner.recording import NotRecordable
from softground.networks import convnet

SPACE = sg.Categorical([range(4)] * 2)
TRUTH = torch.randint(0, 4, (40, 2), generator=torch.Generator().manual_seed(0))
PRINTS = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def fitted(augment: Any) -> tuple[sg.Learner, list[Tensor]]:
    """A short fit of a network that draws, on images that are distorted; and what it leaves."""
    task = sg.Task(SPACE, sg.Program(lambda a, b: a + b, SPACE))
    with sg.seeded(0):
        network = sg.PerSite(convnet((1, 8, 8), outputs=4, width=4), (1, 8, 8))
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=2), batch_size=16, augment=augment)
    learner.fit(sg.Examples(PRINTS[TRUTH], TRUTH.sum(1).tolist()), quiet=True)
    streams = learner.loop.streams
    return learner, [*network.state_dict().values(), streams.distortion.get_state(), streams.chance.get_state()]


@pytest.mark.parametrize("augment", [None, RandomAffine(), lambda x, chance: x + 0.1 * torch.rand(1, generator=chance)])
def test_a_recording_that_fails_is_made_up_for(augment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plain = fitted(augment)
    spoilt = []

    class Failing:
        norm = None

        def __init__(self, outputs: Outputs) -> None:
            self.streams = outputs.streams

        def __call__(self, x: Tensor) -> Tensor:
            generators = self.streams.distortion, self.streams.chance
            places = [generator.get_state() for generator in generators]
            for generator in generators:
                torch.rand(9, generator=generator)
                spoilt.append(generator)
            raise NotRecordable(places)

    begin = Outputs.__init__

    def begun(self: Outputs, *given: Any) -> None:
        begin(self, *given)
        self.passes = Failing(self)  # type: ignore[assignment]

    monkeypatch.setattr(Outputs, "__init__", begun)
    learner, made_up = fitted(augment)
    assert learner.loop.outputs.passes is None
    assert learner.loop.streams.distortion not in spoilt
    assert len(spoilt) == 2  # it is tried once
    assert all(torch.equal(one, other) for one, other in zip(plain, made_up, strict=True))
