"""Peers side by side: KLay's circuit of formulas against brute force, the shared recipe, and the tables of a record."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
import torch

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
Load = Callable[[str], ModuleType]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import one of the scripts, which find each other as neighbours."""
    if not PEERS.is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module


@pytest.mark.parametrize("length", [1, 3, 5])
def test_klay_s_circuit_has_the_likelihoods_of_brute_force(peers: Load, length: int) -> None:
    pytest.importorskip("klay")
    alphabets = [range(9) if site % 2 == 0 else range(9, 13) for site in range(length)]
    formulas = torch.tensor(list(itertools.product(*alphabets)))
    over, under = peers("harness").values(formulas)
    values = [Fraction(n, d) for n, d in zip(over.tolist(), under.tolist(), strict=True)]
    answers = sorted(set(values))[::2]  # some values have no root, as in training
    made = peers("formula_circuit").Formulas(length, answers).made
    made.remove_unused_nodes()
    layer = made.to_torch_module(semiring="log", compile=False)

    logs = torch.randn(4, length, 13, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    found = layer(logs.flatten(1), torch.zeros(4, 13 * length))

    each = sum(logs.double()[:, site, formulas[:, site]] for site in range(length))
    assert isinstance(each, torch.Tensor)
    for place, answer in enumerate(answers):
        ways = torch.tensor([value == answer for value in values])
        torch.testing.assert_close(found[:, place].double(), each[:, ways].logsumexp(1), rtol=1e-5, atol=1e-5)


def test_the_page_is_up_to_date(peers: Load) -> None:
    assert peers("table").write(check=True), "run python benchmarks/peers/table.py"


def test_every_row_has_a_runner_and_its_constraints(peers: Load) -> None:
    for name, row in peers("rows").ROWS.items():
        assert (PEERS / row.script).is_file(), name
        assert not row.environment or (PEERS / f"constraints-{row.environment}.txt").is_file(), name
