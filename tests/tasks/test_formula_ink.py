"""Ink as the network sees it, and the order of the examples, as options of a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import softground as sg
from softground.cli import main
from softground.learner.trained_part import deal_batches
from softground.tasks.formulas import Formulas


def test_dark_ink_is_one_minus_bright_ink_for_the_same_classifier() -> None:
    x, space = torch.randint(256, (4, 3, 1, 16, 16), dtype=torch.uint8), Formulas(length=3).task().space
    networks = []
    for ink in ("bright", "dark"):
        problem = Formulas(length=3, ink=ink)  # type: ignore[arg-type]
        with sg.seeded(0):
            networks.append(problem.network(problem.recipe(network="strided"), x, space).eval())
    bright, dark = networks
    torch.testing.assert_close(dark(x), bright(255 - x))
    assert (dark(x) - bright(x)).abs().max() > 1e-3


def test_a_run_keeps_its_ink_and_its_order(tmp_path: Path) -> None:
    run = tmp_path / "run"
    small = ["--length", "3", "--train-size", "40", "--test-size", "20", "--epochs", "1", "--network", "strided"]
    options = [*small, "--ink", "dark", "--no-shuffle", "--device", "cpu", "--quiet"]
    assert main(["train", "hwf", *options, "--out", str(run)]) == 0
    recipe = json.loads((run / "config.json").read_text())["recipe"]
    assert (recipe["problem"]["ink"], recipe["shuffle"]) == ("dark", False)
    model = sg.load(run / "model", device="cpu")
    assert "Standardise" in str(model.network)  # predict, open and evaluate read by the saved network


def test_without_shuffling_batches_are_in_the_order_given() -> None:
    alone = SimpleNamespace(global_rank=0, world_size=1)
    part: Any = SimpleNamespace(fabric=alone, unexplained=SimpleNamespace(trained=lambda: torch.arange(10)))
    given, mixed = (
        [rows.tolist() for _, rows, *_ in deal_batches([part], 4, torch.Generator().manual_seed(0), shuffle)]
        for shuffle in (False, True)
    )
    assert given == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert sorted(row for rows in mixed for row in rows) == list(range(10))
    assert mixed != given
