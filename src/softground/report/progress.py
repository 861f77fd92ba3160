"""A run on the terminal: while it goes on a bar per stage and one line of facts, at its end a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from rich import progress
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..figures import figures
from ..files import Json, harmless
from ..preparing import watched
from .words import columns, in_words, rows, short

if TYPE_CHECKING:
    from ..learner.stage import Stage


class _Bars(progress.Progress):
    """Bars as wide as the terminal, with a line of text below."""

    facts = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.facts, no_wrap=True, overflow="ellipsis")


class Display:
    """An observer of the training loop that draws on a terminal, and elsewhere prints at most ten lines per stage."""

    def __init__(self, console: Console) -> None:
        self.console = console
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
    def on_terminal(cls) -> Display | None:
        """A display on stderr, if that is a terminal or a notebook."""
        console = Console(stderr=True)
        return cls(console) if console.is_jupyter or console.file.isatty() else None

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
                self.console.print(line, markup=False, highlight=False, soft_wrap=True)
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
            self.progress.facts = summary_line(facts)
            self.progress.update(bar, completed=done)
            another_tenth = 10 * done // stage.most > 10 * (done - 1) // stage.most
            if another_tenth and not self.console.is_terminal:
                line = f"{title(stage.name)}, epoch {done}/{stage.most}: {summary_line(facts)}"
                self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def title(stage: str) -> str:
    """A stage's name as a heading."""
    return f"Stage {stage}" if stage.split(",")[0] in ("0", "I", "II") else stage


def summary_line(record: Json) -> str:
    """An epoch in a few words.

    >>> summary_line({"loss": 0.25, "gamma": None, "feasible": 0.5, "test_symbol_accuracy": 0.75, "test_error": 3.2})
    'loss 0.250, γ ∞, feasible 50.0%; test: symbol 75.0%, error 3.2'
    """
    forms = {"loss": ("loss", ".3f"), "gamma": ("γ", ".3g"), "feasible": ("feasible", ".1%")}
    parts = [
        f"{name} {'∞' if record[key] is None else format(record[key], form)}"
        for key, (name, form) in forms.items()
        if key in record
    ]
    parts += [f"{record[key]:,} {key}" for key in ("unexplained", "unstarted") if record.get(key)]
    lines = [", ".join(parts)]
    found = [f for f in figures(record) if f.value is not None and not f.shape]
    for part in ("test", "validation"):
        own = [f"{short(f._replace(data=''))} {in_words(f, 1)}" for f in found if f.data == part]
        lines += [f"{part}: {', '.join(own)}"] if own else []
    return "; ".join(lines)


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
