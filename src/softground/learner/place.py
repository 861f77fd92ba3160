"""Where a run is kept while it is trained: a folder that no other process may train in meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs.folder import RunFolder

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@contextmanager
def run_folder(
    out: Path | str | RunFolder | None, fabric: Fabric, resume: bool, config: Mapping[str, Any]
) -> Iterator[RunFolder | None]:
    """The run folder ``out``; process 0 makes a new one for the task of ``config``, and locks it for all."""
    with ExitStack() as stack:
        if out is not None and fabric.is_global_zero:
            new = not resume and not isinstance(out, RunFolder)
            folder = RunFolder.create(_path(out), config["task"]) if new else _opened(out)
            stack.enter_context(folder.lock())
            if new:
                folder.write_config(config)
        fabric.barrier()
        yield None if out is None else _opened(out)


def _opened(out: Path | str | RunFolder) -> RunFolder:
    return out if isinstance(out, RunFolder) else RunFolder.open(out)


def _path(out: Path | str | RunFolder) -> Path | str:
    return out.path if isinstance(out, RunFolder) else out


__all__ = ["run_folder"]
