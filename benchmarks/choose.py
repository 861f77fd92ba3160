"""Choose the settings of presets on validation data; test data are put away before training and never looked at.

    python benchmarks/choose.py --data-dir DIR [--jobs 16] [--device cuda] [--only hwf sudoku] [--seeds 2]

DIR holds ``hwf.npz`` and MNIST's files. Each candidate differs from the preset, or from the row of the reproduction,
in what its name says ("preset" is the preset as it was then), and every seed cuts another validation part. Once all
were tried, the candidate with the highest mean of the task's first validation figure is the choice; of equals, the one
that takes less time. Runs on record in ``--records`` are not repeated. ``benchmarks/results/choose.json`` has every
candidate with its figures.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for papers

from candidates import GROUPS, Group  # noqa: E402
from provenance import page_text, provenance, read_page  # noqa: E402

from papers.li2023.cell import Cell, Where  # noqa: E402
from papers.li2023.pool import Progress, run_all  # noqa: E402
from papers.li2023.store import Store  # noqa: E402

RULE = "the highest mean of the validation figure over seeds; of equals, the one that takes less time"


def cells(name: str, group: Group, seeds: int) -> dict[str, list[Cell]]:
    """Candidate → its runs, one for each seed."""
    place = name.replace(", ", "-").replace(" ", "-")
    return {
        label: [
            Cell(
                f"{place}/{label.replace(' ', '-')}/{seed}",
                "choice",
                group.task,
                seed,
                {**group.base, **options},
                seconds=group.seconds,
            )
            for seed in range(seeds)
        ]
        for label, options in group.candidates.items()
    }


def judged(group: Group, runs: Mapping[str, Sequence[Cell]], store: Store) -> dict[str, Any]:
    """A group's candidates with their figures and, once every run of every candidate is on record, the choice."""
    found = {}
    for label, own in runs.items():
        records = [store.read(cell) for cell in own if store.finished(cell)]
        if len(records) < len(own):
            continue
        values = [record["result"]["validation"][group.figure] for record in records if record]
        found[label] = {
            "options": dict(group.candidates[label]),
            "recipe": own[0].settings,
            "mean": statistics.mean(values),
            "seconds": statistics.mean(record["result"]["training_seconds"] for record in records if record),
            "runs": [
                {"seed": cell.seed, **record["result"], **{k: record[k] for k in ("commit", "command", "environment")}}
                for cell, record in zip(own, records, strict=True)
                if record
            ],
        }
    best = max(found, key=lambda label: (found[label]["mean"], -found[label]["seconds"]), default=None)
    choice = best if complete(group, found) else None
    return {"task": group.task, "figure": group.figure, "base": dict(group.base), "candidates": found, "choice": choice}


def complete(group: Group, candidates: Mapping[str, Any]) -> bool:
    """Whether every candidate of a group was tried."""
    return group.candidates.keys() <= candidates.keys()


def choose(
    groups: Mapping[str, Group], store: Store, where: Where, seeds: int, jobs: int, seconds: float | None = None
) -> dict[str, Any]:
    """Run what is missing, the longest first, and judge."""
    runs = {name: cells(name, group, seeds) for name, group in groups.items()}
    every = [cell for of_group in runs.values() for own in of_group.values() for cell in own]
    missing = sorted((cell for cell in every if not store.finished(cell)), key=lambda cell: -cell.seconds)

    def report(cell: Cell, answer: dict[str, Any], progress: Progress) -> None:
        what = answer["record"]["result"]["validation"] if "record" in answer else answer["error"]
        print(f"[{progress.done + len(progress.failed)}/{progress.total}] {cell.name}: {what}", flush=True)

    progress = run_all(missing, store, where, jobs=jobs, seconds=seconds, report=report)
    for name in progress.left:
        print(f"{name}: out of time", flush=True)
    return {name: judged(group, runs[name], store) for name, group in groups.items()}


def main(argv: Sequence[str] | None = None, groups: Mapping[str, Group] = GROUPS) -> None:
    """Choose, and write down how."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(groups), default=list(groups))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each in a process of its own")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--seconds", type=float, help="start no run that would not end in this time")
    parser.add_argument("--records", type=Path, default=ROOT / "runs" / "choice", help="where finished runs are kept")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "choose.json")
    given = parser.parse_args(argv)
    where, wanted = Where.at(given.device, given.data_dir), {name: groups[name] for name in given.only}
    found = choose(wanted, Store(given.records), where, given.seeds, given.jobs, given.seconds)
    page = read_page(given.out) if given.out.exists() else {"groups": {}}
    known: dict[str, Any] = page["groups"]
    for name, group in found.items():
        if group["choice"] or not (name in known and complete(groups[name], known[name]["candidates"])):
            known[name] = group  # a choice stays until there is another
    page = {"rule": RULE, **provenance(), "groups": known}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(page_text(dict(sorted(page.items()))))
    for name, group in found.items():
        print(f"{name}: {group['choice']}")
        for label, candidate in group["candidates"].items():
            print(f"  {100 * candidate['mean']:.2f}  {candidate['seconds']:.0f} s  {label}")


if __name__ == "__main__":
    main()
