"""The tables of solvers: Z3 and CP-SAT on the same queries, and circuits against KLay."""

from __future__ import annotations

from pathlib import Path

from speed_table import number, provenance, ratio, read

NAMES = {"z3": "Z3", "cpsat": "CP-SAT"}
WAYS = {"usual": "default (evaluates the rule)", "searched": "`table=0` (searches only)"}


def solvers(results: Path) -> str:
    """How many times the paper's throughput each way has, and how long lists take."""
    page = read(results, "solvers")
    if not page:
        return "Not measured yet."
    fibres, lists = page["fibres"], page["lists"]
    cores = fibres["cores"]
    lines = [f"| inverse projection | one process | {cores} workers |", "| --- | --- | --- |"]
    for way, title in WAYS.items():
        for name, solver in NAMES.items():
            found = fibres[name][way]
            cells = [ratio(found.get(f"workers_{workers}")) for workers in (1, cores)]
            lines.append(f"| {solver}, {title} | {' | '.join(cells)} |")
    seconds = " and ".join(f"{number(lists['seconds'][name]['median'])} s by {NAMES[name]}" for name in NAMES)
    paper = " and ".join(number(fibres["paper"][way]["throughput"]) for way in WAYS)
    lines += [
        "",
        "Queries per second as a multiple of the paper's way, a new Z3 solver for each query "
        f"({paper} queries per second); medians, quartiles in brackets. Listing the {lists['solutions']:,} solutions "
        "of "
        f"{lists['answers']} grids of 3×3 digits with known sums (10⁹ states) takes one process {seconds}.",
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
    heads = [f"{title[way]}{title[device]}, batch of {batch.split()[1]}" for device, batch, way in keys]
    lines = [f"| formula | elements | {' | '.join(heads)} |", "| --- " * (2 + len(keys)) + "|"]
    for name, one in sorted(page["figures"].items(), key=lambda item: item[1]["elements"]):
        ratios = [one.get(b, {}).get(device, {}).get("times_klay", {}).get(way) for device, b, way in keys]
        spreads = [r and {"ratio": r["median"], "spread": r} for r in ratios]
        lines.append(f"| {name} | {one['elements']:,} | {' | '.join(map(ratio, spreads))} |")
    return "\n".join(
        [*lines, "", f"KLay {page['peer']['klaycircuits']}; medians, quartiles in brackets.", "", *provenance([page])]
    )
