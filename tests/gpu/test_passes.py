"""A network's recorded passes are its passes: outputs, gradients, running means and draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from softground.data.augment import RandomAffine
from softground.dice import seeded
from softground.learner import recording
from softground.learner.recording import Passes
from softground.networks import convnet
from softground.networks.blueprint import LAYERS, of_known_layers
from softground.networks.layers import draw_from

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="recordings need a GPU, and torch sees none")


def network() -> nn.Module:
    with seeded(0):
        return sg.PerSite(convnet((1, 8, 8), outputs=10, width=4), (1, 8, 8)).cuda().train()


def trained(wrap: Callable[[Any, nn.Module, Any], Any]) -> list[Tensor]:
    """What some steps leave, over batches of two sizes: outputs, gradients, buffers and places in the streams."""
    reader, augment = network(), RandomAffine(elastic=0.01)
    distortion, chance = (torch.Generator("cuda").manual_seed(seed) for seed in (1, 2))
    draw_from(reader, chance)
    function = wrap(lambda x: reader(augment(x, distortion)), reader, lambda: [distortion, chance])
    seen: list[Tensor] = []
    for step, size in enumerate([6, 6, 3, 6, 3]):
        x = torch.randint(0, 256, (size, 2, 1, 8, 8), generator=torch.Generator().manual_seed(step)).byte().cuda()
        reader.zero_grad()
        output = function(x)
        output.log_softmax(-1)[..., 3].sum().backward()
        seen += [output.detach(), *(weight.grad.clone() for weight in reader.parameters())]  # type: ignore[union-attr]
        with torch.no_grad():
            for weight in reader.parameters():
                weight -= 0.01 * weight.grad  # type: ignore[operator]
    return [*seen, *reader.buffers(), distortion.get_state(), chance.get_state()]


@needs_gpu
def test_recorded_passes_are_the_passes_themselves() -> None:
    plain, played = trained(lambda function, *_: function), trained(Passes)
    for one, other in zip(plain, played, strict=True):
        assert torch.allclose(one.double(), other.double(), rtol=1e-3, atol=1e-5)


@needs_gpu
def test_a_network_that_asks_for_values_is_refused_and_leaves_no_trace(recwarn: Any) -> None:
    reader, chance = network(), torch.Generator("cuda").manual_seed(2)
    draw_from(reader, chance)
    before = [part.clone() for part in reader.buffers()]
    place = chance.get_state()
    passes = Passes(lambda x: reader(x) * (1 + 0 * float(x.sum())), reader, lambda: [chance])
    with pytest.raises(recording.NotRecordable) as refused:
        passes(torch.zeros(2, 2, 1, 8, 8, device="cuda"))
    assert torch.equal(refused.value.places[0], place)
    assert all(torch.equal(a, b) for a, b in zip(before, reader.buffers(), strict=True))


def runs(monkeypatch: pytest.MonkeyPatch, played: bool, **settings: Any) -> Any:
    """A short fit on a GPU, with and without recordings."""
    with monkeypatch.context() as patch:
        if not played:
            patch.setattr("softground.learner.outputs.of_known_layers", lambda network: False)
            patch.setattr("softground.learner.recording.recordable", lambda *inputs: False)
        space = sg.Categorical([range(10)] * 2)
        task = sg.Task(space, sg.Program(lambda a, b: a + b, space))
        truth = torch.randint(0, 10, (200, 2), generator=torch.Generator().manual_seed(0))
        prints = torch.rand(10, 1, 8, 8, generator=torch.Generator().manual_seed(1))
        data = sg.Examples(prints[truth], truth.sum(1).tolist(), symbols=truth)
        with sg.seeded(0):
            reader = sg.PerSite(convnet((1, 8, 8), outputs=10, width=4), (1, 8, 8))
        stages = sg.grounding_stages(task, epochs=4)
        learner = sg.Learner(task, reader, stages, batch_size=32, device="cuda", **settings)
        learner.fit(data, test=data, quiet=True)
        return learner


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"augment": RandomAffine()}, {"precision": "bf16-mixed"}], ids=str)
def test_a_recorded_fit_is_the_fit(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    plain, played = runs(monkeypatch, False, **settings), runs(monkeypatch, True, **settings)
    assert played.loop.outputs.passes is not None
    assert played.loop.outputs.passes._recordings
    assert any(whole is not None for whole in played.loop.half._recorded.values())
    loose = 0.1 if "precision" in settings else 0.03  # six of 200 examples: a GPU adds up in another order each time
    for one, other in zip(plain.history_, played.history_, strict=True):
        for name in ("loss", "feasible", "train_symbol_accuracy", "grounded_symbols"):
            assert one[name] == pytest.approx(other[name], abs=loose)


def test_gradients_are_stored_as_their_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a sum is one number seen many times; a fused optimiser refuses it. Imitated on a CPU."""
    monkeypatch.setattr(recording, "rehearsed", lambda function: function())
    monkeypatch.setattr(recording, "taken", lambda function, *rest: (None, function()))
    layer = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    weights = list(layer.parameters())
    made = recording._TwoGraphs(lambda x: x + sum(w.sum() for w in weights), torch.zeros(4), weights, [], None)
    assert [g.stride() for g in made.gradients if g is not None] == [w.stride() for w in weights]
    assert all(torch.equal(g, torch.zeros_like(g)) for g in made.gradients if g is not None)  # the slope was 0


def test_only_known_layers_are_recorded() -> None:
    class Own(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x

    good = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), convnet((1, 8, 8), 10))
    assert of_known_layers(good)
    assert not of_known_layers(nn.Sequential(good, Own()))
    LAYERS.register("mine.Own")(Own)  # named, so that it can be saved, which says nothing of what it does
    try:
        assert not of_known_layers(nn.Sequential(good, Own()))
    finally:
        del LAYERS["mine.Own"]
    good[0].register_forward_hook(lambda *_: None)
    assert not of_known_layers(good)
