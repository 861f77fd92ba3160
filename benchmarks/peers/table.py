"""The tables of ``docs/peers.md`` from ``peers.json`` and ``peers_cuda.json`` in ``benchmarks/results``.

    python benchmarks/peers/table.py [--check]

Every number there comes from here. Text between ``<!-- peers NAME -->`` and ``<!-- end -->`` is replaced, the section
on the GPU once there is a record of it; ``--check`` only compares.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import ROWS
from settings import CANDIDATES, CHOSEN

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))  # also for the scripts that import this one

from benchmarks.provenance import origin, read_page  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results", ROOT / "docs" / "peers.md"
RECORDS = {"cpu": RESULTS / "peers.json", "cuda": RESULTS / "peers_cuda.json"}
CHOICE = RESULTS / "peers_choice.json"
GOAL = 0.95  # the accuracy that "seconds to 95 %" are about
TUNED = {"pairs": ("softground", "ltntorch-once"), "formulas": ("softground-hwf", "ablkit-hwf")}
UNDECIDED = {
    "pairs": "were chosen by looking at test figures of short runs with single seeds",
    "formulas": "are those of the preset and of the example, but for softground's rate, which was not chosen on "
    "validation data",
}
LONGEST = 300  # characters of a reason; the JSON has all of it
BUSY = 0.1  # others' share of the machine from which on a row is marked

Runs = list[dict[str, Any]]


def rows(page: dict[str, Any], task: str) -> dict[str, Runs]:
    """Name → its runs, one per seed."""
    found = {name: [r for key, r in page["runs"].items() if key.startswith(f"{name} |")] for name in ROWS}
    return {name: runs for name, runs in found.items() if runs and runs[0]["task"] == task}


def spread(values: list[float], digits: int = 1) -> str:
    """One value as it is, several as their mean and range."""
    mean, low, high = (f"{v:,.{digits}f}" for v in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} – {high})"


def speed(runs: Runs) -> str:
    """Median examples per second, with the quartiles over blocks of training time."""
    if len(runs) > 1:
        return spread([r["per_second"]["median"] for r in runs], 0)
    low, high = runs[0]["per_second"]["quartiles"]
    return f"{runs[0]['per_second']['median']:,.0f} ({low:,.0f} – {high:,.0f})"


def reached(runs: Runs, what: str, digits: int) -> str:
    """Seconds or epochs to 95 %, over the seeds that got there."""
    return over([r["to_goal"] and r["to_goal"][what] for r in runs], digits)


def reached_plainly(runs: Runs) -> str:
    """Seconds to 95 % of calculations right over all readings; ``to_goal`` is about grammatical ones."""
    return over([next((p["seconds"] for p in r["points"] if p["plain_accuracy"] >= GOAL), None) for r in runs], 1)


def over(values: list[float | None], digits: int) -> str:
    """The seeds that got there, and how many of all they are."""
    there = [v for v in values if v is not None]
    if not there:
        return "not reached"
    return spread(there, digits) + (f", {len(there)} of {len(values)} seeds" if len(there) < len(values) else "")


def percent(runs: Runs, key: str) -> str:
    return spread([100 * r["final"][key] for r in runs], 2)


def lines_of(page: dict[str, Any], task: str, cells: list[Callable[[Runs], str]]) -> list[str]:
    """A task's rows; one that was measured on another machine than most says so."""
    found = rows(page, task)
    usual = statistics.mode(runs[0]["machine"]["cpu"] for runs in found.values()) if found else None
    return [line(runs, cells, usual) for runs in found.values()]


def line(runs: Runs, cells: list[Callable[[Runs], str]], usual: str | None) -> str:
    """A row; one that did not run says why in place of figures."""
    done = [r for r in runs if r.get("final") and r.get("per_second")]
    broken = "; ".join(f"{r['status']}: {r['reason'][:LONGEST]}" for r in runs if r["status"] != "ran")
    broken = broken.replace("|", "\\|").replace("\n", " ")
    title = runs[0]["title"] + f" ({broken})" * bool(done and broken)
    if any((r["busy_before"] or 0) > BUSY for r in runs):
        title += " (measured while others used the machine)"
    if runs[0]["machine"]["cpu"] != usual:
        title += " (on another machine)"
    if not done:
        return f"| {title} | – | {broken or 'nothing measured'} |" + " – |" * (len(cells) - 1)
    return f"| {title} | {done[0]['version']} | {' | '.join(cell(done) for cell in cells)} |"


def tail(page: dict[str, Any], task: str) -> list[str]:
    """Where the settings are from, and where and how it was measured."""
    found = rows(page, task)
    machines = {
        (f"{r['device']} beside " if r.get("device", "cpu") != "cpu" else "")
        + f"{r['machine']['cpu'] or 'an unknown processor'}, {r['machine']['cpus']} cores, {r['threads']} threads"
        for runs in found.values()
        for r in runs
        if "threads" in r
    }
    seeds = sorted({r["seed"] for runs in found.values() for r in runs})
    limits = [f"{limit:g}" for limit in sorted({r["limit_seconds"] for runs in found.values() for r in runs})]
    sources = [f"{runs[0]['title']}: {runs[0]['source']}" for runs in found.values()]
    commits = sorted({str(r.get("commit") or r["machine"]["commit"]) for runs in found.values() for r in runs})
    return [
        "",
        "Settings from: " + "; ".join(sources) + ".",
        "",
        f"Measured by `{page['command']}` at commit {', '.join(commits) or 'none'} on: "
        f"{', '.join(sorted(machines)) or 'nothing yet'}; at most "
        f"{' or '.join(limits)} s of training; seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}.",
    ]


def addition(page: dict[str, Any]) -> str:
    """1-digit MNIST addition."""
    lines = [
        "| library | version | pairs per second | seconds to 95 % | epochs to 95 % | final accuracy, % | trained, s "
        "| set-up, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    cells: list[Callable[[Runs], str]] = [
        speed,
        lambda r: reached(r, "seconds", 1),
        lambda r: reached(r, "epochs", 2),
        lambda r: percent(r, "accuracy"),
        lambda r: spread([x["final"]["seconds"] for x in r], 0),
        lambda r: spread([x["setup_seconds"] for x in r]),
    ]
    lines += lines_of(page, "addition", cells)
    return "\n".join(lines + tail(page, "addition"))


def formulas(page: dict[str, Any], timed: bool = False) -> str:
    """Length-7 formulas after a fixed time; ``timed`` adds how long they took to 95 %, over all readings."""
    lines = [
        f"| library | version | formulas per second {'| seconds to 95 %, all readings ' * timed}"
        "| calculation accuracy, all readings, % | symbol accuracy, all, % "
        "| calculation accuracy, grammatical, % | symbol accuracy, grammatical, % | trained, s | epochs | set-up, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |" + " --- |" * timed,
    ]
    cells: list[Callable[[Runs], str]] = [
        speed,
        *[reached_plainly] * timed,
        lambda r: percent(r, "plain_accuracy"),
        lambda r: percent(r, "plain_symbol_accuracy"),
        lambda r: percent(r, "accuracy"),
        lambda r: percent(r, "symbol_accuracy"),
        lambda r: spread([x["final"]["seconds"] for x in r], 0),
        lambda r: spread([x["final"]["epochs"] for x in r]),
        lambda r: spread([x["setup_seconds"] for x in r]),
    ]
    lines += lines_of(page, "formulas", cells)
    return "\n".join(lines + tail(page, "formulas"))


def decided(name: str, groups: dict[str, Any]) -> bool:
    """Whether all candidates of a row were tried on examples put away, and the one in use came out best."""
    found = groups.get(name, {"candidates": {}, "choice": None})
    return CANDIDATES[name].keys() <= found["candidates"].keys() and found["choice"] == CHOSEN[name]


def choice(page: dict[str, Any]) -> str:
    """How settings that are nobody's example were chosen, and what was tried; from a file of its own."""
    record = read_page(CHOICE) if CHOICE.exists() else {"groups": {}}
    groups = record["groups"]
    said = []
    for task, names in TUNED.items():
        rows = " and ".join(f"*{ROWS[name].title}*" for name in names)
        if all(decided(name, groups) for name in names):
            share = groups[names[0]]["share"]
            said.append(
                f"Settings of {rows} on {task} were chosen on validation data: {len(CANDIDATES[names[0]])} candidates "
                f"each, judged by {100 * share:.0f} % of the training examples, put away; no test example was read."
            )
        else:
            said.append(f"Settings of {rows} on {task} {UNDECIDED[task]}.")
    text = " ".join([*said, "Rows that share them follow; the others are their recipes, untuned on this network."])
    tried = [(name, groups[name]) for names in TUNED.values() for name in names if decided(name, groups)]
    if not tried:
        return text
    lines = [text, "", "| row | candidate | validation accuracy, % |", "| --- | --- | --- |"]
    for name, group in tried:
        for label in CANDIDATES[name]:
            own = group["candidates"][label]
            shown = f"**{label}**" if label == group["choice"] else label
            lines.append(f"| {ROWS[name].title}, {ROWS[name].task} | {shown} | {validated(own, group['figure'])} |")
    runs = [run for _, group in tried for own in group["candidates"].values() for run in own["runs"]]
    limits = " or ".join(f"{limit:g}" for limit in sorted({run["limit_seconds"] for run in runs}))
    commands = ", ".join(f"`{command}`" for command in sorted({run["command"] for run in runs}))
    return "\n".join(
        [
            *lines,
            "",
            f"Mean over seeds, in brackets each seed, after {limits} s of training with "
            f"{' or '.join(sorted({str(run['threads']) for run in runs if 'threads' in run}))} thread(s). Measured by "
            f"{commands} {origin(runs)}.",
        ]
    )


def validated(own: dict[str, Any], figure: str) -> str:
    """``98.12 (98.00, 98.24)``, or why there is no such figure."""
    if own["mean"] is None:
        return "; ".join(run["status"] for run in own["runs"])
    values = [f"{100 * run['final'][figure]:.2f}" for run in own["runs"]]
    return f"{100 * own['mean']:.2f} ({', '.join(values)})"


def gpu(page: dict[str, Any]) -> str:
    """The section on a GPU, its heading too; of formulas nothing before they are on record."""
    head = """## On a GPU

The same examples, network and settings, with network and examples on a GPU; rows followed one another in one call on
one machine. KLay compiles its circuit by default, for the sake of GPUs; rows that do so are called compiled, and
compiling is set-up. DeepProbLog, which evaluates one query at a time, was left out."""
    parts = [head, "MNIST addition, one digit:", addition(page)]
    if any(run["task"] == "formulas" for run in page["runs"].values()):
        circuit = """KLay's circuit for formulas was written for this comparison, with a root for each value among the
training answers: terms, products of digits, and what is added to them are nodes by sites and value, which formulas
share ([`formula_circuit.py`](../benchmarks/peers/formula_circuit.py))."""
        parts += ["Handwritten formulas of length 7:", formulas(page, timed=True), circuit]
    return "\n\n".join(parts)


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "addition": ("cpu", addition),
    "formulas": ("cpu", formulas),
    "choice": ("cpu", choice),
    "gpu": ("cuda", gpu),
}


def filled(text: str, pages: dict[str, dict[str, Any]]) -> str:
    """The document with the tables of these records, by device, as the JSON has them now; the others as they are."""

    def replace(match: re.Match[str]) -> str:
        device, made = TABLES[match[1]]
        return f"<!-- peers {match[1]} -->\n{made(pages[device])}\n<!-- end -->" if device in pages else match[0]

    return re.sub(r"<!-- peers (\w+) -->.*?<!-- end -->", replace, text, flags=re.S)


def write(records: dict[str, Path] = RECORDS, page: Path = PAGE, check: bool = False) -> bool:
    """Fill the page; whether it was up to date already. Without a record there is nothing to fill in."""
    text = page.read_text()
    new = filled(text, {device: read_page(path) for device, path in records.items() if path.exists()})
    if new != text and not check:
        page.write_text(new)
    return new == text


if __name__ == "__main__":
    sys.exit(int(not write(check="--check" in sys.argv) and "--check" in sys.argv))
