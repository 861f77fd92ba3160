"""The library's reporter: progress on a terminal, loggers, a gallery of examples, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..files import Json
from ..inspection.maps import other_maps
from ..preparing import Reporter
from ..runs import RunFolder
from .gathering import gather
from .html import write_report
from .loggers import shown
from .watch import Watch


class RunReporter(Reporter):
    """Shows and reports runs of a learner."""

    def watch(self, learner: Any, train: Any, path: Path) -> Watch:
        return Watch(learner, train, RunFolder(path))

    def shown(self, observer: Any, quiet: bool, loggers: Sequence[Any]) -> AbstractContextManager[Any]:
        return shown(observer, quiet, loggers)

    def facts(self, task: Any, z: Any, y: Any) -> Json:
        found = other_maps(task, z, y)
        return {} if found is None else {"other_maps": found}

    def report(self, learner: Any, train: Any, test: Any, path: Path, predictions: Any) -> None:
        folder = RunFolder(path)
        write_report(folder, gather(learner, train, test, folder, predictions=predictions))
