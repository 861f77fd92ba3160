"""The exported network gives the scores that torch gives; without the extra, one is told which to install."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cli_cases import hurry, train
from softground import Categorical, PerSite, SoftgroundError, convnet, default_network, load
from softground.cli import main
from softground.model import Model
from softground.networks import Ensemble, Standardise, lenet
from softground.onnx import PACKAGES, export_onnx
from softground.reals.gaussian import Gaussian
from softground.tasks.sdsp.networks import PathGNN, PathMLP

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
ABSENT = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
needs_onnx = pytest.mark.skipif(bool(ABSENT), reason=f"the extra onnx is not installed (no {', '.join(ABSENT)})")


def run_onnx(path: Path, x: Tensor) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(path)).run(["scores"], {"x": x.numpy()})[0]


@needs_onnx
@pytest.mark.parametrize("shape", [(3, 1, 8, 8), (7,)], ids=["images", "vectors"])
def test_the_same_scores_for_any_number_of_inputs(shape: tuple[int, ...], tmp_path: Path) -> None:
    torch.manual_seed(0)
    space, x = Categorical([range(4)] * 3), torch.rand(6, *shape)
    network = default_network(x, space)
    assert export_onnx(Model(network, space), tmp_path / "model.onnx", x[:2]) < 1e-4
    assert network.training
    network.eval()
    for rows in (x[:1], x):
        np.testing.assert_allclose(run_onnx(tmp_path / "model.onnx", rows), network(rows).detach(), atol=1e-4)


@needs_onnx
def test_the_symbols_are_in_the_file(tmp_path: Path) -> None:
    import onnx

    space, x = Categorical(["+-", (1, 2)]), torch.rand(2, 2, 5)
    export_onnx(Model(default_network(x, space), space), tmp_path / "model.onnx", x)
    meta = {entry.key: entry.value for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(meta["alphabets"]) == [["+", "-"], ["1", "2"]]
    assert meta["readings"] == "grammatical"


class Fixed(nn.Module):
    """Takes as many rows as it was exported with, by mistake."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layer(x)
        return scores.view(len(x), 1, 4)


class Drifting(Fixed):
    """Gives other scores every time."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        scores: Tensor = self.layer(x) + self.calls
        return scores.view(x.shape[0], 1, 4)


@needs_onnx
@pytest.mark.parametrize(("kind", "words"), [(Fixed, "x.shape"), (Drifting, "differ")])
def test_a_file_that_disagrees_is_refused_and_removed(kind: type[nn.Module], words: str, tmp_path: Path) -> None:
    with pytest.raises(SoftgroundError, match=words):
        export_onnx(Model(kind(), Categorical([range(4)])), tmp_path / "model.onnx", torch.rand(3, 3))
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SoftgroundError, match="pip install onnx onnxscript onnxruntime"):
        export_onnx(Model(nn.Linear(3, 4), Categorical([range(4)])), tmp_path / "model.onnx", torch.rand(2, 3))


DIGITS = Categorical([range(5)] * 3)
TASK_NETWORKS: dict[str, tuple[nn.Module, Any, tuple[int, ...], torch.dtype]] = {
    "gnn": (PathGNN(6), Gaussian(6), (6, 6), torch.float32),
    "path mlp": (PathMLP(6, relabel=True), Gaussian(6), (6, 6), torch.float32),
    "convnet": (PerSite(convnet((1, 8, 8), 5), (1, 8, 8)), DIGITS, (3, 1, 8, 8), torch.uint8),
    "ensemble": (
        Ensemble([PerSite(convnet((1, 8, 8), 5), (1, 8, 8)) for _ in range(2)]),
        DIGITS,
        (3, 1, 8, 8),
        torch.uint8,
    ),
    "lenet": (
        PerSite(nn.Sequential(Standardise(0.3, 0.2), lenet((1, 28, 28), 5)), (1, 28, 28)),
        DIGITS,
        (3, 1, 28, 28),
        torch.uint8,
    ),
}


@needs_onnx
@pytest.mark.parametrize("name", TASK_NETWORKS)
def test_a_saved_model_is_exported_without_any_data(name: str, tmp_path: Path) -> None:
    network, space, shape, dtype = TASK_NETWORKS[name]
    Model(network, space, shape=shape, dtype=dtype).save(tmp_path / "saved")
    assert export_onnx(load(tmp_path / "saved", device="cpu"), tmp_path / "model.onnx") < 1e-4
    x = torch.randint(4, (5, *shape), generator=torch.Generator().manual_seed(1)).to(dtype)
    x[0] = 0  # no edges at all
    np.testing.assert_allclose(run_onnx(tmp_path / "model.onnx", x), network.eval()(x).detach(), atol=1e-4)


@needs_onnx
def test_a_model_that_knows_no_inputs_asks_for_some(tmp_path: Path) -> None:
    with pytest.raises(SoftgroundError, match=r"export_onnx\(model, path, x\)"):
        export_onnx(Model(nn.Linear(3, 4), Categorical([range(4)])), tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["gnn", "path mlp"])
def test_networks_that_read_graphs_are_fixed_graphs_when_exported(name: str) -> None:
    network, _, shape, _ = TASK_NETWORKS[name]
    x = torch.randint(4, (4, *shape), generator=torch.Generator().manual_seed(0)).float()
    program = torch.export.export(network.eval(), (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for rows in (x[:1], torch.cat([x, torch.zeros_like(x)])):
        torch.testing.assert_close(program.module()(rows), network(rows))


@needs_onnx
def test_a_run_is_exported_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet", "--epochs", "1") == 0
    capsys.readouterr()
    assert main(["export", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["file"] == str(folder / "model.onnx")
    assert facts["input"] == ["batch", 5, 1, 8, 8]
    assert facts["largest_difference"] < 1e-4
    assert main(["export", str(folder), "--out", str(tmp_path / "other" / "net.onnx")]) == 0
    assert (tmp_path / "other" / "net.onnx").is_file()
    assert str(tmp_path / "other" / "net.onnx") in capsys.readouterr().out
