"""The picture of a run is drawn for images and for anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from softground.report import draw
from softground.spaces import Categorical

pytest.importorskip("matplotlib")

HISTORY = [
    {"stage": "I", "epoch": 0, "loss": 1.0, "grounded_symbols": 0.2, "test_symbol_accuracy": 0.3},
    {"stage": "II", "epoch": 0, "loss": 0.5, "test_symbol_accuracy": 0.9, "test_answer_accuracy": 0.8},
]
IMAGES, ROWS = torch.zeros(3, 2, 1, 8, 8, dtype=torch.uint8), torch.zeros(3, 7)


@pytest.mark.parametrize("x", [IMAGES, ROWS], ids=["images", "rows"])
def test_a_png_is_written(tmp_path: Path, x: torch.Tensor) -> None:
    space = Categorical([range(10), "+-*/"])
    predicted, feasible = torch.zeros(3, 2, dtype=torch.long), torch.tensor([True, False, True])
    draw(tmp_path / "result.png", HISTORY, space, x, predicted, feasible)
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
