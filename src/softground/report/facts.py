"""A run as its report sees it: everything that the run folder holds, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..runs import RunFolder
from ..runs.folder import SUMMARY
from .findings import Findings
from .progress import title
from .watch import GALLERY, read_gallery


@dataclass(frozen=True)
class Facts:
    """What is known of a run; a page is a function of it.

    Attributes
    ----------
    name
        The run folder's name.
    config, history, summary
        ``config.json``, ``metrics.jsonl`` and ``summary.json``; the last is empty while a run goes on.
    watched
        ``gallery.jsonl``.
    findings
        ``report.json``.
    """

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: Mapping[str, Any] = field(default_factory=dict)
    watched: list[dict[str, Any]] = field(default_factory=list)
    findings: Findings | None = None

    @classmethod
    def read(cls, folder: RunFolder) -> Facts:
        """The facts of a run folder, finished or not."""
        return cls(
            name=folder.path.resolve().name,
            config=folder.read_config(),
            history=folder.read_metrics(),
            summary=folder.read_summary() if (folder.path / SUMMARY).exists() else {},
            watched=read_gallery(folder.path / GALLERY),
            findings=Findings.read(folder),
        )

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.config.get("task", "run"))

    @property
    def options(self) -> Mapping[str, Any]:
        """What was asked for: the command line's options, or a program's settings."""
        for name in ("recipe", "settings"):
            if isinstance(found := self.config.get(name), Mapping):
                return found
        return {}

    @property
    def moments(self) -> dict[str, Mapping[str, Any]]:
        """Held-out figures before training and after each stage."""
        before = self.summary.get("before", self.config.get("before"))
        after = {
            f"after {title(key.removeprefix('after_stage_'))}": value
            for key, value in self.summary.items()
            if key.startswith("after_stage_")
        }
        if not after and self.history:  # not finished, or not started from the command line
            last = self.history[-1]
            after = {"last epoch": {k.removeprefix("test_"): v for k, v in last.items() if k.startswith("test_")}}
        moments = {"before": before} | after
        return {name: value for name, value in moments.items() if isinstance(value, Mapping) and value}


__all__ = ["Facts"]
