"""The tables of docs/solvers.md: Z3 and CP-SAT on the same queries, and circuits against KLay."""

from __future__ import annotations

from pathlib import Path

from speed_table import number, provenance, ratio, read

NAMES = {"z3": "Z3", "cpsat": "CP-SAT"}
WAYS = {"usual": "as it comes ({})", "searched": "`table=0`: by search alone"}
HOW = {"z3": "formulas are evaluated", "cpsat": "the rule is evaluated"}


def solvers(results: Path) -> str:
    """How many times the paper's throughput each way has, and how long lists take."""
    page = read(results, "solvers")
    if not page:
        return "Not measured yet."
    fibres, lists = page["fibres"], page["lists"]
    cores = fibres["cores"]
    lines = [f"| fibres | one process | {cores} workers |", "| --- | --- | --- |"]
    for way, title in WAYS.items():
        for name, solver in NAMES.items():
            found = fibres[name][way]
            cells = [ratio(found.get(f"workers_{workers}")) for workers in (1, cores)]
            lines.append(f"| {solver}, {title.format(HOW[name])} | {' | '.join(cells)} |")
    seconds = " and ".join(f"{number(lists['seconds'][name]['median'])} s by {NAMES[name]}" for name in NAMES)
    paper = " and ".join(number(fibres["paper"][way]["throughput"]) for way in WAYS)
    lines += [
        "",
        "Queries a second over those of the paper's way, a fresh Z3 solver for each, which answered "
        f"{paper} a second; medians of turns, with quartiles in brackets. Evaluation uses no workers. Lists: the "
        f"{lists['solutions']:,} solutions of {lists['answers']} grids of 3×3 digits with known sums (10⁹ states), one "
        f"process: {seconds}. The machine had other work to do.",
        "",
        *provenance([page]),
    ]
    return "\n".join(lines)


def circuits(results: Path) -> str:
    """How many times as many examples a second our circuits train on, by formula, size of step and way of KLay."""
    page = read(results, "circuit")
    if not page:
        return "Not measured yet."
    keys = [
        (device, batch, way)
        for device in ("cpu", "cuda")
        for way in ("klay", "klay compiled")
        for batch in ("batch 64", "batch 512")
        if any(way in one.get(batch, {}).get(device, {}).get("times_klay", {}) for one in page["figures"].values())
    ]
    title = {"klay": "KLay", "klay compiled": "KLay compiled", "cpu": "", "cuda": ", GPU"}
    heads = [f"over {title[way]}{title[device]}, {batch.split()[1]} a step" for device, batch, way in keys]
    lines = [f"| formula | elements | {' | '.join(heads)} |", "| --- " * (2 + len(keys)) + "|"]
    for name, one in sorted(page["figures"].items(), key=lambda item: item[1]["elements"]):
        ratios = [one.get(b, {}).get(device, {}).get("times_klay", {}).get(way) for device, b, way in keys]
        spreads = [r and {"ratio": r["median"], "spread": r} for r in ratios]
        lines.append(f"| {name} | {one['elements']:,} | {' | '.join(map(ratio, spreads))} |")
    return "\n".join(
        [*lines, "", f"KLay {page['peer']['klaycircuits']}; medians, quartiles in brackets.", "", *provenance([page])]
    )
