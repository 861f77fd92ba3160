"""How long one waits: seconds of short commands, of the installation with pip and with uv, and of the demo.

    python benchmarks/startup.py [--parts commands demo uv pip] [--quick] [--out DIR]

Each command runs in a process of its own, on one thread, once before it is timed. ``cpu_seconds`` is what it computed
for: on a busy machine the surer figure. ``uv`` and ``pip`` set up a new environment by ``make``, once each: with an
empty cache, so that the network counts, and again with what the first left.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import ROOT, destination, options, record, spread
from PIL import Image

DEMO = "train hwf --data digits --preset best --image-size 8 --epochs 6"
COMMANDS = ("--version", "--help", "tasks", "inspect hwf --data digits", "predict run digit.png")
REPEATS = 3


def softground(line: str) -> list[str]:
    return [sys.executable, "-m", "softground", *line.split()]


def timed(command: list[str], folder: Path, repeats: int, warm: bool = True, **given: str) -> dict[str, Any]:
    """Seconds of a command, waited for and computed."""
    waited, computed = [], []
    for _ in range(repeats + warm):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            command,
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | given,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        waited.append(time.perf_counter() - began)
        computed.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"seconds": spread(waited[warm:]), "cpu_seconds": spread(computed[warm:])}


def commands(folder: Path, quick: bool) -> dict[str, Any]:
    repeats = 1 if quick else REPEATS
    small = "train hwf --data digits --image-size 8 --lengths 1 --train-size 64 --test-size 32 --epochs 1 --out run"
    subprocess.run(softground(small), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    Image.new("L", (8, 8), 255).save(folder / "digit.png")
    return {line: timed(softground(line), folder, repeats) for line in COMMANDS}


def installation(name: str, folder: Path) -> dict[str, Any]:
    """``make .venv/.installed`` elsewhere, by uv or by pip."""
    found = {}
    for state in ("empty cache", "full cache"):
        venv = folder / f"{name}-{state.split()[0]}"
        command = ["make", f"VENV={venv}", *(["UV="] if name == "pip" else []), f"{venv}/.installed"]
        caches = {f"{name.upper()}_CACHE_DIR": str(folder / name)}
        found[f"{name}, {state}"] = timed(command, ROOT, 1, warm=False, **caches)
        shutil.rmtree(venv)
    return found


def demo(folder: Path, quick: bool) -> dict[str, Any]:
    """What ``make demo`` does once everything is installed."""
    line = f"{DEMO} --train-size 64 --test-size 32" if quick else DEMO
    return {"make demo": timed(softground(line), folder, 1, warm=False)}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="+", choices=["commands", "demo", "uv", "pip"], default=["commands", "demo"])
    given = parser.parse_args()
    for part in given.parts:
        with tempfile.TemporaryDirectory() as name:
            if part in ("uv", "pip"):
                rows = installation(part, Path(name))
            else:
                rows = {"commands": commands, "demo": demo}[part](Path(name), given.quick)
        record("startup", {part: rows}, seed=given.seed, device=part, folder=destination(given))
        for row, took in rows.items():
            spent = f"{took['seconds']['median']:7.2f} s  {took['cpu_seconds']['median']:7.2f} s CPU"
            print(f"{spent}  {row}", flush=True)


if __name__ == "__main__":
    main()
