"""A run while it goes on: on a terminal a bar per stage and one line, in a notebook one line that changes, elsewhere a
line per epoch. And tables of figures."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich import progress
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..figures import SETS, figures
from ..files import Json, harmless
from ..preparing import watched
from .words import columns, in_words, rows, worded

if TYPE_CHECKING:
    from ..learner.stage import Stage


class _Bars(progress.Progress):
    """Bars as wide as the terminal, with a line of text below."""

    facts, whole = "", False

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.facts, no_wrap=not self.whole, overflow="fold" if self.whole else "ellipsis")


class Display:
    """An observer of the training loop that shows how far it is; with ``verdict`` also how it ended."""

    def __init__(self, console: Console, verdict: bool = False) -> None:
        self.console, self.verdict, self.every_batch = console, verdict, console.is_terminal
        self._last = ""
        self._output: Any = None  # of a notebook's cell
        self.progress = _Bars(
            progress.TextColumn("[bold]{task.description}"),
            progress.BarColumn(bar_width=None),
            progress.MofNCompleteColumn(),
            progress.TextColumn("epochs,"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("+"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("left"),
            console=console,
            expand=True,
            disable=not console.is_terminal,
        )
        self._watch: AbstractContextManager[None] = nullcontext()
        self._stages: dict[str, tuple[Stage, progress.TaskID]] = {}

    @classmethod
    def on_stderr(cls) -> Display:
        """A display for a run that was not started on the command line."""
        piped = not Console().is_jupyter and not (sys.stderr and sys.stderr.isatty())  # FORCE_COLOR may say otherwise
        return cls(Console(stderr=True, force_terminal=False if piped else None), verdict=True)

    def __enter__(self) -> Display:
        self.progress.start()
        self._watch = watched(self._prepare) if self.console.is_terminal else nullcontext()
        self._watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.__exit__(None, None, None)
        self.progress.stop()

    def _prepare(self, text: str) -> None:
        """Show how far a preparation is."""
        self.progress.facts = text

    def __call__(self, event: str, facts: Json) -> None:
        """React to an event of the loop."""
        if event in ("begin", "failed"):
            for line in (*facts.get("choice", ()), *(each.sentence for each in facts.get("failures", ()))):
                self._print(line)
            left = facts.get("epochs", 0)
            for stage in facts["stages"]:
                done = min(left, stage.most)
                left -= done
                bar = self.progress.add_task(title(stage.name), total=stage.most, completed=done, start=False)
                self._stages[stage.name] = stage, bar
        elif event == "batch":
            _, bar = self._stages[facts["stage"]]
            self.progress.start_task(bar)
            self.progress.update(bar, completed=facts["epoch"] + (facts["step"] + 1) / facts["steps"])
        elif event == "epoch":
            (stage, bar), done = self._stages[facts["stage"]], facts["epoch"] + 1
            self._last = self.progress.facts = summary_line(facts)
            self.progress.update(bar, completed=done)
            if not self.console.is_terminal:
                self._print(f"{title(stage.name)}, epoch {done}/{stage.most}: {summary_line(facts)}", passing=True)
        elif event == "end":
            self.progress.facts, self.progress.whole = (
                str(facts["verdict"]) if self.verdict else self._last,
                self.verdict,
            )
            if self.verdict and not self.console.is_terminal:
                self._print(str(facts["verdict"]))

    def _print(self, line: str, passing: bool = False) -> None:
        """Print a line; in a notebook one that is ``passing`` takes the place of the one before."""
        if not self.console.is_jupyter:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)
            return
        display = import_module("IPython.display").display

        text = {"text/plain": line}
        if passing and self._output is not None:
            self._output.update(text, raw=True)
        else:
            output = display(text, raw=True, display_id=True)
            self._output = output if passing else self._output


def title(stage: str) -> str:
    """A stage's name as a heading."""
    return f"Stage {stage}" if stage.split(",")[0] in ("0", "I", "II") else stage


def summary_line(record: Json) -> str:
    """An epoch in two figures.

    >>> summary_line({"loss": 0.25, "gamma": None, "feasible": 0.5, "test_symbol_accuracy": 0.75, "test_error": 3.2})
    'training answers explained 50.0%, held-out symbol accuracy 75.0%'
    >>> summary_line({"loss": 0.25, "feasible": 0.5})
    'training answers explained 50.0%, loss 0.250'
    """
    found = [f for f in figures(record) if f.value is not None and f.data in SETS and not f.shape]
    parts = [f"training answers explained {record['feasible']:.1%}"] if "feasible" in record else []
    if found:
        first = min(found, key=lambda f: SETS.index(f.data))
        parts.append(f"held-out {worded(first._replace(data='').flat)} {in_words(first, 1)}")
    elif "loss" in record:
        parts.append(f"loss {record['loss']:.3f}")
    return ", ".join(parts)


def result_table(title: str, moments: dict[str, Json], test_sets: Iterable[str] = ()) -> Table:
    """Figures side by side: one column per moment (before, after Stage I, …), one row per metric of a short table.

    Figures of further test sets are in those of the last moment, and get columns of their own.
    """
    found = columns(moments, test_sets)
    return side_by_side("on held-out data", found, rows(found.values()), title)


def side_by_side(heading: str, columns: Iterable[str], rows: Mapping[str, Iterable[str]], title: str = "") -> Table:
    """A table of figures, whose rows have names. Nothing in it is cut off: what is too long is folded."""
    table = Table(title=Text(harmless(title)) if title else None, title_justify="left")
    table.add_column(heading, overflow="fold")
    for column in columns:
        table.add_column(Text(harmless(column)), justify="right", overflow="fold")
    for name, cells in rows.items():
        table.add_row(*(Text(harmless(text)) for text in (name, *cells)))
    return table
