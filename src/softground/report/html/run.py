"""The report of one run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...figures import Figure
from ...files import Json, replace_file
from ...learner.observers import learning_problems
from ...runs import RunFolder
from ..facts import Facts
from ..findings import Findings
from ..words import columns, flat, in_words, is_number, listed, rows, seconds, short
from .charts import Records, curves, keys, timing
from .diagrams import confusion, diagrams
from .page import render

REPORT = "report.html"
MOST_ROWS = 200
LARGE = ("", "relabelled")  # readings whose figures are in large type; those of others are in the table
LACKING = {"unexplained": "no symbols give their answer", "unstarted": "no feasible symbols were found"}


def write_report(folder: RunFolder, findings: Findings | None = None, path: Path | None = None) -> Path:
    """Write ``report.html`` (or ``path``) from what the run folder holds; ``findings`` are kept in the folder first."""
    if findings is not None:
        findings.write(folder)
    path = path or folder.path / REPORT
    replace_file(path, run_page(Facts.read(folder)).encode())
    return path


def run_page(facts: Facts) -> str:
    """Facts in, one HTML document out."""
    findings, settings = facts.findings, facts.settings
    rest = {name: value for name, value in settings.items() if name not in ("recipe", "settings", "chosen")}
    rest["versions"] = facts.summary.get("versions", {})
    return render(
        "run.html",
        facts=facts,
        note=facts.summary.get("note"),
        tiles=list(tiles(facts)),
        figures=_figures(facts),
        charts=curves(facts.history),
        records=_records(facts.history),
        findings=findings,
        confusions=[confusion(matrix, findings.symbols) for matrix in findings.matrices] if findings else [],
        diagrams=diagrams(facts.summary),
        suspects=_suspects(facts),
        other_maps=_other_maps(facts),
        choice=_choice(facts),
        signs=list(learning_problems(facts.history).values()),
        timing=timing(facts.history),
        recipe=flat(settings.get("recipe")),
        settings=list(listed(settings.get("settings"))),
        rest=list(listed(rest)),
    )


def tiles(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """The final figures, for large type: (name, value, a word below)."""
    summary, (*earlier, last) = facts.summary, list(facts.moments) or ["before"]
    before = facts.columns["before"] if "before" in earlier else {}
    for name, figure in facts.columns.get(last, {}).items():
        if is_number(figure.value) and figure.brief and not figure.shape and figure.reading in LARGE:
            words = short(figure) + (" accuracy" if figure.name.endswith("_accuracy") else "")
            yield words, in_words(figure), f"before training {in_words(before[name])}" if name in before else ""
    if is_number(summary.get("grounded")):
        yield "training examples explained", f"{summary['grounded']:,}", "by the network's own prediction"
    last_epoch = facts.history[-1] if facts.history else {}
    for name, words in LACKING.items():
        if is_number(last_epoch.get(name)) and last_epoch[name]:
            yield f"training examples {name}", f"{last_epoch[name]:,}", words
    if is_number(summary.get("wall_seconds")):
        epochs = len(facts.history)
        yield "time", seconds(summary["wall_seconds"]), f"{epochs:,} epoch{'s' if epochs != 1 else ''}"
    if is_number(summary.get("parameters")):
        yield "network", f"{summary['parameters']:,}", "parameters"


def _figures(facts: Facts) -> Json:
    """Figures as a table, one column per moment, and the rows of all that this leaves out."""
    train = facts.summary.get("train")
    found = facts.columns | columns({"training": train} if isinstance(train, dict) else {})
    head = ["figure", *(f"held-out, {name}" if name in facts.moments else name for name in found)]
    groups = {
        group: [[name, *cells] for name, cells in rows(found.values(), group).items()]
        for group in ("brief", "more", "answered")
    }
    return {"head": head, **groups}


def _choice(facts: Facts) -> Json | None:
    """Which way to S_y was taken, why others were not, and the reasons for the walk; None if nothing was open."""
    kept: Any = facts.config.get("chosen")
    tried: list[list[str]] = []
    walks: list[str] = []
    for shape, one in kept.items() if isinstance(kept, dict) else ():
        if not isinstance(one, dict):
            continue
        name = [str(shape)] if len(kept) > 1 else []
        refused = one.get("refused")
        tried += [_rung(name, r, "no") for r in (refused if isinstance(refused, list) else []) if isinstance(r, dict)]
        tried += [_rung(name, one, "taken")] if "rung" in one else []
        walk = one.get("walk")
        reasons = walk.get("reasons") if isinstance(walk, dict) else None
        walks += [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    head = [*(["shape"] if any(len(row) > 4 for row in tried) else []), "way", "", "why", "time"]
    return {"head": head, "rows": tried, "walks": walks} if tried or walks else None


def _rung(name: list[str], one: Json, taken: str) -> list[str]:
    spent = one.get("seconds")
    return [*name, str(one.get("rung")), taken, str(one.get("reason")), seconds(spent) if is_number(spent) else "–"]  # type: ignore[arg-type]


def _suspects(facts: Facts) -> Json | None:
    """Training examples whose answer is probably wrong, as a table."""
    found = facts.summary.get("suspects")
    first = found.get("first") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(first, list):
        return None
    names = ("example", "answer", "reading", "gives", "meant")
    cells = [[_cell(one.get(name, "–")) for name in names] for one in first if isinstance(one, dict)]
    return {"head": [*names], "rows": cells, "count": found.get("count"), "noise": facts.summary.get("noise")}


def _cell(value: object) -> str:
    """A cell of that table, whose only float is the probability that an answer is correct."""
    return f"{value:.1%}" if isinstance(value, float) else str(value)[:60]


def _other_maps(facts: Facts) -> str:
    """Which other maps of symbols fit the network's readings, in words."""
    found = facts.summary.get("other_maps")
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) else ""


def _records(history: Records) -> Json:
    """All numbers behind the curves; thinned where there are very many."""
    names = [k for k in keys(history) if k != "epoch"]
    stride = max(1, -(-len(history) // MOST_ROWS))
    lines = [
        [
            i,
            str(record.get("stage", "")),
            *[in_words(Figure.parse(k, record[k])) if k in record else "–" for k in names],
        ]
        for i, record in enumerate(history, start=1)
        if (i - 1) % stride == 0 or i == len(history)
    ]
    return {"head": ["epoch", "stage", *[k.replace("_", " ") for k in names]], "rows": lines, "stride": stride}
