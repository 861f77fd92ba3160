"""The tables of ``docs/peers.md`` from ``peers.json`` and ``peers_cuda.json`` in ``benchmarks/results``.

    python benchmarks/peers/table.py [--check]

Every number there comes from here. Text between ``<!-- peers NAME -->`` and ``<!-- end -->`` is replaced, the section
on the GPU once there is a record of it; ``--check`` only compares.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import ROWS
from settings import CANDIDATES, CHOSEN

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))  # also for the scripts that import this one

from benchmarks.provenance import read_page  # noqa: E402

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
AHEAD = ("klay-same", "klay-same-compiled")
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
    """Median examples per second."""
    return spread([r["per_second"]["median"] for r in runs], 0)


def reached(runs: Runs) -> str:
    """Seconds of training to 95 %, and with set-up, over the seeds that got there."""
    return both(runs, [r["to_goal"] and r["to_goal"]["seconds"] for r in runs])


def reached_plainly(runs: Runs) -> str:
    """The same for unrestricted predictions; ``to_goal`` is about grammatical ones."""
    return both(runs, [next((p["seconds"] for p in r["points"] if p["plain_accuracy"] >= GOAL), None) for r in runs])


def both(runs: Runs, seconds: list[float | None]) -> str:
    """Times without and with set-up."""
    whole = [s and s + r["setup_seconds"] for s, r in zip(seconds, runs, strict=True)]
    return f"{over(seconds, 1)} | {over(whole, 1)}"


def over(values: list[float | None], digits: int) -> str:
    """The seeds that got there, and how many of all they are."""
    there = [v for v in values if v is not None]
    if not there:
        return "not reached"
    return spread(there, digits) + (f", {len(there)} of {len(values)} seeds" if len(there) < len(values) else "")


def percent(runs: Runs, key: str) -> str:
    return spread([100 * r["final"][key] for r in runs], 2)


def lines_of(page: dict[str, Any], task: str, cells: list[Callable[[Runs], str]]) -> list[str]:
    """A task's rows."""
    return [line(ROWS[name].title, runs, cells) for name, runs in rows(page, task).items()]


def line(title: str, runs: Runs, cells: list[Callable[[Runs], str]]) -> str:
    """A row; one that did not run says why in place of figures."""
    done = [r for r in runs if r.get("final") and r.get("per_second")]
    broken = "; ".join(f"{r['status']}: {r['reason'][:LONGEST]}" for r in runs if r["status"] != "ran")
    broken = broken.replace("|", "\\|").replace("\n", " ")
    title += f" ({broken})" * bool(done and broken)
    machine = (runs[0]["machine"]["cpu"] or "unknown").split()[0].removesuffix("(R)")
    machine += ", busy" * any((r["busy_before"] or 0) > BUSY for r in runs)
    if not done:
        return f"| {title} | {machine} | {broken or 'nothing measured'} |"
    return f"| {title} ({done[0]['version']}) | {machine} | {' | '.join(cell(done) for cell in cells)} |"


def tail(page: dict[str, Any], task: str) -> list[str]:
    """Where the settings come from, and where and how it was measured."""
    found = rows(page, task)
    machines = {
        (f"{r['device']} and " if r.get("device", "cpu") != "cpu" else "")
        + f"{r['machine']['cpu'] or 'an unknown processor'}, {r['threads']} threads"
        for runs in found.values()
        for r in runs
        if "threads" in r
    }
    seeds = sorted({r["seed"] for runs in found.values() for r in runs})
    limits = [f"{limit:g}" for limit in sorted({r["limit_seconds"] for runs in found.values() for r in runs})]
    return [
        "",
        f"On {' or '.join(sorted(machines)) or 'nothing yet'}; at most {' or '.join(limits)} s of training; "
        f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}; `{page['command']}`.",
    ]


def addition(page: dict[str, Any]) -> str:
    """1-digit MNIST addition."""
    lines = [
        "| library | machine | pairs/s | s to 95 % | with set-up | final, % |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    cells: list[Callable[[Runs], str]] = [speed, reached, lambda r: percent(r, "accuracy")]
    lines += lines_of(page, "addition", cells)
    return "\n".join(lines + tail(page, "addition"))


def formulas(page: dict[str, Any], timed: bool = False) -> str:
    """Length-7 formulas after a fixed time; ``timed`` adds how long they took to 95 %, unrestricted."""
    lines = [
        f"| library | machine | formulas/s {'| s to 95 % | with set-up ' * timed}| values, % | symbols, % "
        "| values, grammatical, % | epochs |",
        "| --- | --- | --- | --- | --- | --- | --- |" + " --- | --- |" * timed,
    ]
    cells: list[Callable[[Runs], str]] = [
        speed,
        *[reached_plainly] * timed,
        lambda r: percent(r, "plain_accuracy"),
        lambda r: percent(r, "plain_symbol_accuracy"),
        lambda r: percent(r, "accuracy"),
        lambda r: spread([x["final"]["epochs"] for x in r]),
    ]
    lines += lines_of(page, "formulas", cells)
    return "\n".join(lines + tail(page, "formulas"))


def decided(name: str, groups: dict[str, Any]) -> bool:
    """Whether all candidates of a row were tried on validation data, and the one in use came out best."""
    found = groups.get(name, {"candidates": {}, "choice": None})
    return CANDIDATES[name].keys() <= found["candidates"].keys() and found["choice"] == CHOSEN[name]


def choice(page: dict[str, Any]) -> str:
    """How settings that come from no example were chosen; the candidates are in a file of their own."""
    record = read_page(CHOICE) if CHOICE.exists() else {"groups": {}}
    groups = record["groups"]
    said = []
    for task, names in TUNED.items():
        rows = " and ".join(f"*{ROWS[name].title}*" for name in names)
        if all(decided(name, groups) for name in names):
            share = f"{100 * groups[names[0]]['share']:.0f} % of the training examples"
            said.append(f"{rows} on {task}: {len(CANDIDATES[names[0]])} candidates each, judged on {share}.")
        else:
            said.append(f"{rows} on {task} {UNDECIDED[task]}.")
    text = f"Chosen on validation data (`benchmarks/results/{CHOICE.name}`): {' '.join(said)}"
    return f"{text} Rows that share these settings follow; the others use their example's, untuned on this network."


def gpu(page: dict[str, Any]) -> str:
    """The section on a GPU, its heading too; of formulas nothing before they are on record."""
    first = rows(page, "addition")
    seconds = {name: over([r["to_goal"]["seconds"] for r in first[name]], 1) for name in ("softground", *AHEAD)}
    head = f"""## On a GPU

The same examples and settings, network and data on one GPU, in one call. **KLay is ahead on addition:** with
softground's optimiser it reaches 95 % after {seconds[AHEAD[0]]} s of training, compiled (its default) after
{seconds[AHEAD[1]]} s, softground after {seconds["softground"]} s. With set-up, which includes compiling, uncompiled
KLay is first too. softground has the higher throughput and final accuracy. On formulas it reaches 95 % first;
restricted to grammatical formulas, KLay reads slightly more in the end. DeepProbLog was left out."""
    parts = [head, "MNIST addition, one digit:", addition(page)]
    if any(run["task"] == "formulas" for run in page["runs"].values()):
        circuit = """KLay has no example with formulas. We wrote a circuit with its nodes
([`formula_circuit.py`](../benchmarks/peers/formula_circuit.py)) and gave it softground's optimiser, batches and
distortions."""
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
        if device not in pages:
            return match[0]
        shown = re.sub(r"(?m)^\|.*$", lambda row: re.sub(r" *\| *", "|", row[0]), made(pages[device]))
        return f"<!-- peers {match[1]} -->\n{shown}\n<!-- end -->"

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
