"""The trial of --deterministic: on a CPU it says that it cannot run, and its comparison can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from torture.trial import Tally, Unavailable
from torture.trials import deterministic
from torture.trials._nursery import Ended

TINY = {"sdsp": ["--nodes", "5", "--train-size", "16", "--test-size", "8", "--epochs", "4"]}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="torch sees no GPU"):
        deterministic.run(Tally(), 1, 0, tmp_path)


class Here:
    """A nursery whose children are born in this process; the third and fourth have another seed."""

    started: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, modules: list[str]) -> None:
        self.started.clear()

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None: ...

    def run(self, call: str, given: dict[str, Any], log: Path) -> Ended:
        assert call == "torture.trials.deterministic:train"
        self.started.append(given)
        log.write_text("UserWarning: odd_cuda does not have a deterministic implementation, but you set …")
        more = [*given["more"], *(["--seed", "7"] if len(self.started) > 2 else [])]
        return Ended(deterministic.train(given["folder"], given["tasks"], more), 0.0)


def test_runs_are_compared_and_their_cost_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deterministic, "Nursery", Here)
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *arguments, **more: None)  # it would stay
    tally = Tally()
    deterministic.compare(tally, TINY, 0, tmp_path, "cpu")
    assert ["--deterministic" in given["more"] for given in Here.started] == [True, False, True, False]
    assert (tally.tried, tally.survived) == (1, 0)
    assert "tensor network" in tally.failures[0]
    assert tally.notes["cost, sdsp"] > 0
    assert tally.notes["differ without it"] == "1 of 1"
    assert tally.notes["no deterministic algorithm for"] == "odd_cuda"
