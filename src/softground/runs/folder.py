"""A run folder: configuration, metrics, summary and checkpoints.

::

    config.json               the run: format, version, recipe, settings, digests of data and rule, environment
    metrics.jsonl             one JSON object per line, appended as the run proceeds
    summary.json              what came out
    checkpoint-….safetensors  the last two, and their parts, see :mod:`softground.runs.checkpoint`
    .lock                     locked while a process trains here, see :mod:`softground.runs.lock`

``format`` in ``config.json`` is the number of this layout; a folder of another one is refused.

A flipped bit in ``config.json`` could give a resumed run another learning rate, one in ``metrics.jsonl`` another past,
and both would still be valid JSON. So a checkpoint, which has a digest of its own, keeps digests of both.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from importlib import metadata
from itertools import count
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__, files
from ..errors import CheckpointError
from ..files import Json, Unreadable, describe, failure, parse_object, replace_file
from .lock import LOCK, locked

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 3
RECORD_LIMIT = 2**16  # bytes of a line of metrics, which has some hundreds
CONFIG, METRICS, SUMMARY = "config.json", "metrics.jsonl", "summary.json"
LEFT = (LOCK, files.temporary(Path(CONFIG)).name)  # files of a run that was killed before it began
PACKAGES = {"numpy": "numpy", "z3": "z3-solver"}  # a run saves their versions
CONFIG_DIGEST = "config_sha256"  # where a checkpoint's meta has the digest of the config it was made with


@dataclass(frozen=True)
class RunFolder:
    """One run on disk. Use :meth:`create` for a new run and :meth:`open` for one that exists.

    What is damaged, missing or refused by the system raises :class:`CheckpointError`.
    """

    path: Path

    @classmethod
    def create(cls, path: Path | str | None, task: str) -> RunFolder:
        """A new, empty run folder: ``path``, or ``runs/<task>-<date>-<time>`` when it is None.

        A non-empty folder is refused, so no run overwrites another.
        """
        try:
            if path is None:
                return cls(_fresh(task))
            chosen = Path(path)
            chosen.mkdir(parents=True, exist_ok=True)
            taken = any(path.name not in LEFT for path in chosen.iterdir())
        except OSError as error:
            reason = f"the folder cannot be made: {describe(error)}"
            raise failure(Path(path or "runs"), reason, "Choose a folder you may write to") from error
        if taken:
            raise failure(chosen, "the folder is not empty", "Choose another folder, or resume the run in this one")
        return cls(chosen)

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """The run in ``path``."""
        chosen = Path(path)
        if not chosen.is_dir():
            raise failure(chosen, "there is no such folder", "Give the folder that the run was started in")
        if not (chosen / CONFIG).is_file():
            raise failure(chosen, f"this is not a run folder: it has no {CONFIG}", "Give the folder of a started run")
        return cls(chosen)

    def lock(self) -> AbstractContextManager[None]:
        """Lock the folder against training by other processes; see :func:`softground.runs.lock.locked`."""
        return locked(self.path)

    def write_config(self, config: Mapping[str, object]) -> None:
        """Write the run's configuration."""
        self._write(CONFIG, {"format": FORMAT} | dict(config))

    def read_config(self) -> Json:
        """Read the run's configuration; refuse another format."""
        config = self._read(CONFIG, "It is written when a run starts: restore it from a backup, or start the run again")
        if (found := config.get("format")) != FORMAT:
            version = "0.1.0" if found is None else str(config.get("version"))[:40]  # which had no formats
            layout = "a layout" if found is None else f"format {str(found)[:40]!r},"
            reason = f"softground {version} wrote this run folder in {layout} that this version does not read"
            raise failure(self.path / CONFIG, reason, f"Use softground {version} for it, or start the run again")
        return config

    def extend(self, changes: Mapping[str, object]) -> None:
        """Extend a finished run: change its config, and keep its checkpoints valid."""
        config = self.read_config()
        self.write_config(config | dict(changes) | {"extended": [*_earlier(config), config_digest(config)]})
        (self.path / SUMMARY).unlink(missing_ok=True)  # it is not finished any more

    def config_digest(self) -> str:
        """A digest of the configuration that affects the run."""
        return config_digest(self.read_config())

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write the run's summary."""
        self._write(SUMMARY, summary)

    def read_summary(self) -> Json:
        """Read the run's summary."""
        return self._read(SUMMARY, "It is written when a run ends: resume the run to have it written again")

    def append(self, record: Mapping[str, object]) -> None:
        """Add one record to the metrics; it is on disk when this returns."""
        files.append_line(self.path / METRICS, json.dumps(plain(record), allow_nan=False).encode() + b"\n")

    def read_metrics(self) -> list[Json]:
        """Every complete record, in order. A last line without its end is still being written, and left out."""
        return self._records(files.read_lines(self.path / METRICS))

    def truncate_metrics(self, count: int, digest: str | None = None) -> None:
        """Keep the first ``count`` records, atomically; refuse fewer records or another ``digest``.

        A resumed run repeats what came after its checkpoint. Dropping those records first makes its
        metrics those of a run that was never interrupted. Whatever follows the records kept may be damaged.
        """
        path = self.path / METRICS
        lines = files.read_lines(path)
        if not 0 <= count <= len(lines):
            reason = f"it has {len(lines)} complete records, so the first {count} cannot be kept"
            raise failure(path, reason, "The file does not belong to this checkpoint: restore both from one backup")
        if digest not in (None, reduce(history_digest, self._records(lines[:count]), "")):
            reason = f"its first {count} records are not those that the checkpoint was saved with"
            raise failure(path, reason, "It is damaged or was changed: restore it and the checkpoint from one backup")
        if os.path.lexists(path):
            replace_file(path, b"".join(line + b"\n" for line in lines[:count]))

    def has_checkpoint(self) -> bool:
        """Whether a checkpoint was saved here."""
        from . import checkpoint  # here: with torch, which a list of runs does without

        return checkpoint.exists(self.path)

    def save_checkpoint(self, tensors: Mapping[str, Tensor], meta: Mapping[str, object]) -> None:
        """See :func:`softground.runs.checkpoint.save`."""
        from . import checkpoint

        checkpoint.save(self.path, tensors, meta)

    def load_checkpoint(self, previous: bool = False) -> tuple[dict[str, Tensor], Json]:
        """See :func:`softground.runs.checkpoint.load`. One that was made with another config is refused."""
        from . import checkpoint

        tensors, meta = checkpoint.load(self.path, previous)
        if meta.get(CONFIG_DIGEST) not in (None, self.config_digest(), *_earlier(self.read_config())):
            reason = "its settings are not those that the checkpoint was made with: it is damaged or was changed"
            raise failure(self.path / CONFIG, reason, "Restore it from a backup, or start a new run with those it has")
        return tensors, meta

    def _write(self, name: str, value: Mapping[str, object]) -> None:
        replace_file(self.path / name, (json.dumps(plain(value), indent=2, allow_nan=False) + "\n").encode())

    def _read(self, name: str, remedy: str) -> Json:
        try:
            return parse_object(files.read_bounded(self.path / name, files.DOCUMENT_LIMIT))
        except Unreadable as error:
            raise failure(self.path / name, str(error), remedy) from error

    def _records(self, lines: list[bytes]) -> list[Json]:
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                if len(line) > RECORD_LIMIT:
                    raise Unreadable(f"it is longer than the {RECORD_LIMIT} bytes allowed")
                records.append(parse_object(line))
            except Unreadable as error:
                reason = f"line {number} is damaged: {error}"
                raise failure(self.path / METRICS, reason, "Restore it from a backup, or delete that line") from error
        return records


def _earlier(config: Mapping[str, object]) -> list[str]:
    """Digests of a run's configs before it was extended."""
    found = config.get("extended")
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def config_digest(config: Mapping[str, object]) -> str:
    """SHA-256 of what decides how a run goes: not of what was measured on the way, nor of where."""
    return _digest(config, leaving_out=("before", "place", "chosen", "extended"))


def history_digest(before: str, record: Mapping[str, object]) -> str:
    """SHA-256 of a history that goes on with ``record``, its timings aside; ``before`` is the digest up to there."""
    return _digest(record, ("seconds",), before)


def _digest(value: Mapping[str, object], leaving_out: tuple[str, ...], before: str = "") -> str:
    kept = {name: part for name, part in value.items() if name not in leaving_out}
    return hashlib.sha256((before + json.dumps(kept, sort_keys=True)).encode()).hexdigest()


def plain(value: object) -> Any:
    """``value`` as strict JSON for people and tools to read; NaN and infinities become None.

    Exact numbers that JSON lacks (numpy's, fractions) become ints or floats. What must come back exactly
    belongs in a checkpoint instead.

    >>> plain({"loss": float("nan"), "shape": (2, 3)})
    {'loss': None, 'shape': [2, 3]}
    """
    match value:
        case None | bool() | str():
            return value
        case Integral():
            return int(value)
        case Real():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case os.PathLike():
            return os.fspath(value)
    raise CheckpointError(
        f"A {type(value).__name__} cannot be written as JSON. Use numbers, strings, lists and dicts "
        "(for a tensor, .item() or .tolist())."
    )


def _fresh(task: str) -> Path:
    """Make a folder with the default name, followed by a number if that exists."""
    stem = f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', task)}-{datetime.now():%Y%m%d-%H%M%S}"
    Path("runs").mkdir(exist_ok=True)
    for number in count(1):
        path = Path("runs") / (stem if number == 1 else f"{stem}-{number}")
        with suppress(FileExistsError):
            path.mkdir()
            break
    return path


def environment() -> Json:
    """Versions (None where a package is not installed), platform, CPU count and GPU name (None without one).

    Versions come from the installed packages' metadata, so nothing is imported merely to be asked; torch, which is
    imported anyway, names its build too (``2.13.0+cpu``), which the metadata of the index's package leave out.

    >>> sorted(environment())
    ['cpus', 'gpu', 'numpy', 'platform', 'python', 'softground', 'torch', 'z3']
    """
    import torch

    found: Json = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for key, package in PACKAGES.items():
        try:
            found[key] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[key] = None
    found["softground"] = __version__
    found["platform"] = platform.platform()
    found["cpus"] = os.cpu_count()
    found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return found
