"""The trial of a cluster fails where its bits differ, and is not run where there is none."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from torture.trial import Tally, Unavailable
from torture.trials import cluster


@pytest.mark.parametrize(("drift", "survived"), [(0.0, 1), (1e-7, 0)])
def test_other_bits_are_failures(drift: float, survived: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(folder: Path, seed: int, blow: Any) -> dict[str, Any]:
        return {"tensor chains": torch.tensor([1.0 + (0.0 if folder.name == "alone" else drift)], dtype=torch.double)}

    monkeypatch.setattr(cluster, "cluster", nullcontext)
    monkeypatch.setattr(cluster, "trained", trained)
    tally = Tally()
    cluster.run(tally, 1, 0, tmp_path)
    assert (tally.tried, tally.survived) == (1, survived)


def test_without_distributed_it_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match="pip install distributed"), cluster.cluster():
        pass
