"""An inspection as tables and sentences."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from .compare import RULE, Compared
from .reals import Freedom
from .relabelling import Relabellings
from .size import number

if TYPE_CHECKING:
    from .inspection import Inspection

SHOWN = 8  # projections in the table, besides those given
WIDTH = 120


def as_text(inspection: Inspection) -> str:
    """For ``print``."""
    file = io.StringIO()
    console = Console(file=file, width=WIDTH, highlight=False, color_system=None)
    for part in renderables(inspection):
        console.print(part)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def renderables(inspection: Inspection) -> Iterable[RenderableType]:
    """The parts, from what the problem is to what to do."""
    yield heading("The problem")
    yield from problem(inspection)
    yield heading("Can y identify the symbols?")
    yield Text(identification(inspection.identification))
    yield heading("Projections")
    yield from connectivity(inspection)
    if inspection.compared:
        yield projections(inspection)
    if inspection.led:
        yield led(inspection)
    if inspection.mixing:
        yield heading("Mixing")
        yield mixing(inspection)
    yield heading("Recommended")
    yield Text(str(inspection.recommendation))
    if inspection.left_out:
        yield Text(
            f"\nCut short by the time limit: {', '.join(inspection.left_out)}. Their figures cover less than "
            "they would; give more --seconds for the rest."
        )


def heading(text: str) -> Text:
    """A heading."""
    return Text(f"\n{text}", style="bold")


def problem(found: Inspection) -> Iterable[RenderableType]:
    """Space, sample and sizes."""
    states = "uncountably many" if math.isinf(found.states) else number(found.states)
    yield Text(f"{found.task}: {found.space}, {states} states. {found.answers} distinct answers of {found.of:,} given.")
    sizes = [s for s in found.sizes if s.count is not None]
    if math.isinf(found.states):
        yield Text("S_y is a set of reals, which has no number of elements.")
    elif sizes:
        counts = sorted(s.count for s in sizes if s.count is not None)
        how = "counted" if all(s.exact for s in sizes) else "estimated, from fibres of random u"
        middle = counts[len(counts) // 2]
        several = f"{number(counts[0])} to {number(counts[-1])}, median " if len(counts) > 1 else ""
        part = "" if len(sizes) == len(found.sizes) else f" for {len(sizes)} of them"
        yield Text(f"|S_y|, {how}{part}: {several}{number(middle)} ({middle / found.states:.2g} of the space).")
        if not all(s.exact for s in sizes):
            yield Text("; ".join(f"y = {s.answer}: {s}" for s in found.sizes[:4]))
    else:
        yield Text(f"|S_y|: {found.sizes[0]}.")


def identification(found: Relabellings | Freedom) -> str:
    """What y leaves open, in words."""
    if isinstance(found, Freedom):
        kept = "; ".join(found.kept) or "none of the maps tried"
        text = f"Tried on {found.solutions:,} solutions, S_y is kept by: {kept}."
        text += f" Refuted: {'; '.join(found.refuted)}." if found.refuted else ""
        return text + (" What is kept cannot be learnt from y." if found.kept else "")
    how = f"{found.answers} answer{'s' * (found.answers > 1)} and {found.solutions:,} solutions"
    groups = " and ".join(f"{{{g}}}" for g in found.groups) or "no symbols"
    if found.identifies:
        return f"Yes: no renaming of {groups} but the identity keeps every S_y ({how})."
    least = "" if found.finished else "at least "
    sure = "proved" if found.proved else f"not refuted by {how}"
    if found.count == 1:
        return f"Undecided: no renaming of {groups} was found, but the search was cut short ({how})."
    return (
        f"NO: {least}{found.count:,} renamings of {groups} keep every S_y ({sure}), such as "
        f"{'; '.join(found.examples)}. A network that reads renamed symbols explains every answer just as well: a "
        "reasoning shortcut (Marconato et al., NeurIPS 2023). Judge by accuracy up to renaming, or add a few labels."
    )


def connectivity(found: Inspection) -> Iterable[RenderableType]:
    """The barrier that projections are for."""
    if isinstance(found.identification, Freedom):
        free = found.identification
        yield Text(f"S_y is convex for {free.convex} of {free.answers} answers (no ties), and then in one piece.")
    if found.barrier:
        pieces = [c.count for c in found.barrier]
        alone = sum(c.alone for c in found.barrier) / sum(c.solutions for c in found.barrier)
        yield Text(
            f"Without a projection, changes of one site leave S_y in {span(pieces)} components; {alone:.0%} of "
            "the solutions are isolated."
        )
    if found.compared and not math.isinf(found.states):
        yield Text(f"Ranked by: {RULE}.")


def projections(found: Inspection) -> Table:
    """The candidates, the best first."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("", "dropped"):
        table.add_column(name, no_wrap=True)
    heads = ("|F|", "bits lost", "moves", "ms", "components", "distance", "arrived", "agree")
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    shown = [
        (k, c) for k, c in enumerate(found.compared, 1) if k <= SHOWN or c.candidate.given or not c.candidate.fixed
    ]
    for rank, compared in shown:
        table.add_row(str(rank), _dropped(compared), *_cells(compared, reals=math.isinf(found.states)))
    table.caption = f"{len(shown)} of {len(found.compared)} candidates; sites are counted from 0"
    return table


def led(found: Inspection) -> Table:
    """The kernels given, led from solution to solution."""
    table = Table(box=SIMPLE_HEAD, title="Chains led from one solution to another", title_justify="left")
    table.add_column("kernel")
    for name in ("arrived", "steps", "agreement in the end"):
        table.add_column(name, justify="right")
    for name, run in found.led.items():
        steps = "–" if run.steps is None else f"{run.steps:.0f}"
        table.add_row(name, f"{run.arrived:.0%} of {run.pairs}", f"{steps} of {run.allowed}", f"{run.agreement:.0%}")
    return table


def mixing(found: Inspection) -> Table:
    """ESS and R̂ of each kernel at each temperature."""
    cut = "" if all(m.whole for m in found.mixing) else "; * cut short"
    table = Table(box=SIMPLE_HEAD, caption=f"median over answers and quantities followed, and the worst{cut}")
    table.add_column("kernel")
    for name in ("γ", "draws", "moved", "ESS a draw", "worst", "R̂", "worst", "ms a step"):
        table.add_column(name, justify="right")
    last = ""
    for m in found.mixing:
        ess = (f"{m.ess / m.draws:.2f}", f"{m.ess_least / m.draws:.2f}")
        cells = (
            f"{m.draws}{'' if m.whole else ' *'}",
            f"{m.moved:.0%}",
            *ess,
            _rhat(m.rhat),
            _rhat(m.rhat_worst),
            f"{1e3 * m.seconds:.2g}",
        )
        table.add_row("" if m.kernel == last else m.kernel, f"{m.gamma:g}", *cells)
        last = m.kernel
    return table


def span(values: list[int]) -> str:
    """A range of whole numbers.

    >>> span([3, 1, 2]), span([4])
    ('1 to 3', '4')
    """
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _rhat(value: float) -> str:
    return "> 10" if value > 10 else f"{value:.2f}"


def _dropped(compared: Compared) -> str:
    c = compared.candidate
    many = "" if c.fixed or c.name.startswith("any") else f" ({len(c.sets)} sets)"
    size = f" ({c.dropped} sites)" if c.given else ""
    return f"{c.name}{size}{many}"


def _cells(compared: Compared, reals: bool) -> tuple[str, ...]:
    f = compared.fibres
    if f is None:
        return ("too many", *["–"] * 7)
    pieces = span([c.count for c in compared.components]) if compared.components else "–"
    if compared.connected is not None:
        pieces += f", {compared.connected:.0%}"
    far, chains = compared.distance, compared.led
    distance = "–" if far is None or math.isinf(far.mean) else f"{far.mean:.1f}, ≤ {far.largest}"
    arrived = "–" if chains is None else f"{chains.arrived:.0%}"
    arrived += f" in {chains.steps:.0f}" if chains is not None and chains.steps is not None else ""
    agree = "–" if chains is None else f"{chains.agreement:.0%}"
    size = f"{f.mean:.3g}, ≤ {f.largest:,}" if f.complete == 1 else f"over {f.mean:.3g}"
    size, bits = ("reals", "–") if reals else (size, f"{f.entropy:.2f}")
    return (size, bits, f"{f.movement:.0%}", f"{1e3 * f.seconds:.2g}", pieces, distance, arrived, agree)
