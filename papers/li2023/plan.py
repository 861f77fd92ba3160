"""Which cells there are, in which order, and which of them were asked for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from softground.errors import SoftgroundError

from . import hwf, sdsp, sudoku
from .cell import Cell

What = Literal["hwf", "sudoku", "sdsp", "all"]
MOST_SEEDS = 10  # that a cell asks for itself
TABLES = ("hwf", "sudoku", "sdsp")
# Cells on Proposition 1, and how to make each tiny.
LAWS: dict[str, dict[str, int]] = {
    "proposition": {"digits": 4},
    "descent": {"runs": 32, "steps": 8192},
    "sharpening": {"train_size": 500, "epochs": 60, "examples": 40},
}
TINY_LAWS: dict[str, dict[str, int]] = {
    "proposition": {"digits": 3},
    "descent": {"runs": 2, "steps": 128},
    "sharpening": {"train_size": 32, "epochs": 2, "examples": 2},
}
QUICK: dict[str, dict[str, Any]] = {"hwf": hwf.QUICK, "sudoku": sudoku.QUICK, "sdsp": sdsp.QUICK}


def plan(what: What, seeds: int | None = None, *, real: bool = True, quick: bool = False) -> list[Cell]:
    """The cells, the most important first: seed by seed, so that every table soon has one, then by rank.

    Every cell has ``seeds`` seeds, or as many as it asks for itself. ``real`` takes the data the paper used, otherwise
    the digits that ship with scikit-learn stand in; ``quick`` makes every cell tiny.
    """
    if seeds is not None and seeds < 1:
        raise SoftgroundError(f"--seeds {seeds} was given; expected at least one.")
    wanted = TABLES if what == "all" else (what,)
    cells = [cell for seed in range(seeds or MOST_SEEDS) for table in wanted for cell in _of(table, seed, real)]
    cells = [cell for cell in cells if cell.seed < (seeds or cell.seeds)]
    cells = sorted(cells, key=lambda cell: (cell.seed, cell.rank))  # stable: the tables' own order within
    return [_tiny(cell) for cell in cells] if quick else cells


def _of(table: str, seed: int, real: bool) -> list[Cell]:
    z3 = Cell(f"{table}/z3/{seed}", "z3", table, seed, {"queries": 200}, 2, 30)
    match table:
        case "hwf":
            data = "hwf" if real else "digits"
            jump = Cell(f"hwf/jump/{seed}", "jump", "hwf", seed, {"preset": "paper", "data": data}, 1, 15)
            laws = [Cell(f"{name}/{seed}", "law", "hwf", seed, options, 1, 30) for name, options in LAWS.items()]
            return [*hwf.cells(seed, data), jump, *laws, z3]
        case "sudoku":
            return [*sudoku.cells(seed, "mnist" if real else "digits"), z3]
    return [*sdsp.cells(seed), z3]


def _tiny(cell: Cell) -> Cell:
    """The same cell, small enough to see that it runs; its figures mean nothing."""
    if cell.kind == "z3":
        return replace(cell, options={"queries": 2}, seconds=5)
    if cell.kind == "law":
        return replace(cell, options=TINY_LAWS[cell.family], seconds=5)
    tiny = QUICK[cell.task]
    options = {**cell.options, **{k: v for k, v in tiny.items() if cell.kind == "train" or k not in ("epochs",)}}
    stage_two = cell.options.get("preset") == "paper" and cell.options.get("objective", "grounding") == "grounding"
    if stage_two or "zero_epochs" in cell.options:
        options["zero_epochs"] = 1
    return replace(cell, options=options, seconds=5)


def select(cells: Sequence[Cell], only: Sequence[str]) -> list[Cell]:
    """The cells whose name is one of ``only``, begins with one and a slash, or fits one with * and ?."""
    if not only:
        return list(cells)
    chosen: set[str] = set()
    for pattern in only:
        found = {c.name for c in cells if c.name.startswith(pattern.rstrip("/") + "/") or fnmatchcase(c.name, pattern)}
        if not found:
            names = [c.name for c in cells] + sorted({c.family for c in cells})
            near = difflib.get_close_matches(pattern, names, 3, 0.3) or sorted({c.family for c in cells})[:3]
            raise SoftgroundError(
                f"--only {pattern} fits no cell. Names look like {', '.join(near)}; * and ? stand for any characters, "
                "and --list shows all of them."
            )
        chosen |= found
    return [cell for cell in cells if cell.name in chosen]


__all__ = ["TABLES", "What", "plan", "select"]
