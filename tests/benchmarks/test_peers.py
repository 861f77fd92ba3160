"""Peers side by side: KLay's circuit of formulas against brute force, the shared recipe, and the tables of a record."""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import softground as sg

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


def test_a_layer_s_recipe_is_that_of_the_softground_row(peers: Load) -> None:
    recipe = peers("recipe")
    for progress in (0.0, 0.1, 0.2, 0.6, 1.0):
        assert recipe.one_cycle(progress) == pytest.approx(sg.one_cycle()(progress))
    images = torch.rand(3, 7, 1, 45, 45, generator=torch.Generator().manual_seed(0))
    ours, theirs = (f(images, torch.Generator().manual_seed(1)) for f in (sg.RandomAffine(), recipe.distorted))
    torch.testing.assert_close(theirs, ours)


def run(task: str, title: str, accuracies: list[float], **more: Any) -> dict[str, Any]:
    """A run of made-up figures, evaluated every two seconds; ``accuracies`` are over all readings."""
    points = [
        {"seconds": 2.0 * i, "epochs": i, "accuracy": a, "symbol_accuracy": 0.99}
        | {"plain_accuracy": a - 0.02, "plain_symbol_accuracy": 0.98}
        for i, a in enumerate(accuracies, 1)
    ]
    reached = next((p for p in points if p["accuracy"] >= 0.95), None)
    return {
        "task": task,
        "title": title,
        "source": "a recipe",
        "seed": 0,
        "limit_seconds": 40.0,
        "machine": {"cpu": "a processor", "cpus": 16},
        "busy_before": 0.0,
        "commit": "0123456789ab",
        "version": "1.2",
        "threads": 2,
        "device": "NVIDIA X",
        "setup_seconds": 1.5,
        "per_second": {"median": 12345.0, "quartiles": [12000.0, 12500.0], "blocks": 40},
        "points": points,
        "final": points[-1],
        "to_goal": reached and {"seconds": reached["seconds"], "epochs": reached["epochs"]},
        "status": "ran",
    } | more


def test_the_section_on_a_gpu_is_written_from_its_record(peers: Load, tmp_path: Path) -> None:
    table, page, record = peers("table"), tmp_path / "peers.md", tmp_path / "peers_cuda.json"
    page.write_text("Before.\n\n<!-- peers addition -->\nold\n<!-- end -->\n\n<!-- peers gpu -->\n<!-- end -->\n")
    bare = page.read_text()
    assert table.write({"cuda": record}, page)
    assert page.read_text() == bare  # no record, no section

    broken = {"status": "crashed", "reason": "exit status 1: no compiler", "final": None, "per_second": None}
    runs = {
        "softground | seed 0": run("addition", "softground", [0.9, 0.96]),
        "softground-hwf | seed 0": run("formulas", "softground", [0.9, 0.96, 0.98]),
        "klay-hwf | seed 0": run("formulas", "KLay", [0.5, 0.7]),
        "klay-hwf-compiled | seed 0": run("formulas", "KLay, compiled", [0.5]) | broken,
    }
    record.write_text(json.dumps({"command": "a command", "runs": runs}))
    assert not table.write({"cuda": record}, page)
    text = page.read_text()
    assert "\nold\n" in text  # the record of the CPU was not given
    assert "## On a GPU" in text
    assert "| softground | 1.2 | 12,345 (12,000 – 12,500) | 4.0 | 2.00 | 96.00 | 4 | 1.5 |" in text
    figures = "12,345 (12,000 – 12,500) | 6.0 | 96.00 | 98.00 | 98.00 | 99.00 | 6 | 3.0 | 1.5 |"
    assert f"| softground | 1.2 | {figures}" in text
    assert "| KLay | 1.2 | 12,345 (12,000 – 12,500) | not reached | 68.00 |" in text
    assert "| KLay, compiled | – | crashed: exit status 1: no compiler |" in text
    assert "at commit 0123456789ab on: NVIDIA X beside a processor, 16 cores, 2 threads" in text
    assert table.write({"cuda": record}, page, check=True)


def test_the_page_is_up_to_date(peers: Load) -> None:
    assert peers("table").write(check=True), "run python benchmarks/peers/table.py"


def test_every_row_has_a_runner_and_its_constraints(peers: Load) -> None:
    for name, row in peers("rows").ROWS.items():
        assert (PEERS / row.script).is_file(), name
        assert not row.environment or (PEERS / f"constraints-{row.environment}.txt").is_file(), name
