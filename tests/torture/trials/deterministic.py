"""``--deterministic`` on a GPU: two runs of the same seed leave the same bits, and what that costs.

Runs with and without it take turns, each in a process of its own that trains every task. The cost is the time of an
epoch with it over that without, the median of the later epochs. Where torch has no deterministic algorithm it warns;
such operations are named beside the count.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import torch

from softground.cli import main

from ..trial import Tally, Trial, Unavailable
from ._nursery import Nursery
from ._same import assert_same, left_behind

TASKS: dict[str, list[str]] = {
    "hwf": ["--train-size", "1280", "--test-size", "200", "--epochs", "8"],
    "sudoku": ["--train-size", "200", "--test-size", "100", "--epochs", "12", "--evaluate-every", "12"],
    "sdsp": ["--train-size", "320", "--test-size", "50", "--epochs", "8"],
    "addition": ["--epochs", "8"],
}
TRAIN = f"{__name__}:train"
MODULES = [__name__, "softground.cli.train", "lightning_fabric", "sklearn.datasets", "networkx"]
EARLY = 3  # epochs in which a GPU's work is recorded and its libraries are loaded
ALONE = re.compile(r"(\w+) does not have a deterministic implementation")


def train(folder: str, tasks: dict[str, list[str]], more: list[str]) -> int:
    """Train each of the tasks through the command line; in the nursery, a child's whole life."""
    for task, options in tasks.items():
        code = main(["train", task, *options, *more, "--quiet", "--out", f"{folder}/{task}"])
        if code:
            return code
    return 0


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Compare so many tasks."""
    if not torch.cuda.is_available():
        raise Unavailable("torch sees no GPU")
    compare(tally, dict(list(TASKS.items())[:cases]), seed, folder, "cuda")


def compare(tally: Tally, tasks: dict[str, list[str]], seed: int, folder: Path, device: str) -> None:
    """Train all tasks with and without ``--deterministic``, twice, in turns."""
    log = folder / "log"
    with Nursery(MODULES) as nursery:
        for turn, kind in ((1, "same"), (1, "free"), (2, "same"), (2, "free")):
            more = ["--device", device, "--seed", str(seed), *(["--deterministic"] if kind == "same" else [])]
            given = {"folder": f"{folder}/{kind}-{turn}", "tasks": tasks, "more": more}
            ended = nursery.run(TRAIN, given, log)
            if ended.code:
                raise RuntimeError(f"a run ended with {ended.code}: {log.read_text(errors='replace')[-300:]}")
    differ = 0
    for task in tasks:
        with tally.case(task):
            assert_same(left_behind(folder / "same-2" / task), left_behind(folder / "same-1" / task))
        try:
            assert_same(left_behind(folder / "free-2" / task), left_behind(folder / "free-1" / task))
        except AssertionError:
            differ += 1
        seconds = [median(_epochs(folder / f"{kind}-{turn}" / task) for turn in (1, 2)) for kind in ("same", "free")]
        tally.notes[f"cost, {task}"] = seconds[0] / seconds[1]
    tally.notes["differ without it"] = f"{differ} of {len(tasks)}"
    said = log.read_text(errors="replace")
    tally.notes["no deterministic algorithm for"] = ", ".join(sorted(set(ALONE.findall(said)))) or "nothing"
    if "cannot be recorded" in said:
        tally.notes["recorded steps"] = "not all"


def _epochs(run: Path) -> float:
    """Seconds of a later epoch."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    seconds: list[float] = [record["seconds"]["total"] for record in records[EARLY:]]
    return median(seconds)


TRIAL = Trial(
    key="deterministic",
    row=85,
    what="`--deterministic` twice on a GPU, four tasks",
    must_hold="identical runs",
    full=4,
    short=1,
    run=run,
)
