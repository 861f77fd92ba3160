"""Run every example as a user would, and write what each printed and how long it took.

    python benchmarks/examples.py [NAME …] [--check]

The record is ``benchmarks/results/examples.json``; the table in ``examples/README.md`` is written from it. ``--check``
runs nothing and only compares the table with the record.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from provenance import origin, page_text, provenance, read_page

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "results" / "examples.json"
PAGE = ROOT / "examples" / "README.md"

TEACHES = {
    "own_rule": "the smallest complete program: three digits from the value of a × b + c",
    "addition": "one rule in two forms: a plain function, and a scan that carries",
    "receipts": "a scan over twelve digits: four amounts and their total",
    "check_digits": "'valid' alone cannot teach the digits; a few typed numbers add what is missing",
    "sorting": "answers that are words: which of two numbers is larger",
    "grid_of_sums": "a rule of parts: 4×5 digits from the sums of rows and columns",
    "magic_square": "a rule in Z3, with a chosen projection",
    "killer_sudoku": "a rule in CPMpy: Killer Sudoku from cages and their totals",
    "futoshiki": "a rule in CPMpy: Latin squares with signs < between some neighbours",
    "timetable": "CPMpy's global constraints: the hours of lessons, from the number that begin in each hour",
    "graph_colouring": "neighbours differ; three labelled images (anchors) name the colours",
    "nonogram": "parts that are plain functions: pictures from the clues of rows and columns",
    "hierarchy": "clauses over Boolean labels: digits from one known group per image",
    "clauses": "clauses over bits, shown as images; the answer says whether they hold",
    "mnmath": "two equations over digits, each true or false, and one labelled image per digit",
    "learn_short_read_long": "several lengths: trained on formulas of 5 symbols, read at 15",
    "plain_function": "a loop that cannot be vectorised, in `SoftGrounder`",
    "tabular": "measurements instead of images: the number of ill patients among five",
    "instruments": "real numbers: three dials, only their total known; epochs chosen on validation data",
}


def measure(name: str, threads: int) -> dict[str, Any]:
    """One example in a process of its own, without lists of earlier ones.

    Other work of the machine lengthens ``seconds``; ``cpu_seconds`` are those in which the example was computing.
    """
    began, before = time.perf_counter(), computed()
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT / "src"), "SOFTGROUND_CACHE": "off"},
    )
    lines = done.stdout.strip().splitlines()
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": computed() - before}
    return took | {"threads": threads, "printed": lines} | provenance()


def computed() -> float:
    """Seconds for which processes that have ended were computing."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(record: dict[str, Any]) -> str:
    """A row an example."""
    lines = ["| example | what it teaches | what it printed | seconds |", "| --- | --- | --- | --- |"]
    for name, teaches in TEACHES.items():
        run = record["runs"][name]
        said = [line for line in run["printed"] if "held-out" in line or "accuracy" in line]
        cells = (
            f"[`{name}.py`]({name}.py)",
            teaches,
            "<br>".join(map(shown, said)),
            f"{run.get('cpu_seconds', run['seconds']):.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    threads = sorted({run["threads"] for run in record["runs"].values()})
    words = {1: "one thread", 2: "two threads"}
    lines += [
        "",
        f"One run each, on {' or '.join(words.get(n, f'{n} threads') for n in threads)} of a CPU that had "
        "other work to do; seconds of computing, or, in older records, of waiting; "
        f"by `{record['command']}` {origin(record['runs'].values())}. Every script has a fixed seed.",
    ]
    return "\n".join(lines)


def shown(line: str) -> str:
    """A printed line, with the figures of a Python dict in percent."""
    pairs = re.findall(r"'(\w+)_accuracy': ([\d.]+)", line)
    return "held-out " + ", ".join(f"{name} {float(value):.1%}" for name, value in pairs) if pairs else line


def page(record: dict[str, Any]) -> str:
    """The page with the table in its place."""
    return re.sub(
        r"(<!-- table examples -->\n).*?(\n<!-- end -->)",
        lambda m: m[1] + table(record) + m[2],
        PAGE.read_text(),
        flags=re.S,
    )


def main() -> int:
    """Measure, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples to run (default: all)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    record = read_page(RECORD) if RECORD.exists() else {"runs": {}}
    record["command"] = "python benchmarks/examples.py"
    if given.check:
        return int(PAGE.read_text() != page(record))
    for name in given.names or TEACHES:
        record["runs"][name] = run = measure(name, given.threads)
        print(f"{name}: {run['printed'][-1]} ({run['cpu_seconds']:.0f} s)", flush=True)
        RECORD.write_text(page_text(record))
    if set(TEACHES) <= set(record["runs"]):
        PAGE.write_text(page(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
