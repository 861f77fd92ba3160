"""The trial of a cluster fails where its bits differ, and is not run where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torture.trial import Tally, Unavailable
from torture.trials import cluster

pytest.importorskip("z3")


@pytest.mark.parametrize(("drift", "losses", "survived"), [(0.0, 1, 1), (1e-7, 0, 0), (0.0, 9, 0)])
def test_other_bits_and_a_cluster_given_up_are_failures(
    drift: float, losses: int, survived: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def pretended() -> Iterator[Any]:
        yield SimpleNamespace(scheduler=SimpleNamespace(address=""), wait_for_workers=lambda n, timeout: None)

    def trained(folder: Path, seed: int, blow: Any, **settings: Any) -> Any:
        inverse = SimpleNamespace(faults={"losses": losses}, delay=lambda: 0.0)
        return {"tensor chains": torch.tensor([1.0 + (drift if settings else 0.0)])}, inverse

    monkeypatch.setattr(cluster, "cluster", pretended)
    monkeypatch.setattr(cluster, "trained", trained)
    tally = Tally()
    cluster.run(tally, 1, 0, tmp_path)
    assert (tally.tried, tally.survived) == (1, survived)


def test_without_distributed_it_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install distributed joblib"), cluster.cluster():
        pass
