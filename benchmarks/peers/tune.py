"""Choose settings of peers and of softground alike, on training examples that are put away; no test example is read.

    python benchmarks/peers/tune.py --data-dir DIR [--jobs 12] [--only softground ltntorch-once] [--seeds 2]
        [--carried FOLDER]

``settings.py`` has the candidates, equally many for each row of a task. Every seed puts another share of the training
examples away, and the accuracy on these when the time is up decides: the highest mean over seeds, of equals the first.
``--jobs`` runs go on at once, one thread each by default; environments and ``--carried`` are as in ``compare.py``. Runs
on record in ``--out``, ``benchmarks/results/peers_choice.json``, are not repeated.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from compare import HERE, ROOT, measured, prepared
from rows import ROWS, Row
from settings import CANDIDATES, told

from benchmarks.provenance import page_text, provenance, read_page

SHARE = 0.2  # of the training examples, to judge by
SECONDS = {"addition": 70.0, "formulas": 140.0}  # the time limits of the rows on record
FIGURES = {"addition": "accuracy", "formulas": "plain_accuracy"}
RULE = "the highest mean of the accuracy on examples put away when the time is up; of equals, the first"


def tried(name: str, label: str) -> Row:
    """The row as a candidate has it."""
    return replace(ROWS[name], options=(*told(name, label), "--validate", str(SHARE)))


def judged(name: str, runs: Mapping[str, Any]) -> dict[str, Any]:
    """The candidates of a row with their figures and, once all were run, the choice."""
    task = ROWS[name].task
    figure, found = FIGURES[task], {}
    for label, options in CANDIDATES[name].items():
        own = [run for key, run in runs.items() if key.rsplit(" | ", 1)[0] == label]
        values = [run["final"][figure] for run in own if run["status"] == "ran"]
        mean = statistics.mean(values) if values and len(values) == len(own) else None
        if own:
            found[label] = {"options": list(options), "mean": mean, "runs": own}
    means = {label: each["mean"] for label, each in found.items() if each["mean"] is not None}
    done = found.keys() == CANDIDATES[name].keys() and len({len(each["runs"]) for each in found.values()}) == 1
    choice = max(means, key=lambda label: means[label]) if done and means else None
    return {"task": task, "figure": figure, "share": SHARE, "candidates": found, "choice": choice}


def kept(page: Mapping[str, Any], name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Runs of a row on record that were made as they would be now."""
    found = page.get("groups", {}).get(name, {}).get("candidates", {})
    limit = given.seconds or SECONDS[ROWS[name].task]
    return {
        f"{label} | {run['seed']}": run
        for label, each in found.items()
        for run in each["runs"]
        if label in CANDIDATES[name]
        and run["status"] == "ran"
        and (run["runner"], run["limit_seconds"]) == (runner(tried(name, label)), limit)
        and run["seed"] < given.seeds
    }


def runner(row: Row) -> str:
    """As ``compare.py`` writes it down."""
    return " ".join([row.script, *row.options])


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is missing, and judge."""
    given = arguments().parse_args(argv)
    given.envs = given.envs.resolve()
    page: dict[str, Any] = read_page(given.out) if given.out.exists() else {"groups": {}}
    runs = {name: kept(page, name, given) for name in given.only}
    jobs = [
        (name, label, seed)
        for name in given.only
        for seed in range(given.seeds)
        for label in CANDIDATES[name]
        if f"{label} | {seed}" not in runs[name]
    ]
    for name in given.only:  # the examples, before many ask for them at once
        prepared(ROWS[name], given)
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = {}
        for name, label, seed in jobs:
            limit = given.seconds or SECONDS[ROWS[name].task]
            how = argparse.Namespace(**vars(given) | {"seconds": limit})
            waiting[pool.submit(measured, tried(name, label), seed, how)] = name, label, seed
        for done in as_completed(waiting):
            name, label, seed = waiting[done]
            runs[name][f"{label} | {seed}"] = run = done.result()
            page["groups"][name] = judged(name, runs[name])
            write(given.out, page)
            print(f"{name}, {label}, seed {seed}: {run['status']} {run.get('final') or run.get('reason')}", flush=True)
    for name in given.only:
        page["groups"][name] = judged(name, runs[name])
        print(f"{name}: {page['groups'][name]['choice']}")
    write(given.out, page)


def write(out: Path, page: dict[str, Any]) -> None:
    """The record, as it is now."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page_text({**page, "rule": RULE, **provenance()}))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with MNIST's IDX files and hwf.npz")
    parser.add_argument("--envs", type=Path, default=HERE / ".envs", help="where environments and examples are kept")
    parser.add_argument("--carried", type=Path, help="folders of packages, one for each environment, in their place")
    parser.add_argument("--only", nargs="+", choices=list(CANDIDATES), default=list(CANDIDATES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of a run")
    parser.add_argument("--seconds", type=float, help="training time of each run (default: the comparison's)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "peers_choice.json")
    return parser


if __name__ == "__main__":
    main()
