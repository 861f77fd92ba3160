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
from .relabelling import Relabellings
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
        "Can y identify the symbols?": [identification(found.identification)],
        "Projections": projections(found),
        "Mixing": mixing(found),
        "Recommended": [str(found.recommendation)],
    }
    for heading, lines in parts.items():
        for turn, line in enumerate(lines):
            if turn == 0:
                yield Text(f"\n{heading}", style="bold")
            yield Text(line) if isinstance(line, str) else line
    for name, why in found.refused.items():
        yield Text(f"\nThe kernel {name} cannot walk here: {why}")
    if found.left_out:
        yield Text(
            f"\nCut short by the time limit: {', '.join(found.left_out)}. Their figures cover less than they would; "
            "allow more seconds for the rest."
        )


def problem(found: Inspection) -> Iterable[str]:
    """Space, sample and sizes."""
    states = "uncountably many" if math.isinf(found.states) else number(found.states)
    answers = f"{found.answers} distinct answer{'s' * (found.answers > 1)} of {found.given:,} given"
    yield f"{found.task}: {found.space}, {states} states. {answers}."
    counts = sorted(s.count for s in found.sizes if s.count is not None)
    if counts:
        exact = all(s.exact for s in found.sizes if s.count is not None)
        how = "counted" if exact else "estimated, from fibres of random u"
        middle = counts[len(counts) // 2]
        several = f"{number(counts[0])} to {number(counts[-1])}, median " if len(counts) > 1 else ""
        part = "" if len(counts) == len(found.sizes) else f" for {len(counts)} of them"
        yield f"|S_y|, {how}{part}: {several}{number(middle)} ({middle / found.states:.2g} of the space)."
        if not exact:
            yield "; ".join(f"y = {s.answer}: {s}" for s in found.sizes[:4])
    elif math.isfinite(found.states):
        yield f"|S_y|: {found.sizes[0]}."


def identification(found: Relabellings | None) -> str:
    """What y leaves open, in words."""
    if found is None:
        return "Not looked at: symbols are reals. Difference constraints fix them up to a constant at best."
    how = f"{found.answers} answer{'s' * (found.answers > 1)} and {found.solutions:,} solutions"
    groups = _braced(found.groups) or "no symbols"
    if found.identifies:
        return (
            f"Yes, if every combination in S_y occurs among the inputs: no renaming of {groups} but the identity keeps "
            f"every S_y ({how}). Where only some combinations occur, a renaming that keeps just these is not ruled "
            "out. Maps that merge symbols are not looked at."
        )
    if found.count == 1:
        return f"Undecided: no renaming of {groups} was found, but the search was cut short ({how})."
    least = "" if found.finished else "at least "
    sure = "proved" if found.proved else f"not refuted by {how}"
    loss = (
        "No symbol can be named from y alone: a network may explain every answer and have each symbol wrong"
        if found.nameless
        else f"y cannot tell apart {_braced(found.confused)}"
    )
    return (
        f"NO: {least}{found.count:,} renamings of {groups} keep every S_y ({sure}), such as "
        f"{'; '.join(found.examples)}. {loss}. A network that reads renamed symbols explains every answer just as "
        "well: a reasoning shortcut (Marconato et al., NeurIPS 2023). Judge by accuracy up to renaming, or add a few "
        "labels. Maps that merge symbols are not looked at."
    )


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


def mixing(found: Inspection) -> Iterable[RenderableType]:
    """ESS and R̂ of each kernel at each temperature."""
    rows, last = [], ""
    for m in found.mixing:
        ess = (f"{m.ess / m.draws:.2f}", f"{m.ess_least / m.draws:.2f}")
        rhat = tuple("> 10" if r > 10 else f"{r:.2f}" for r in (m.rhat, m.rhat_worst))
        cells = (f"{m.moved:.0%}", *ess, *rhat, f"{1e3 * m.seconds:.2g}")
        rows.append(("" if m.kernel == last else m.kernel, f"{m.gamma:g}", f"{m.draws}{'*' * (not m.whole)}", *cells))
        last = m.kernel
    if rows:
        table = _table("kernel", ("γ", "draws", "moved", "ESS", "worst", "R̂", "worst", "ms"), rows)
        table.caption = "ESS per draw; median and worst over answers and quantities followed"
        table.caption += "" if all(m.whole for m in found.mixing) else "; * cut short"
        yield table


def span(found: Sequence[Components]) -> str:
    """How many components there are."""
    low, high = min(c.count for c in found), max(c.count for c in found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _braced(groups: Iterable[str]) -> str:
    return " and ".join(f"{{{g}}}" for g in groups)


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
