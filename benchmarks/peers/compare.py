"""Peers side by side: the same MNIST pairs, network and machine for each, then the same formulas for three.

    python benchmarks/peers/compare.py --data-dir DIR [--seconds 120] [--only klay ablkit …] [--seeds 0]

``DIR`` holds MNIST's IDX files and, for the formulas, ``hwf.npz``. Environments are made under ``--envs`` where they
are missing. Runners follow one another, never two at a time; one that crashes, hangs or does not install leaves a row
that says so. A row takes at most ``2 × seconds + 120`` s of wall time (usually ``seconds`` and half a minute), so ten
rows of 120 s take some 25 minutes and never more than an hour; installing takes at most 15 minutes for each of four
environments, once. Rows are merged into ``benchmarks/results/peers.json``; ``docs/peers.md`` is written from it.

    python benchmarks/peers/compare.py --data-dir DIR --device cuda --carried FOLDER [--only softground klay …]

measures on a GPU, into ``peers_cuda.json``: all rows of one call, one after the other, on one machine. Where nothing
can be installed, ``FOLDER/NAME`` holds what the environment of that name lacks beside torch (``pip install --no-deps
--target FOLDER/klay klaycircuits PySDD``), ``FOLDER/softground`` what this library lacks; this Python runs all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import data
import table
from environments import InstallFailed, interpreter
from rows import ROWS, Row

from benchmarks.provenance import page_text, provenance, read_page
from softground.runs import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with MNIST's IDX files and hwf.npz")
    parser.add_argument("--envs", type=Path, default=HERE / ".envs", help="where environments and examples are kept")
    parser.add_argument("--seconds", type=float, default=120.0, help="training time of each run at most")
    parser.add_argument("--formula-seconds", type=float, help="the same for formulas, where it is another")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", choices=list(ROWS), help="by default all that the device is for")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--carried", type=Path, help="folders of packages, one for each environment, in their place")
    parser.add_argument("--out", type=Path, help="by default peers.json in benchmarks/results, or peers_cuda.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "peers.md", help="document with the tables")
    given = parser.parse_args()
    given.envs = given.envs.resolve()
    usual = "peers.json" if given.device == "cpu" else f"peers_{given.device}.json"
    given.out = given.out or ROOT / "benchmarks" / "results" / usual
    given.only = given.only or [name for name, row in ROWS.items() if given.device in row.devices]
    on = "" if given.device == "cpu" else f" --device {given.device}"
    for seed in given.seeds:
        for name in given.only:
            print(f"{name}, seed {seed}: ", end="", flush=True)
            result = measured(ROWS[name], seed, given)
            page = read_page(given.out) if given.out.exists() else {"runs": {}}
            page["command"] = "python benchmarks/peers/compare.py --data-dir DIR" + on
            page["runs"][f"{name} | seed {seed}"] = result
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(page_text(page))
            print({k: result.get(k) for k in ("status", "reason", "per_second", "to_goal", "final")}, flush=True)
    table.write({given.device: given.out}, given.page)


def measured(row: Row, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """One run, or the reason why there is none."""
    limit = getattr(given, "formula_seconds", None) if row.task == "formulas" else None
    limit = limit or given.seconds
    about = {
        "task": row.task,
        "title": row.title,
        "source": row.source,
        "seed": seed,
        "limit_seconds": limit,
        "runner": " ".join([row.script, *row.options]),
        "machine": machine(),
        "busy_before": busy(),
    } | provenance()
    try:
        examples = prepared(row, given)
        own = given.carried or not row.environment
        python = Path(sys.executable) if own else interpreter(row.environment, row.packages, given.envs)
    except InstallFailed as error:
        return about | {"status": "does not install", "reason": str(error)}
    except Exception as error:
        return about | {"status": "no data", "reason": f"{type(error).__name__}: {error}"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines.jsonl"
        command = [
            str(python),
            "-W",
            "ignore",
            str(HERE / row.script),
            "--data",
            str(examples),
            "--out",
            str(out),
            "--seconds",
            str(limit),
            "--threads",
            str(given.threads),
            "--seed",
            str(seed),
            "--device",
            given.device,
            *row.options,
        ]
        paths = [] if row.environment else [ROOT / "src"]
        if given.carried:
            paths.append(given.carried.resolve() / (row.environment or "softground"))
        verdict = supervised(command, folder, given.threads, 2 * limit + 120, paths)
        lines = parsed(out.read_text()) if out.exists() else []
    return about | summary(lines) | verdict


def prepared(row: Row, given: argparse.Namespace) -> Path:
    """The examples' file, made on first need."""
    make, name = (data.pairs, data.PAIRS) if row.task == "addition" else (data.formulas, data.FORMULAS)
    path = given.envs / name
    return path if path.exists() else make(given.data_dir, given.envs)


def supervised(command: list[str], folder: str, threads: int, limit: float, paths: list[Path]) -> dict[str, str]:
    """Run it in ``folder``, with packages from ``paths``, its children killed when it overstays; how it ended."""
    settings = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    settings |= {"OMP_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": "1"}
    if paths:
        settings["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    with open(Path(folder) / "said", "w+") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=settings, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return {"status": "timed out", "reason": f"stopped after {limit:.0f} s of wall time"}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        last = [line for line in said.read().splitlines() if line.strip()][-1:]
    if code:
        return {"status": "crashed", "reason": f"exit status {code}: {' '.join(last)}"}
    return {"status": "ran"}


def parsed(text: str) -> list[dict[str, Any]]:
    """The runner's lines; a last one that was cut off when it was killed is left out."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of a run from its lines; what a broken run wrote before it broke counts."""
    points = [line for line in lines if "accuracy" in line]
    blocks = [b["examples"] / b["seconds"] for b in (line["block"] for line in lines if "block" in line)]
    found: dict[str, Any] = {"points": until_goal(points)}
    found |= next((line["heading"] for line in lines if "heading" in line), {})
    found["end"] = next((line["end"] for line in lines if "end" in line), None)
    if blocks:
        quarters = statistics.quantiles(blocks, method="inclusive") if len(blocks) > 1 else blocks * 3
        found["per_second"] = {
            "median": round(quarters[1], 1),
            "quartiles": [round(q, 1) for q in quarters[::2]],
            "blocks": len(blocks),
        }
    if points:
        reached = next((p for p in points if p["accuracy"] >= table.GOAL), None)
        found["final"] = points[-1]
        found["best_accuracy"] = max(p["accuracy"] for p in points)
        found["to_goal"] = reached and {"seconds": reached["seconds"], "epochs": reached["epochs"]}
    return found


def until_goal(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points that a table needs: those where either accuracy passes the goal for the first time, and the last."""
    kinds = ("accuracy", "plain_accuracy")
    first = (next((p for p in points if p.get(kind, 0.0) >= table.GOAL), None) for kind in kinds)
    return [p for p in points if any(p is q for q in (*first, points[-1]))]


def machine() -> dict[str, Any]:
    """What this ran on."""
    try:
        names = [
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ]
    except OSError:
        names = []
    return environment() | {"cpu": names[0] if names else None}


def busy() -> float | None:
    """Share of the machine that others used in a second before the run; figures of a busy machine mean little."""

    def read() -> tuple[int, int]:
        numbers = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]

    try:
        total, idle = read()
        time.sleep(1)
        after, later = read()
    except (OSError, ValueError, IndexError):
        return None
    return round(1 - (later - idle) / max(1, after - total), 2)


if __name__ == "__main__":
    main()
