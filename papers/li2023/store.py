"""Records of finished cells on disk: one JSON line for each cell, in one file for each table."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.provenance import share, unshare
from softground import files
from softground.experiments.recipe import settings
from softground.files import Missing, Unreadable, failure
from softground.retired import effective
from softground.runs.folder import plain
from softground.tasks import TASKS

from .cell import PLAIN, Cell

PROVENANCE = ("commit", "command")  # without which a record is no evidence
SHARED = "shared"  # the first line of a file: what its records have in common
REMEDY = "Delete the line; its cell is then run again"
DATA = "data"  # the one option in which a record may differ from the plan and still be shown


@dataclass(frozen=True)
class Store:
    """The folder of a reproduction: a file of lines for each table, one line for each cell."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """The file that holds a cell's record: ``hwf.jsonl`` for ``hwf/standard/exp/0``."""
        return self.folder / f"{cell.name.partition('/')[0]}.jsonl"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """A cell's record, or None. Raises :class:`CheckpointError` where its file is damaged."""
        path = self.path(cell)
        record = _records(path).get(cell.name)
        if record is None:
            return None
        parts = [record.get("options"), record.get("result"), record.get("settings", {})]
        if not all(isinstance(part, dict) for part in parts):
            raise failure(path, f"{cell.name} is not the record of a cell", REMEDY)
        return dict(record)

    def finished(self, cell: Cell) -> bool:
        """Whether a cell was run with these very options, of the presets as they are now."""
        record = self.read(cell)
        return record is not None and _made_as(record, cell)

    def shown(self, cell: Cell) -> dict[str, Any] | None:
        """A cell's record for a table: made with these options, on any data."""
        record = self.read(cell)
        return record if record is not None and _made_as(record, cell, DATA) else None

    def write(self, cell: Cell, record: Mapping[str, Any]) -> None:
        """Put a cell's record into its file, all or nothing; lines stand in the order of their names."""
        path = self.path(cell)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"the folder cannot be made: {files.describe(error)}"
            raise failure(path.parent, reason, "Choose another --out") from error
        shared: dict[str, list[Any]] = {}
        records = _records(path) | {cell.name: dict(sorted(plain(record).items()))}
        lines = [share({"name": name} | records[name], shared) for name in sorted(records, key=_in_order)]
        text = "".join(
            json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in [{SHARED: shared}, *lines]
        )
        files.replace_file(path, text.encode())

    def names(self) -> list[str]:
        """The names of all cells on record."""
        return [name for path in sorted(self.folder.glob("*.jsonl")) for name in _records(path)]

    def seconds(self, cell: Cell) -> float | None:
        """How long the slowest seed of a cell's family took, or None."""
        others = [
            replace(cell, name=name) for name in _records(self.path(cell)) if name.rpartition("/")[0] == cell.family
        ]
        records = [record for other in others if (record := self.read(other)) is not None]
        return max((float(r["wall_seconds"]) for r in records if "wall_seconds" in r), default=None)

    def seeds(self) -> int:
        """One more than the highest seed on record, or 0."""
        found = [name.rpartition("/")[2] for name in self.names()]
        return max((int(seed) for seed in found if seed.isdecimal() and len(seed) < 5), default=-1) + 1


def _records(path: Path) -> dict[str, dict[str, Any]]:
    """The records of a file by the names of their cells."""
    try:
        return _parsed(files.read_bounded(path, files.DOCUMENT_LIMIT))
    except Missing:
        return {}
    except Unreadable as error:
        raise failure(path, str(error), REMEDY) from error


@functools.lru_cache(maxsize=16)
def _parsed(text: bytes) -> dict[str, dict[str, Any]]:
    found, shared = {}, dict[str, Any]()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            record = files.parse_object(line)
            if number == 1 and SHARED in record:
                shared = record[SHARED]
            else:
                found[str(record["name"])] = unshare(record, shared)
        except Unreadable as error:
            raise Unreadable(f"line {number}: {error}") from error
        except (LookupError, TypeError) as error:
            raise Unreadable(f"line {number} is not the record of a cell") from error
    return found


def _in_order(name: str) -> tuple[str, int]:
    family, _, seed = name.rpartition("/")
    return family, int(seed) if seed.isdecimal() else -1


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
    if cell.task != "sdsp":  # which has no such setting
        defaults |= {name: PLAIN[name] for name in ("scaled", "restarts") if name in defaults}
    same_options = rest(record["options"]) == rest(plain(dict(cell.options)))
    return same_options and rest(defaults | then) == rest(now)


__all__ = ["Store"]
