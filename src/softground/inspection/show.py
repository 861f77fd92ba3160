"""An inspection as tables and sentences that are whole at 80 columns, on a screen and in a pipe."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from .connectivity import Components
from .ranking import RULE, Ranked
from .show_maps import advice, boolean, consistent, renamings, settling
from .solutions import number

if TYPE_CHECKING:
    from .inspection import Inspection

WIDTH = 80


def as_text(inspection: Inspection) -> str:
    """For ``print``."""
    file = io.StringIO()
    console = Console(file=file, width=WIDTH, highlight=False, color_system=None)
    for part in renderables(inspection):
        console.print(part)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def renderables(found: Inspection) -> Iterable[RenderableType]:
    """The parts, from what the problem is to what to do."""
    parts: dict[str, Iterable[RenderableType | str]] = {
        "The problem": problem(found),
        "Can y identify the symbols?": identification(found),
        "Projections": projections(found),
        "Recommended": [str(found.recommendation), *(f"- {words}" for words in advice(found.maps))],
    }
    for heading, lines in parts.items():
        for turn, line in enumerate(lines):
            if turn == 0:
                yield Text(f"\n{heading}", style="bold")
            yield Text(line) if isinstance(line, str) else line
    for name, why in found.refused.items():
        yield Text(f"\nThe kernel {name} cannot walk here: {why}")
    if found.left_out:
        yield Text(f"\nCut short by the time limit: {', '.join(found.left_out)}. Allow more seconds for the rest.")


def problem(found: Inspection) -> Iterable[str]:
    """Space, sample and sizes."""
    states = "uncountably many" if found.identification is None else number(found.states)
    answers = f"{found.answers} distinct answer{'s' * (found.answers > 1)} of {found.given:,} given"
    yield f"{found.task}: {found.space}, {states} states. {answers}."
    known = sorted(
        (s for s in found.sizes if s.count is not None and math.isfinite(s.count)), key=lambda s: s.count or 0
    )
    if known:
        how = "counted" if all(s.exact for s in known) else "estimated, from fibres of random u"
        low, middle, high = (known[k].count or 0 for k in (0, len(known) // 2, -1))
        several = f"{number(low)} to {number(high)}, median " if len(known) > 1 else ""
        part = "" if len(known) == len(found.sizes) else f" for {len(known)} of them"
        yield f"|S_y|, {how}{part}: {several}{number(middle)} ({middle / found.states:.2g} of the space)."
        if how != "counted":
            yield "; ".join(f"y = {s.answer}: {s}" for s in found.sizes[:4])
    elif found.identification is not None:
        yield f"|S_y|: {found.sizes[0]}."


def identification(found: Inspection) -> Iterable[str]:
    """What y can tell of the symbols: three questions."""
    yield renamings(found.identification)
    for each in found.maps:
        yield consistent(each)
    for each in found.maps:
        if each.every.count > 1:
            yield settling(each)
    if found.boolean is not None:
        yield boolean(found.boolean)


def projections(found: Inspection) -> Iterable[RenderableType | str]:
    """The barrier that projections are for, and the candidates, the best first."""
    if found.barrier:
        alone = sum(c.alone for c in found.barrier) / sum(c.solutions for c in found.barrier)
        yield (
            f"Without a projection, changes of one site leave S_y in {span(found.barrier)} "
            f"components; {alone:.0%} of the solutions are isolated."
        )
    if found.ranked:
        yield f"Ranked by: {RULE}."
        heads = ("|F|", "largest", "moves", "parts", "joined", "arrived", "steps", "agree")
        yield _table("walk", heads, [(r.name, *_cells(r)) for r in found.ranked])


def span(found: Sequence[Components]) -> str:
    """How many components there are."""
    low, high = min(c.count for c in found), max(c.count for c in found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _table(first: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Numbers are never cut; the first column wraps instead."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), caption_justify="left")
    table.add_column(first, overflow="fold")
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _cells(r: Ranked) -> tuple[str, ...]:
    f, led, cells = r.fibres, r.led, ["many" if r.projection else "–", *["–"] * 7]
    if f is not None:
        cells[:3] = f"{'' if f.complete == 1 else '> '}{f.mean:.3g}", f"{f.largest:,}", f"{f.movement:.0%}"
    if r.connected is not None:
        cells[3:5] = span(r.components).replace(" to ", "–"), f"{r.connected:.0%}"
    if led is not None:
        cells[5:] = f"{led.arrived:.0%}", "–" if led.steps is None else f"{led.steps:.0f}", f"{led.agreement:.0%}"
    return tuple(cells)
