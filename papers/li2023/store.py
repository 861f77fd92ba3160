"""Records of finished cells on disk: one JSON file a cell, written as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from softground import files
from softground.experiments.recipe import settings
from softground.files import Missing, Unreadable, failure
from softground.retired import effective
from softground.runs.folder import plain
from softground.tasks import TASKS

from .cell import Cell

PROVENANCE = ("commit", "command")  # without which a record is no evidence
DATA = "data"  # the one option in which a record may differ from the plan and still be shown


@dataclass(frozen=True)
class Store:
    """The folder of a reproduction."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where a cell's record lies."""
        return self.folder / f"{cell.name}.json"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """A cell's record; None where there is none. Raises :class:`CheckpointError` where it is damaged."""
        path = self.path(cell)
        try:
            record = files.parse_object(files.read_bounded(path, files.DOCUMENT_LIMIT))
        except Missing:
            return None
        except Unreadable as error:
            raise failure(path, str(error), "Delete the file; its cell is then run again") from error
        parts = [record.get("options"), record.get("result"), record.get("settings", {})]
        if not all(isinstance(part, dict) for part in parts):
            raise failure(path, "it is not the record of a cell", "Delete the file; its cell is then run again")
        return record

    def finished(self, cell: Cell) -> bool:
        """Whether a cell was run with these very options, of the presets as they are now."""
        record = self.read(cell)
        return record is not None and _made_as(record, cell)

    def shown(self, cell: Cell) -> dict[str, Any] | None:
        """A cell's record for a table: made with these options, on whichever data."""
        record = self.read(cell)
        return record if record is not None and _made_as(record, cell, DATA) else None

    def write(self, cell: Cell, record: Mapping[str, Any]) -> None:
        """Keep a cell's record, all or nothing."""
        path = self.path(cell)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"the folder cannot be made: {files.describe(error)}"
            raise failure(path.parent, reason, "Choose another --out") from error
        text = json.dumps(plain(record), ensure_ascii=False, allow_nan=False, sort_keys=True)
        files.replace_file(path, (text + "\n").encode())

    def seconds(self, cell: Cell) -> float | None:
        """How long the slowest other seed of a cell took; None where none is on record."""
        others = [replace(cell, name=f"{cell.family}/{path.stem}") for path in self.path(cell).parent.glob("*.json")]
        records = [record for other in others if (record := self.read(other)) is not None]
        return max((float(r["wall_seconds"]) for r in records if "wall_seconds" in r), default=None)

    def seeds(self) -> int:
        """One more than the highest seed on record; 0 where nothing is. A longer number is no seed."""
        found = [int(path.stem) for path in self.folder.rglob("*.json") if path.stem.isdecimal() and len(path.stem) < 5]
        return max(found, default=-1) + 1


def _made_as(record: Mapping[str, Any], cell: Cell, *but: str) -> bool:
    """Whether a record says where it is from, and is of this cell: its options, its recipe, ``but`` aside.

    A setting that is newer than the record was then what it is by default; one that is gone must have been neutral.
    """
    if not all(record.get(name) for name in PROVENANCE):
        return False

    def rest(options: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if name not in but}

    now, then = plain(cell.settings), effective(record.get("settings") or {})
    kinds = [*settings().values(), *fields(TASKS[cell.task])]
    defaults = {each.name: plain(each.default) for each in kinds if each.name in now} if then else {}
    same_options = rest(record["options"]) == rest(plain(dict(cell.options)))
    return same_options and rest(defaults | then) == rest(now)


__all__ = ["Store"]
