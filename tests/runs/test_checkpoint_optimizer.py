"""An optimiser restored from disk continues with the same bits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from checkpoint_cases import raw
from softground.errors import CheckpointError
from softground.runs.checkpoint import load, save
from softground.runs.optimizer import lay_out_like_parameters, pack_optimizer, unpack_optimizer

OPTIMISERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.8, 0.95), amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2),
    "groups": lambda p: torch.optim.Adam([{"params": [q], "lr": 0.01 * i} for i, q in enumerate(p, start=1)]),
    "lbfgs": lambda p: torch.optim.LBFGS(p, max_iter=3),
}


def advance(network: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))

        def loss(x: Tensor = x) -> Tensor:
            optimizer.zero_grad()
            value: Tensor = network(x).square().mean()
            value.backward()
            return value

        optimizer.step(loss)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_continued_from_disk_gives_the_same_bits(tmp_path: Path, name: str) -> None:
    def fresh() -> tuple[nn.Module, torch.optim.Optimizer]:
        network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        return network, OPTIMISERS[name](network.parameters())

    network, optimizer = fresh()
    advance(network, optimizer, range(4))
    tensors, meta = pack_optimizer(optimizer.state_dict())
    json.dumps(meta, allow_nan=False)
    state = {f"network/{key}": value for key, value in network.state_dict().items()}
    save(tmp_path, state | {f"optimizer/{key}": value for key, value in tensors.items()}, {"optimizer": meta})
    advance(network, optimizer, range(4, 8))

    found, stored = load(tmp_path)
    resumed, other = fresh()
    resumed.load_state_dict({k.removeprefix("network/"): v for k, v in found.items() if k.startswith("network/")})
    mine = {k.removeprefix("optimizer/"): v for k, v in found.items() if k.startswith("optimizer/")}
    other.load_state_dict(unpack_optimizer(mine, stored["optimizer"]))
    advance(resumed, other, range(4, 8))

    for one, two in zip(network.parameters(), resumed.parameters(), strict=True):
        assert raw(one) == raw(two)
    assert repr(other.state_dict()) == repr(optimizer.state_dict())


def test_packing_is_exact_and_a_copy() -> None:
    buffer = torch.ones(2)
    state = {
        "state": {0: {"buffer": buffer, "list": [buffer, (1, None, True)]}, "0": {"buffer": -buffer}},
        "param_groups": [{"betas": (0.9, 0.999), "lr": 0.1, "cap": math.inf, "$": "odd", "params": [0]}],
    }
    tensors, meta = pack_optimizer(state)
    buffer.zero_()
    found = unpack_optimizer(tensors, json.loads(json.dumps(meta, allow_nan=False)))
    buffer.fill_(1)
    assert repr(found) == repr({**state, "state": {**state["state"], "0": {"buffer": torch.full((2,), -1.0)}}})  # type: ignore[dict-item]
    assert len(tensors) == 3


def test_halves_that_do_not_belong_together_are_refused() -> None:
    tensors, meta = pack_optimizer({"a": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="one pack_optimizer call"):
        unpack_optimizer({}, meta)
    with pytest.raises(CheckpointError, match="not a state dict"):
        unpack_optimizer(tensors, {"$": "float", "value": "1"})


def test_a_fused_optimiser_goes_on_alike_whatever_the_memory_order() -> None:
    """Weights stored channels last, memory restored from plain rows: the next steps are the same bits."""

    def trained(stop: bool) -> Tensor:
        torch.manual_seed(0)
        layer = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
        for step in range(4):
            if stop and step == 2:
                state = unpack_optimizer(*pack_optimizer(optimizer.state_dict()))
                plain = {k: {n: v.contiguous() for n, v in s.items()} for k, s in state["state"].items()}
                optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
                optimizer.load_state_dict(state | {"state": plain})
                lay_out_like_parameters(optimizer)
            optimizer.zero_grad()
            layer(torch.arange(75.0).view(1, 3, 5, 5).sin()).square().sum().backward()
            optimizer.step()
        return layer.weight.detach()

    assert torch.equal(trained(stop=True), trained(stop=False))
