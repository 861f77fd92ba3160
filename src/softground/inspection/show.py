"""An inspection as tables and sentences that fit 80 columns, on a screen and in a pipe.

What y can tell about the symbols is three questions, each with its answer and the assumption behind it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..kernels import Exact
from ..walks.connectivity import Components
from ..walks.ranking import RULE, Ranked
from .maps import Consistent, Labels, Maps
from .renamings import Relabellings
from .sizes import number

if TYPE_CHECKING:
    from .inspection import Inspection

WIDTH = 80
SHORT = 4  # labels, more of which are not named one by one


def as_text(inspection: Inspection) -> str:
    """For ``print``."""
    file = io.StringIO()
    console = Console(file=file, width=WIDTH, highlight=False, color_system=None)
    for part in renderables(inspection):
        console.print(part)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def renderables(found: Inspection) -> Iterable[RenderableType]:
    """The parts of the output, from the problem to the recommendation."""
    exact = isinstance(found.recommendation.kernel, Exact)
    best = str(found.recommendation)
    best = best.split("\n- If you use a walk")[0] if exact else best
    parts: dict[str, Iterable[RenderableType | str]] = {
        "The problem": problem(found),
        "Can y identify the symbols?": identification(found),
        "Projections": [] if exact else projections(found),
        "Recommended": [best, *(f"- {words}" for words in advice(found.maps))],
    }
    yield Text(verdict(found), style="bold")
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
    """The information of y about the symbols, in three questions."""
    yield renamings(found.identification)
    for each in found.maps:
        yield f"(b) Can the answers tell all symbols apart? {fitting(each)}"
    for each in found.maps:
        if each.every.count > 1:
            yield settling(each)
    if found.told is not None:
        yield f"An answer tells {found.told:.0%} of what there is to know of the symbols, I(y; z)/H(z)."
    for one in found.nearly:
        yield f"Nearly a shortcut: {one.map}, {one.share:.0%} of the answers still hold."


def verdict(found: Inspection) -> str:
    """Sum up the three questions and the readings that explain nearly every answer."""
    walks = not isinstance(found.recommendation.kernel, Exact)
    how = "train with chains" if walks else "train exactly"
    looked = f" (from a sample of {found.answers} answers)" if found.sampled else ""
    if not found.maps:
        return f"Symbols that are real numbers have no names to confuse: {how}{looked}."
    every, one, count = found.maps[0].every, found.maps[0].one_to_one, found.maps[0].symbols
    if every.count > 1 and one.count > 1:
        names = [] if every.labels is None else every.labels.example
        few = f"label one {' and one '.join(names)}" if 0 < len(names) <= SHORT else "label some of them"
        which = _set(every.disagree) if every.disagree else "some symbols"
        return f"The answers cannot tell {which} apart: {few}{looked}."
    if not (every.finished and one.finished):
        return f"Whether the answers identify all symbols is not settled: allow more seconds, or label some{looked}."
    if every.count > 1:
        return f"The answers identify all {count} symbols if none are merged: {how}, scaled as is the default{looked}."
    anneal = ", annealed as is the default" if found.nearly and not walks else ""
    return f"The answers identify all {count} symbols: {how}{anneal}{looked}."


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


def renamings(found: Relabellings | None) -> str:
    """Question (a)."""
    if found is None:
        return "Not examined: some symbols are real numbers, which have no names to exchange."
    how = f"{found.answers} answer{'s' * (found.answers > 1)} and {found.solutions:,} solutions"
    groups = _braced(found.groups) or "no symbols"
    if found.identifies:
        return (
            f"(a) Renamings that keep every S_y. Yes, if every combination in S_y occurs among the inputs: no renaming "
            f"of {groups} but the identity does ({how})."
        )
    if found.count == 1:
        return f"(a) Renamings that keep every S_y. Undecided: none of {groups} was found, but time was up ({how})."
    least = "" if found.finished else "at least "
    sure = "proved" if found.proved else f"not refuted by {how}"
    loss = (
        "No symbol can be named from y alone: a network may explain every answer and have each symbol wrong"
        if found.nameless
        else f"y cannot tell apart {_braced(found.confused)}"
    )
    return (
        f"(a) Renamings that keep every S_y. NO: {least}{found.count:,} renamings of {groups} do ({sure}), such as "
        f"{'; '.join(found.examples)}. {loss}, whatever occurs: a reasoning shortcut (Marconato et al., NeurIPS 2023)."
    )


def fitting(found: Consistent) -> str:
    """Question (b): how many maps fit, where they disagree, and what that means for the symbols' error."""
    every, one, given = found.every, found.one_to_one, found.assumption
    absent = f" Of {_set(found.absent)}, which never occur, nothing is known." if found.absent else ""
    if found.settled:
        return f"Yes: among all maps of symbols, only the true one explains every answer, {given}.{absent}"
    if every.count == 1:
        return f"Undecided, {given}: no map but the true one was found before the search was stopped.{absent}"
    sure = "explain every answer" if found.proved else "are not refuted by those"
    same = "all of them one-to-one" if one == every else f"{_number(one)} of them one-to-one"
    d, size = len(every.disagree), found.symbols
    bound = (
        f" They disagree on {d} of the {size} symbols that occur, so a network that explains every answer has a mean "
        f"symbol error of up to d/L = {d}/{size}"
        + ("." if one.disagree == every.disagree else f" (if its map is one-to-one, {len(one.disagree)}/{size}).")
        if every.finished and one.finished
        else ""
    )
    own = f" With a map of its own at each site: {_number(found.per_site)}." if _told(found.per_site) else ""
    examples = f", such as {'; '.join(found.examples)}" if found.examples else ""
    return f"NO, {given}: {_number(every)} maps {sure}, {same}{examples}.{bound}{own}{absent}"


def settling(found: Consistent) -> str:
    """Question (c)."""
    head, every, one = f"(c) What settles it at least cost, {found.assumption}.", found.every, found.one_to_one
    words = _labels(every.labels, found.proved) if every.labels else "The fewest labels were not found in time."
    if one.labels is not None and one != every:
        some = f" Among one-to-one maps: {_labels(one.labels, found.proved)}"
        words += some if one.count > 1 else " One-to-one maps need none."
    if found.further:
        several = "s" * (len(found.further) > 1)
        words += f" Or answers to the further combination{several} {', '.join(found.further)}."
    return f"{head} {words}"


def advice(found: Sequence[Consistent]) -> Iterator[str]:
    """The recommendation if several maps fit."""
    for each in found[:1]:
        if each.every.count > 1:
            labels = each.every.labels
            which = f"a labelled input for each of {_set(labels.example)}" if labels else "a few labelled inputs"
            shared = labels is not None and not any(" at site " in name for name in labels.example)
            how = f"--anchor-symbols {' '.join(labels.example)}" if labels and shared else "anchors"
            merging = each.one_to_one.count < each.every.count
            left = "the true one" if each.one_to_one.count == 1 else f"{_number(each.one_to_one)} maps"
            prior = (
                " Scaled grounding, the default, finds one-to-one maps, which leaves " + left + "."
                if merging
                else " All are one-to-one: without labels, judge by accuracy up to renaming."
            )
            yield f"Several maps of symbols explain the answers: give {which} ({how}, or known symbols).{prior}"


def _told(maps: Maps | None) -> bool:
    return maps is not None and (maps.finished or maps.count > 1)


def _labels(labels: Labels, proved: bool) -> str:
    """The fewest labels; maps that are not proved may yet be refuted, and then fewer would do."""
    sets = f"{'at least ' * (not labels.finished)}{labels.sets:,} such set{'s' * (labels.sets > 1)}"
    what = f"{labels.fewest} label{'s' * (labels.fewest > 1)}{', and no fewer,' if proved else ', perhaps fewer,'}"
    return f"{what} leave{'s' * (labels.fewest == 1)} one map: of {_set(labels.example)}, say ({sets})."


def _number(maps: Maps | None) -> str:
    assert maps is not None
    return f"{'' if maps.finished else 'at least '}{maps.count:,}"


def _set(names: Sequence[str]) -> str:
    return f"{{{' '.join(names) if len(names) <= 16 else f'{names[0]} … {names[-1]}'}}}"


def _braced(groups: Sequence[str]) -> str:
    return " and ".join(f"{{{g}}}" for g in groups)
