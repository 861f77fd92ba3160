"""The report of one run."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import SoftgroundError
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
MAIN = ("Held-out data", "Validation part", "Training data", "Training data by shape", "Loss")  # curves in full view
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
    charts, verdict = curves(facts.history), facts.summary.get("verdict")
    return render(
        "run.html",
        facts=facts,
        verdict=verdict if isinstance(verdict, dict) and {"kind", "sentence"} <= verdict.keys() else None,
        note=facts.summary.get("note"),
        tiles=list(tiles(facts)),
        figures=_figures(facts),
        charts=[chart for chart in charts if chart.heading in MAIN],
        further=[chart for chart in charts if chart.heading not in MAIN],
        records=_records(facts.history),
        findings=findings,
        confusions=[confusion(matrix, findings.symbols) for matrix in findings.matrices] if findings else [],
        diagrams=diagrams(facts.summary),
        suspects=_suspects(facts),
        other_maps=_other_maps(facts),
        choice=_choice(facts),
        signs=[*learning_problems(facts.history).values(), *_lacking(facts.history)],
        timing=timing(facts.history),
        parameters=f"; the network has {size:,} parameters"
        if is_number(size := facts.summary.get("parameters"))
        else "",
        recipe=_recipe(settings.get("recipe")),
        settings=list(listed(settings.get("settings"))),
        rest=list(listed(rest)),
    )


def headline(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """At most three figures of the end of a run: (name, value, chance)."""
    given = facts.summary.get("headline")
    for one in given[:3] if isinstance(given, list) else ():
        if isinstance(one, dict) and is_number(value := one.get("value")):
            below = f"chance {one['chance']:.1%}" if is_number(one.get("chance")) else ""
            yield str(one.get("name")), f"{value} of {one['of']}" if "of" in one else f"{value:.1%}", below


def tiles(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """At most four figures for large type: (name, value, a word below)."""
    yield from headline(facts)
    if "headline" not in facts.summary:  # a run that goes on, or one of an older version
        last = list(facts.columns.values())[len(facts.moments) - 1] if facts.moments else {}
        found = [f for f in last.values() if is_number(f.value) and f.brief and not f.shape and f.reading in LARGE]
        yield from ((short(f), in_words(f), "") for f in found[:3])
    spent, epochs = facts.summary.get("wall_seconds"), len(facts.history)
    if is_number(spent):
        yield "time", seconds(spent), f"{epochs:,} epoch{'s' if epochs != 1 else ''}"  # type: ignore[arg-type]


def _lacking(history: Records) -> Iterator[str]:
    """What training examples lack, in sentences."""
    for name, words in LACKING.items():
        if history and is_number(count := history[-1].get(name)) and count:
            yield f"{count:,} training example{'s' * (count != 1)}: {words}."


def _recipe(kept: object) -> list[tuple[str, str, str]]:
    """A recipe's settings, and what the preset has instead where they differ."""
    from ...experiments.named import named_recipe  # here, because it knows every task

    found, preset = flat(kept), {}
    if isinstance(kept, dict):
        with suppress(SoftgroundError, LookupError, TypeError, ValueError):
            preset = flat(named_recipe(str(kept["task"]), str(kept["preset"]))[0].to_json())
    return [(name, value, preset[name] if preset.get(name, value) != value else "") for name, value in found.items()]


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
