"""Write the page, the tables as JSON, and the plots, all from the records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from softground.files import failure, replace_file

from . import layout, published
from .page import appendix, page
from .plan import What, plan
from .plots import draw
from .store import REMEDY, Store
from .sudoku import SIZES
from .summary import Figure, Results, reading

PAGE = "reproduction.md"
APPENDIX = "APPENDIX.md"
HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
TABLES = "tables.json"
IMAGES = "images"
# Over all readings, as the paper measures, and of the most probable formula.
HWF = ("symbol_accuracy", "calculation_accuracy", "grammatical_symbol_accuracy", "grammatical_calculation_accuracy")
# What a record of the wrong shape may lead to, anywhere on a page.
DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def render(store: Store, what: What, path: Path | None = None, *, quick: bool = False) -> list[Path]:
    """Everything that can be written without running anything; returns the files."""
    results = read(store, what, quick)
    path = path or store.folder / PAGE
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    store.folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, page(results, what, IMAGES).encode())
    behind = path.with_name(APPENDIX) if path.parent != DOCS else HERE / APPENDIX
    replace_file(behind, appendix(results, what).encode())
    numbers = store.folder / TABLES
    text = json.dumps(as_json(results), indent=1, sort_keys=True, ensure_ascii=False)
    replace_file(numbers, (text + "\n").encode())
    try:
        return [path, behind, numbers, *draw(results, path.parent / IMAGES)]
    except DAMAGED as error:
        raise failure(store.folder, f"the curves of a record in it cannot be drawn ({error!r})", REMEDY) from error


def read(store: Store, what: What, quick: bool = False) -> Results:
    """The records of every seed there is; where there is none, the plan's, so that the page says what is missing.

    Raises :class:`CheckpointError` where a record is none that a page can show.
    """
    seeds = store.seeds()
    cells, recorded = plan(what, seeds or None, quick=quick), set(store.names())
    results = Results.read([c for c in cells if c.seed < c.seeds or c.name in recorded], store)
    if not _showable(results, what):
        culprits = (cell for cell in results.cells if not _showable(Results.read([cell], store), what))
        path, name = next(((store.path(cell), cell.name) for cell in culprits), (store.folder, "a line in it"))
        raise failure(path, f"{name} is not the record of a cell", REMEDY)
    return results


def _showable(results: Results, what: What) -> bool:
    try:
        page(results, what).encode()
        appendix(results, what).encode()
        as_json(results)
    except DAMAGED:
        return False
    return True


def as_json(results: Results) -> dict[str, Any]:
    """Every table, the paper's numbers beside ours."""
    formulas, boards = (*layout.HWF, *layout.COMBINATIONS), ("board_accuracy", "relabelled_board_accuracy")
    paths = ("path_accuracy", "path_accuracy_all", "graph_accuracy", "spearman")
    tables: dict[str, tuple[Sequence[layout.Row], Sequence[str]]] = {
        f"hwf/{split}": (formulas, HWF) for split in ("standard", "writer")
    }
    tables |= {f"sudoku/{size}": ((*layout.SUDOKU, *layout.SUDOKU_CODE), boards) for size in SIZES}
    tables |= {f"sdsp/{trees}": (rows, paths) for trees, rows in layout.SDSP.items()}
    found: dict[str, Any] = {}
    for table, (rows, names) in tables.items():
        for row in rows:
            family = f"{table}/{row.method}"
            figures = {name: _figure(results, family, row.stage, name) for name in names}
            measured = {name: figure.as_json() for name, figure in figures.items() if figure is not None}
            if measured:
                grounded = results.grounded(family, row.stage)
                found[f"{family}/{row.stage}"] = {
                    "ours": measured,
                    "paper": _published(table, row),
                    "grounded": _json(grounded),
                }
    return found


def _figure(results: Results, family: str, stage: str, name: str) -> Figure | None:
    if not family.startswith("hwf/"):
        return results.test(family, stage, name)
    metric = name.removeprefix("grammatical_")
    return results.over(family, reading(stage, metric, "all" if name == metric else "grammatical"))


def _published(table: str, row: layout.Row) -> Any:
    if table == "hwf/standard":
        return published.HWF.get(row.key)
    if table.startswith("sudoku/"):
        place = SIZES.index(int(table.split("/")[1]))
        numbers, boards = published.SUDOKU.get(row.key), published.GROUNDED.get(row.key)
        return None if numbers is None else [numbers[place], boards[place] if boards else None]
    return None


def _json(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else figure.as_json()


__all__ = ["PAGE", "TABLES", "read", "render"]
