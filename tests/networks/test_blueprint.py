"""A network's description builds the same network again, and nothing that is not on the list is ever built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from softground import Categorical, PerSite, convnet, default_network, mlp
from softground.errors import SoftgroundError
from softground.networks import Dropout, Ensemble, Standardise, lenet
from softground.networks.blueprint import LAYERS, TORCH, build, describe
from softground.runs.codec import decode, encode
from softground.tasks.sdsp.networks import PathGNN, PathMLP

SPACE = Categorical([range(5)] * 3)
SHAPES = [(3, 1, 8, 8), (3, 8, 8), (1, 16, 16), (3, 7), (7,)]
NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "convnet": (PerSite(convnet((1, 8, 8), 5), (1, 8, 8)), (3, 1, 8, 8)),
    "lenet": (PerSite(nn.Sequential(Standardise(0.3, 0.2), lenet((1, 28, 28), 5)), (1, 28, 28)), (3, 1, 28, 28)),
    "mlp": (mlp(7, 5), (3, 7)),
    "gnn": (PathGNN(6, channels=8, rounds=3), (6, 6)),
    "path mlp": (PathMLP(6, hidden=9, relabel=True), (6, 6)),
    "ensemble": (Ensemble([mlp(7, 5), mlp(7, 5)]), (3, 7)),
    "layers": (
        nn.Sequential(nn.Conv2d(1, 4, 3, padding="same", bias=False), nn.GroupNorm(2, 4), nn.PReLU()),
        (1, 8, 8),
    ),
} | {f"default {s}": (default_network(torch.rand(6, *s), SPACE), s) for s in SHAPES}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_library_s_networks_come_back_the_same(name: str) -> None:
    network, shape = NETWORKS[name]
    text = json.dumps(encode(describe(network)))
    again = build(decode(json.loads(text)), network.state_dict())
    assert str(again) == str(network)
    x = torch.rand(4, *shape)
    assert torch.equal(again.eval()(x), network.eval()(x))


def test_every_layer_of_torch_on_the_list_can_be_described() -> None:
    arguments = {
        "Linear": (3, 2),
        "Embedding": (3, 2),
        "GroupNorm": (2, 4),
        "Unflatten": (1, (2, 3)),
        "ZeroPad2d": (1,),
    }
    for name in TORCH.split():
        counts = 3 if name.startswith("Conv") else 1 if "Pool" in name or name.endswith("Norm") or "rm" in name else 0
        layer = LAYERS[name](*arguments.get(name, (2, 3, 2)[:counts]))
        found = describe(layer)
        assert found is not None, name
        assert str(build(found, layer.state_dict())) == str(layer)


class Own(nn.Linear):
    """A class of somebody's own, though a small change of torch's."""

    def forward(self, x: Tensor) -> Tensor:
        return -super().forward(x)


def test_what_is_not_on_the_list_is_not_described() -> None:
    hooked, patched = nn.Linear(2, 3), nn.Linear(2, 3)
    hooked.register_forward_hook(lambda module, given, output: -output)
    patched.forward = lambda x: x  # type: ignore[method-assign,assignment]
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    for network in (Own(2, 3), nn.Sequential(Own(2, 3)), nn.LSTM(2, 3), hooked, patched, normed):
        assert describe(network) is None


def test_one_s_own_class_may_be_put_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYERS, "mine.Own", Own)
    found = describe(nn.Sequential(Own(2, 3), nn.Linear(3, 2)))
    assert found is not None
    again = build(found, nn.Sequential(Own(2, 3), nn.Linear(3, 2)).state_dict())
    assert isinstance(again[0], Own)  # type: ignore[index]


def test_a_layer_used_twice_is_described_twice() -> None:
    shared = nn.Linear(3, 3)
    network = nn.Sequential(shared, nn.ReLU(), shared)
    again = build(describe(network), network.state_dict())  # type: ignore[arg-type]
    x = torch.rand(2, 3)
    assert torch.equal(again(x), network(x))


@pytest.mark.parametrize(
    "wrong",
    [
        {"layer": "os.system", "arguments": {"command": "touch x"}},
        {"layer": "softground.cli", "arguments": {}},
        {"layer": "__main__.Own", "arguments": {}},
        {"layer": "Linear", "arguments": {"in_features": 10**9, "out_features": 10**9}},
        {"layer": "Linear", "arguments": {"in_features": 10**40, "out_features": 1}},
        {"layer": "Linear", "arguments": {"in_features": "a", "out_features": 1}},
        {"layer": "Linear", "arguments": {}},
        {"layer": "Linear"},
        {"layer": ["Linear"], "arguments": {}},
        {"layer": "Sequential", "parts": [["a", "b"]]},
        {},
    ],
    ids=str,
)
def test_a_description_from_anybody_builds_nothing_else(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises((SoftgroundError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)):
        build(wrong, nn.Linear(2, 3).state_dict())


def test_describing_and_building_draw_nothing() -> None:
    network = convnet((1, 8, 8), 5)
    before = torch.get_rng_state()
    build(describe(network), network.state_dict())  # type: ignore[arg-type]
    assert torch.equal(before, torch.get_rng_state())


def test_dropout_is_torch_s_with_a_generator_of_its_own() -> None:
    x, layer = torch.rand(50, 20), Dropout(0.3)
    layer.generator = torch.Generator().manual_seed(5)
    torch.manual_seed(5)
    assert torch.equal(layer(x), nn.functional.dropout(x, 0.3))
    assert torch.equal(layer.eval()(x), x)
    assert torch.equal(Dropout(1.0)(x), torch.zeros_like(x))
    with pytest.raises(ValueError, match="1\\.5"):
        Dropout(1.5)
