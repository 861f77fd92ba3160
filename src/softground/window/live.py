"""What changes while a run goes on, as a piece of the page: figures, curves, chains and examples.

Everything comes from the run folder. So the window works after a run has ended, and does not disturb one that goes on.
"""

from __future__ import annotations

from dataclasses import replace

from ..files import Json, typed
from ..report.facts import Facts
from ..report.findings import FINDINGS, Input, Shown
from ..report.html.charts import curves
from ..report.html.gallery import moments
from ..report.html.page import render
from ..report.html.run import tiles
from ..report.watch import GALLERY
from ..runs import RunFolder
from ..runs.folder import CONFIG, METRICS, SUMMARY
from ..runs.lock import in_use

FILES = (CONFIG, METRICS, SUMMARY, GALLERY, FINDINGS)


def version(folder: RunFolder) -> str:
    """A text that changes whenever the page would change."""
    found = [path.stat() if (path := folder.path / name).exists() else None for name in FILES]
    stamps = ["0" if stat is None else f"{stat.st_size:x}.{stat.st_mtime_ns:x}" for stat in found]
    return "-".join([*stamps, *(["training"] if _training(folder) else [])])


def fragment(folder: RunFolder) -> str:
    """The piece of the page."""
    facts = Facts.read(folder)
    if facts.summary:
        state = "finished"
    else:
        state = "training now" if _training(folder) else "not finished, and no process is training"
    return render(
        "live.html",
        facts=facts,
        state=state,
        tiles=list(tiles(facts)),
        charts=curves(facts.history),
        watched=_watched(facts),
        looked_at=facts.findings.looked_at if facts.findings else [],
    )


def _training(folder: RunFolder) -> bool:
    """Whether a process trains there. The check takes the lock for a moment, so a finished run is not checked."""
    return not (folder.path / SUMMARY).exists() and in_use(folder.path)


def _watched(facts: Facts) -> list[Shown]:
    """The training examples that are followed, with the inputs that the gallery's first line has of them."""
    if facts.findings and facts.findings.watched:
        return facts.findings.watched
    index = facts.watched[-1].get("examples") if facts.watched else None
    found, inputs = [], _inputs(facts.watched)
    for example in index if isinstance(index, list) else []:
        if type(example) is int:
            shown = Shown(example, inputs.get(example, Input()))
            _, grounded, predicted = moments(shown, facts.watched)[-1]
            found.append(replace(shown, grounded=grounded, predicted=predicted))
    return [shown for shown in found if shown.predicted]


def _inputs(records: list[Json]) -> dict[int, Input]:
    """Inputs by example; none where the run began without a gallery, or the file holds something else."""
    first = records[0] if records else {}
    try:
        return dict(zip(typed(list[int], first.get("examples")), typed(list[Input], first.get("inputs")), strict=False))
    except (ValueError, TypeError):
        return {}
