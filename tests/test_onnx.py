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
from softground import Categorical, SoftgroundError, default_network
from softground.cli import main
from softground.onnx import PACKAGES, export_onnx

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
    assert export_onnx(network, x[:2], tmp_path / "model.onnx", space) < 1e-4
    assert network.training
    network.eval()
    for rows in (x[:1], x):
        np.testing.assert_allclose(run_onnx(tmp_path / "model.onnx", rows), network(rows).detach(), atol=1e-4)


@needs_onnx
def test_the_symbols_are_in_the_file(tmp_path: Path) -> None:
    import onnx

    space, x = Categorical(["+-", (1, 2)]), torch.rand(2, 2, 5)
    export_onnx(default_network(x, space), x, tmp_path / "model.onnx", space)
    meta = {entry.key: entry.value for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(meta["alphabets"]) == [["+", "-"], ["1", "2"]]


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
        export_onnx(kind(), torch.rand(3, 3), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SoftgroundError, match=r"softground\[onnx\]"):
        export_onnx(nn.Linear(3, 4), torch.rand(2, 3), tmp_path / "model.onnx")


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
