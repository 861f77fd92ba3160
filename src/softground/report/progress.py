"""A live display of a run: one bar for the epochs, one line of what is happening."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..learner.stage import Stage


class Display:
    """An observer of the training loop that draws on a terminal, and prints a line per tenth of a stage elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress = Progress(
            TextColumn("[bold]{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("epochs"),
            TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[facts]}"),
            console=console, transient=False, disable=not console.is_terminal,
        )  # fmt: skip
        self._bars: dict[str, Any] = {}
        self._stages: dict[str, Stage] = {}
        self._done: dict[str, float] = {}

    def __enter__(self) -> Display:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        """React to an event of the loop."""
        if event == "begin":
            at_stage, at_epoch = facts["done"]
            for number, stage in enumerate(facts["stages"]):
                done = stage.epochs if number < at_stage else at_epoch if number == at_stage else 0
                self._stages[stage.name] = stage
                self._bars[stage.name] = self.progress.add_task(
                    _title(stage.name), total=stage.epochs, completed=done, facts="", start=False
                )
        elif event == "batch":
            bar = self._bars[facts["stage"]]
            self.progress.start_task(bar)
            self.progress.update(bar, completed=facts["epoch"] + (facts["step"] + 1) / facts["steps"])
        elif event == "epoch":
            stage = self._stages[facts["stage"]]
            self.progress.update(self._bars[stage.name], completed=facts["epoch"] + 1, facts=summary_line(facts))
            tenth = max(1, stage.epochs // 10)
            if not self.console.is_terminal and ((facts["epoch"] + 1) % tenth == 0 or facts["epoch"] + 1 == stage.epochs):
                self.console.print(f"{_title(stage.name)}, epoch {facts['epoch'] + 1}/{stage.epochs}: {summary_line(facts)}")


def _title(stage: str) -> str:
    return f"Stage {stage}" if stage in ("I", "II") else stage


def summary_line(record: dict[str, Any]) -> str:
    """An epoch in a few words."""
    parts = [f"loss {record['loss']:.3f}"]
    if "gamma" in record:
        gamma = record["gamma"]
        parts.append(f"γ {gamma:.3g}" if gamma is not None else "γ ∞")
    parts.append(f"feasible {record['feasible']:.1%}")
    parts += [f"{k.removeprefix('test_').replace('_', ' ')} {v:.1%}" for k, v in record.items() if k.startswith("test_")]
    return ", ".join(parts)
