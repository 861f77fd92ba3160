"""What comes first in README and docs: figures from answers alone beside those of the same networks with labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from choice_table import said
from provenance import read_page


def headline(results: Path) -> str:
    """A row a task."""
    paper = json.loads((results / "reproduction" / "tables.json").read_text())
    rules = read_page(results / "any_rule.json")["table"]

    def reproduced(key: str, labels: str, name: str) -> list[dict[str, Any]]:
        return [paper[each]["ours"][name] for each in (key, labels)]

    def ruled(key: str, labels: str, name: str) -> list[dict[str, Any]]:
        return [rules[each][name] | {"seeds": rules[each]["seeds"]} for each in (key, labels)]

    formulas = ("hwf/standard/best/I", "hwf/standard/best-sup/SUP")
    rows = [
        ("handwritten symbols, in formulas of seven (HWF, published split)", "each formula's value"),
        ("values of the same formulas", "each formula's value"),
        ("4×4 Sudoku boards of MNIST digits, up to the digits' names, from 500", "that boards are valid"),
        ("shortest paths in graphs of 30 vertices", "shortest paths of other graphs"),
        ("handwritten digits, in 4×5 grids (10²⁰ states)", "sums of rows and columns"),
    ]
    figures = [
        reproduced(*formulas, "symbol_accuracy"),
        reproduced(*formulas, "calculation_accuracy"),
        reproduced("sudoku/500/best/I", "sudoku/500/best-sup/SUP", "relabelled_board_accuracy"),
        reproduced("sdsp/uniform/best/I", "sdsp/uniform/best-sup/SUP", "path_accuracy"),
        ruled("large/parts", "large/labels", "symbol_accuracy"),
    ]
    lines = [
        "| read right, held-out | all that is known in training | % | with labels, % |",
        "| --- | --- | --- | --- |",
    ]
    for (what, known), (ours, labels) in zip(rows, figures, strict=True):
        lines.append(f"| {what} | {known} | {_shown(ours)} | {_shown(labels)} |")
    seeds = sorted({cell["seeds"] for pair in figures for cell in pair})
    words = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    strange = reproduced(*(name.replace("standard", "writer") for name in formulas), "calculation_accuracy")
    hands = [_shown(cell) for cell in strange]
    grammar = [_shown(cell) for cell in reproduced(*formulas, "grammatical_calculation_accuracy")]
    return "\n".join(
        [
            *lines,
            "",
            f"Mean ± sd over {words} seeds; the same networks and recipes on both sides, with images distorted at "
            "random in the first three rows. Formulas may be read as any symbols; as grammatical ones alone, "
            f"{grammar[0]} of the values are right, with labels {grammar[1]}. In the published split 72 % of the test "
            f"slots show an image of the training set; on hands never seen, {hands[0]} of the values are right, with "
            f"labels {hands[1]} ({strange[0]['seeds']} seeds). {_chosen()}",
        ]
    )


def _chosen() -> str:
    """How the settings were chosen, row by row where rows differ."""
    rows = {"hwf": "formulas", "sudoku": "boards", "sdsp": "paths"}
    ways: dict[str, list[str]] = {}
    for group, name in rows.items():
        ways.setdefault(said(group), []).append(name)
    told = "; ".join(f"those of {' and '.join(names)} {how}" for how, names in ways.items())
    if len(ways) == 1:
        told = f"those of the first four rows {next(iter(ways))}"
    return f"Of the settings, {told}; the last row has the library's defaults, and batches fixed beforehand."


def _shown(cell: dict[str, Any]) -> str:
    return f"{cell['mean']:.2f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{cell['sd']:.2f}"
