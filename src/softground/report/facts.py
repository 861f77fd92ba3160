"""A run as its report sees it: everything that the run folder holds, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..retired import effective
from ..runs import RunFolder
from ..runs.folder import SUMMARY
from .findings import Findings
from .numbers import apart
from .progress import title
from .watch import GALLERY, read_gallery


@dataclass(frozen=True)
class Facts:
    """What is known of a run; a page is a function of it."""

    name: str  # the run folder's
    config: Mapping[str, Any]
    history: list[dict[str, Any]]  # metrics.jsonl
    summary: Mapping[str, Any]  # empty while a run goes on
    watched: list[dict[str, Any]]  # gallery.jsonl
    findings: Findings | None  # report.json

    @classmethod
    def read(cls, folder: RunFolder) -> Facts:
        """The facts of a run folder, finished or not."""
        config = folder.read_config()
        return cls(
            name=folder.path.resolve().name,
            config=config | ({"recipe": effective(config["recipe"])} if "recipe" in config else {}),
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
    def asked(self) -> dict[str, Any]:
        """What the run was asked to do and with what: recipe, settings, version and digests, whatever is there."""
        return {name: value for name, value in self.config.items() if name not in ("format", "task", "before")}

    @property
    def final(self) -> Mapping[str, Any]:
        """The figures of the last moment, those of further test sets by their names among them."""
        return list(self._moments.values())[-1] if self._moments else {}

    @property
    def moments(self) -> dict[str, Mapping[str, Any]]:
        """Held-out figures before training and after each stage, further test sets left aside."""
        return {name: apart(figures, self.test_sets)[0] for name, figures in self._moments.items()}

    @property
    def test_sets(self) -> list[str]:
        """Names of the further test sets."""
        found = self.summary.get("test_sets")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    @property
    def _moments(self) -> dict[str, Mapping[str, Any]]:
        before = self.summary.get("before", self.config.get("before"))
        after = {
            f"after {title(key.removeprefix('after_stage_'))}": value
            for key, value in self.summary.items()
            if key.startswith("after_stage_")
        }
        if not after and self.history:
            last = self.history[-1]
            after = {"last epoch": {k.removeprefix("test_"): v for k, v in last.items() if k.startswith("test_")}}
        moments = {"before": before} | after
        return {name: value for name, value in moments.items() if isinstance(value, Mapping) and value}
