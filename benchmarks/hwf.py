"""The formula table: paper's preset, LeNet-5 with our kernel, and our recommended network, each beside SUP.

    python benchmarks/hwf.py --data-dir DIR [--seeds 3] [--jobs 12] [--rows paper lenet best] [--out FILE]

Every cell is one ``softground train hwf`` in a process of its own; ``--jobs`` of them share the machine, so wall times
are those of a shared device. Finished cells are kept in the JSON and skipped when the command is run again.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROWS = {
    "paper": "--preset paper --schedule exp",
    "lenet": "--preset best --network lenet --epochs 100 --learning-rate 8e-3",
    "best": "--preset best",
}
SPLITS = ("standard", "writer")


def cells(rows: list[str], seeds: int) -> dict[str, str]:
    """Name → options of every run."""
    runs = {}
    for row in rows:
        for split in SPLITS:
            for seed in range(seeds):
                common = f"--split {split} --seed {seed}"
                runs[f"{row}/{split}/{seed}"] = f"{ROWS[row]} {common}"
                # The yardstick: the same network, optimiser and epochs with labels; the paper's setting has two stages.
                epochs = " --epochs 140" if row == "paper" else ""
                runs[f"{row}-sup/{split}/{seed}"] = f"{ROWS[row]}{epochs} {common} --objective sup"
    return runs


def run(name: str, options: str, data_dir: str, device: str, limit: float) -> dict[str, Any] | None:
    """One cell; None where it did not finish in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [
            sys.executable, "-m", "softground", "train", "hwf", "--data", "hwf", "--data-dir", data_dir,
            "--device", device, "--quiet", "--evaluate-every", "1000", "--out", str(out), *shlex.split(options),
        ]  # fmt: skip
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=max(1.0, limit))
        except subprocess.TimeoutExpired:
            print(f"{name}: out of time", flush=True)
            return None
        if done.returncode:
            print(f"{name}: failed\n{done.stderr[-2000:]}", flush=True)
            return None
        summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
        last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
        summary["options"] = options
        summary["training_feasible"] = last["feasible"]
        figures = {k: round(100 * summary[k], 2) for k in ("symbol_accuracy", "calculation_accuracy")}
        print(f"{name}: {figures} in {summary['wall_seconds']:.0f} s", flush=True)
        return summary


def table(results: dict[str, Any]) -> dict[str, Any]:
    """Mean and standard deviation over seeds, in percent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, summary in results.items():
        groups.setdefault(name.rsplit("/", 1)[0], []).append(summary)
    rows = {}
    for group, members in sorted(groups.items()):
        row: dict[str, Any] = {"seeds": len(members)}
        for key in ("symbol_accuracy", "calculation_accuracy"):
            for place in ("", "after_stage_I"):
                values = [100 * (m[place] if place else m)[key] for m in members if not place or place in m]
                if values:
                    name = f"{place}_{key}" if place else key
                    row[name] = {"mean": round(statistics.mean(values), 2), "sd": round(statistics.pstdev(values), 2)}
        rows[group] = row
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder with hwf.npz")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--seconds", type=float, default=1e6, help="stop starting and abandon runs after this long")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "hwf.json")
    args = parser.parse_args()

    known = json.loads(args.out.read_text()) if args.out.exists() else {"runs": {}}
    results: dict[str, Any] = known["runs"]
    wanted = {k: v for k, v in cells(args.rows, args.seeds).items() if k.split("/")[1] in args.splits}
    missing = {k: v for k, v in wanted.items() if results.get(k, {}).get("options") != v}
    print(f"{len(wanted) - len(missing)} of {len(wanted)} cells are done; {len(missing)} to go", flush=True)
    began = time.monotonic()

    def work(item: tuple[str, str]) -> None:
        left = args.seconds - (time.monotonic() - began)
        summary = run(*item, args.data_dir, args.device, left) if left > 5 else None
        if summary is not None:
            results[item[0]] = summary | {"jobs": args.jobs}
            page = {"command": "python benchmarks/hwf.py --data-dir DIR", "table": table(results)}
            args.out.write_text(json.dumps(page | {"runs": dict(sorted(results.items()))}, indent=1) + "\n")

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, missing.items()))
    print(json.dumps(table(results), indent=1))


if __name__ == "__main__":
    main()
