"""Accuracy tables: every cell is one ``softground train …`` in a process of its own, kept in a JSON once it is done.

Several cells may share the machine, so wall times are those of a shared device; ``cpu_seconds`` are those for which a
cell was computing, whatever else went on. Finished cells are skipped when a command is run again, and one that fails or
runs out of time is simply missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from provenance import machine, page_text, provenance, read_page, thinned


def parser(description: str, name: str) -> argparse.ArgumentParser:
    """The options of every accuracy table."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir", required=True, help="where the data lie")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--jobs", type=int, default=1, help="runs at a time")
    options.add_argument("--beside", type=int, default=0, help="runs of other scripts that share the machine meanwhile")
    options.add_argument("--device", default="auto")
    options.add_argument("--seconds", type=float, default=1e6, help="stop starting and abandon runs after this long")
    options.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / f"{name}.json")
    return options


def train(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's summary, with its options and its epochs' seconds; None where it did not finish in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [
            sys.executable,
            "-m",
            "softground",
            "train",
            task,
            "--device",
            device,
            "--quiet",
            "--evaluate-every",
            "1000",
            "--out",
            str(out),
            *shlex.split(options),
        ]
        if not (computed := ended(name, command, limit)):
            return None
        summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
        summary["recipe"] = json.loads((out / "config.json").read_text())["recipe"]
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        summary["training_feasible"] = records[-1]["feasible"]
        parts = [r["seconds"]["network"] + r["seconds"]["sampling"] + r["seconds"]["solver"] for r in records]
        summary["epoch_seconds"] = round(statistics.median(parts), 3)
        return summary | {"cpu_seconds": computed}


def recorded(script: Path, name: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """The record that a script writes of one run with these options; None where it failed or did not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "record.json"
        command = [sys.executable, str(script), *shlex.split(options), "--device", device, "--out", str(out)]
        if not (computed := ended(name, command, limit)):
            return None
        record: dict[str, Any] = json.loads(out.read_text())
        return record | {"cpu_seconds": computed}


def ended(name: str, command: Sequence[str], limit: float) -> float | None:
    """Run a cell's process; for how many seconds it was computing, or None where it failed or did not end in time."""
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=told)
        late = Timer(max(1.0, limit), process.kill)
        late.start()
        _, status, used = os.wait4(process.pid, 0)  # which also says what it used
        process.returncode = os.waitstatus_to_exitcode(status)
        if not late.is_alive():
            print(f"{name}: out of time", flush=True)
            return None
        late.cancel()
        if process.returncode:
            told.seek(0)
            print(f"{name}: failed\n{told.read()[-2000:]}", flush=True)
            return None
    return round(used.ru_utime + used.ru_stime, 3)


def fill(
    given: argparse.Namespace,
    task: str,
    cells: dict[str, str],
    figures: Sequence[str],
    command: str,
    run: Callable[[str, str, str, str, float], dict[str, Any] | None] = train,
) -> None:
    """Run the cells that are missing, ``--jobs`` at a time, and keep what they give."""
    known = read_page(given.out) if given.out.exists() else {"runs": {}}
    results: dict[str, Any] = known["runs"]
    missing = {k: v for k, v in cells.items() if not _counts(results.get(k, {}), v)}
    print(f"{len(cells) - len(missing)} of {len(cells)} cells are done; {len(missing)} to go", flush=True)
    began, lock, made = time.monotonic(), Lock(), provenance()
    made["environment"]["gpu"] = None if given.device == "cpu" else made["environment"]["gpu"]  # one that is not used

    def work(item: tuple[str, str]) -> None:
        name, options = item
        left = given.seconds - (time.monotonic() - began)
        data = shlex.join(["--data-dir", given.data_dir])
        summary = run(name, task, f"{options} {data}", given.device, left) if left > 5 else None
        if summary is None:
            return
        found = [round(100 * value, 2) for f in figures if (value := figure(summary, f)) is not None]
        print(f"{name}: {found} in {summary['wall_seconds']:.0f} s", flush=True)
        with lock:
            shared = {"jobs": given.jobs + given.beside, "threads": int(os.environ.get("OMP_NUM_THREADS", "1"))}
            results[name] = thinned(summary) | {"options": options} | shared | made
            page = {"command": command, "table": table(results, figures), "runs": dict(sorted(results.items()))}
            given.out.write_text(page_text(page))

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(work, missing.items()))


def _counts(run: dict[str, Any], options: str) -> bool:
    """Whether a run on record was made with these options, and says at which commit and with which recipe."""
    return run.get("options") == options and {"commit", "recipe"} <= run.keys()


def table(results: dict[str, Any], figures: Sequence[str]) -> dict[str, Any]:
    """Mean and standard deviation over seeds, in percent; a cell's name ends in ``/SEED``."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, summary in results.items():
        groups.setdefault(name.rsplit("/", 1)[0], []).append(summary)
    rows: dict[str, Any] = {}
    for group, members in sorted(groups.items()):
        rows[group] = {"seeds": len(members)}
        if all("epoch_seconds" in member for member in members) and len(set(map(machine, members))) == 1:
            rows[group]["epoch_seconds"] = min(member["epoch_seconds"] for member in members)
        for name in figures:
            values = [100 * value for member in members if (value := figure(member, name)) is not None]
            if values:
                spread = statistics.stdev(values) if len(values) > 1 else 0.0
                mean = round(statistics.mean(values), 2)
                rows[group][name.replace("/", "_")] = {"mean": mean, "sd": round(spread, 2)}
    return rows


def figure(summary: dict[str, Any], name: str) -> float | None:
    """A figure of a summary, such as ``symbol_accuracy`` or ``after_stage_I/symbol_accuracy``, where it has it."""
    *places, last = name.split("/")
    for place in places:
        summary = summary.get(place, {})
    return summary.get(last)
