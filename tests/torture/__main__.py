"""``python -m torture [KEY …] [--short] [--seed N] [--out FILE]``: run trials, write the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.provenance import page_text, provenance, read_page

from .table import RESULTS, write
from .trial import Tally, Trial, Unavailable
from .trials import trials


def main(arguments: list[str] | None = None) -> int:
    """Run the trials asked for; returns 1 where anything did not survive."""
    known = trials()
    parser = argparse.ArgumentParser(prog="python -m torture", description="Hurt softground on purpose and count.")
    parser.add_argument("keys", nargs="*", metavar="TRIAL", help=f"{', '.join(known)}; all of them by default")
    parser.add_argument("--short", action="store_true", help="fewer cases, as in the tests; writes nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON that results go to")
    given = parser.parse_args(arguments)
    unknown = [key for key in given.keys if key not in known]
    if unknown:
        parser.error(f"no such trial: {', '.join(unknown)}; there are {', '.join(known)}")
    page = read_page(given.out) if given.out.exists() else {}
    survived = True
    for key in given.keys or known:
        record = attempt(known[key], known[key].short if given.short else known[key].full, given.seed)
        survived &= record["survived"] == record["tried"]
        if not given.short and (record["tried"] or key not in page):  # what was run elsewhere is not undone
            page[key] = record
            given.out.write_text(page_text(page))
    if not given.short and given.out == RESULTS:
        write(page)
    return int(not survived)


def attempt(trial: Trial, cases: int, seed: int) -> dict[str, Any]:
    """Run one trial and describe it; a line on the terminal follows it."""
    began = time.perf_counter()
    tally = Tally(report=lambda tally: _show(trial, tally, cases))
    record: dict[str, Any] = {"what": trial.what, "must_hold": trial.must_hold, "row": trial.row}
    with tempfile.TemporaryDirectory(prefix=f"torture-{trial.key}-") as folder:
        try:
            trial.run(tally, cases, seed, Path(folder))
        except Unavailable as reason:
            record["not_run"] = str(reason)
    seconds = round(time.perf_counter() - began, 1)
    end = f"not run: {record['not_run']}" if "not_run" in record else f"{tally.survived} of {tally.tried} survived"
    print(f"\r{trial.key}: {end}; {seconds} s", flush=True)
    for failure in tally.failures:
        print(f"  {failure}", flush=True)
    return (
        record
        | {
            "tried": tally.tried,
            "survived": tally.survived,
            "failures": tally.failures,
            "notes": tally.notes,
            "seconds": seconds,
            "seed": seed,
        }
        | provenance()
    )


def _show(trial: Trial, tally: Tally, cases: int) -> None:
    if sys.stdout.isatty() or tally.tried % max(1, cases // 10) == 0:
        print(f"\r{trial.key}: {tally.survived} of {tally.tried} so far, {cases} in all ", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
