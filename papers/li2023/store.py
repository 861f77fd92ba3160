"""Records of finished cells on disk: one JSON file a cell, written as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softground import files
from softground.files import Missing, Unreadable, failure
from softground.runs.folder import plain

from .cell import Cell

BY_OBJECTIVE = {"optimizer", "learning_rate", "one_cycle", "schedule", "gamma", "steps", "zero_epochs"}
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
        if not isinstance(record.get("options"), dict) or not isinstance(record.get("result"), dict):
            raise failure(path, "it is not the record of a cell", "Delete the file; its cell is then run again")
        return record

    def finished(self, cell: Cell) -> bool:
        """Whether a cell was run with these very options, of the presets as they are now."""
        record = self.read(cell)
        return record is not None and record["options"] == plain(dict(cell.options)) and _present(record, cell)

    def shown(self, cell: Cell) -> dict[str, Any] | None:
        """A cell's record for a table: made with these options, on whichever data."""
        record = self.read(cell)
        if record is None:
            return None
        same = _but_data(record["options"]) == _but_data(plain(dict(cell.options)))
        return record if same and _present(record, cell) else None

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


def _present(record: Mapping[str, Any], cell: Cell) -> bool:
    """Whether the recipe is still what it was, as far as the record says: the oldest say nothing, others not all."""
    then = dict(record.get("settings") or {})
    if cell.kind == "train" and cell.task == "hwf":
        then.setdefault("readings", "grammatical")  # there was no choice before 0.3.0
    if not then:
        return True
    now = cell.settings
    # Before 0.2.0 a record held the preset's values, also those that the objective puts others in place of.
    preset_only = "objective" not in then and now.get("objective") != "grounding"
    known = now.keys() - (BY_OBJECTIVE if preset_only else set()) - {DATA}
    return all(value == now[name] for name, value in then.items() if name in known and value is not None)


def _but_data(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != DATA}


__all__ = ["Store"]
