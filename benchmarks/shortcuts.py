"""Tasks that other readings explain as well: the paper's method, its successor's setting, semantic loss, and ours.

    python benchmarks/shortcuts.py --data-dir DIR [--seeds 10] [--jobs 12] [--device cuda] [--only evenodd half]

DIR holds MNIST's files. Every run is ``softground train TASK OPTIONS`` with the options below; ``inspect`` is the time
that ``softground inspect`` takes. *ours* are the settings of ``--preset best``; *semantic* the same network, optimiser
and epochs with the semantic loss and nothing against shortcuts; *paper* is ``--preset paper``. *successor* is the
paper's method as Soft-PNet (arXiv 2609.12247) ran it, by ``successor_cell.py``, which says how. *small network* is
what a CPU trains in a minute or two. How long a CPU takes for rows that were trained on a GPU is found by one seed
more: ``--device cpu --seeds 1 --out benchmarks/results/shortcuts_cpu.json``. Epochs and rates of ``--preset best`` are
those of tasks alike, held against a few others on validation data (``choose.py``, one seed). Runs on record in
``--out`` are not repeated.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from cells import ended, fill, parser, recorded, train

SEMANTIC = "--objective semantic --no-scaled"
CELL, SUCCESSOR = Path(__file__).with_name("successor_cell.py"), "--successor"
THREE = "--anchor-symbols red-square yellow-square red-circle"
ROWS = {
    "evenodd": {
        "ours, ten labels": "--anchors 1",
        "semantic, ten labels": f"--anchors 1 {SEMANTIC}",
        "ours, two labels": "--anchor-symbols 0 1",
        "semantic, two labels": f"--anchor-symbols 0 1 {SEMANTIC}",
        "ours": "",
        "semantic": SEMANTIC,
        "paper": "--preset paper",
        "successor": SUCCESSOR,
    },
    "half": {"ours": "", "semantic": SEMANTIC, "paper": "--preset paper"},
    "kandlogic": {
        "ours, nine labels": "--anchors 1",
        "semantic, nine labels": f"--anchors 1 {SEMANTIC}",
        "ours, three labels": THREE,
        "semantic, three labels": f"{THREE} {SEMANTIC}",
        "semantic": SEMANTIC,
        "paper": "--preset paper",
    },
    "validity": {
        "ours, four labels": "--anchors 1",
        "semantic, four labels": f"--anchors 1 {SEMANTIC}",
        "semantic": SEMANTIC,
        "paper": "--preset paper",
        "successor": SUCCESSOR,
    },
    "inspect": {"evenodd": "evenodd", "half": "half"},
}
WITHOUT_DATA = ("kandlogic",)  # whose data are drawn, not read
SETS = ("", "ood_", "mixed_", "images_")
FIGURES = [f"{data}{kind}" for data in SETS for kind in ("symbol_accuracy", "symbol_ece")]
FIGURES += ["up_to_shift_accuracy", "images_up_to_shift_accuracy", "sum_accuracy", "ood_sum_accuracy"]
FIGURES += ["scene_accuracy", "board_accuracy", "relabelled_symbol_accuracy", "answer_auroc"]


def measure(name: str, task: str, options: str, device: str, limit: float) -> dict[str, Any] | None:
    """One run's record; None where it failed or did not end in time."""
    problem, *words = shlex.split(options)
    folder = words[-2:]
    if problem == "inspect":
        return inspected(name, words[0], words[-2:], limit)
    if SUCCESSOR in words:
        return recorded(CELL, name, options.replace(SUCCESSOR, ""), device, limit)
    if problem in WITHOUT_DATA:
        return train(name, problem, shlex.join([word for word in words if word not in folder]), device, limit)
    return train(name, problem, shlex.join(["--data", "mnist", *words]), device, limit)


def inspected(name: str, task: str, folder: list[str], limit: float) -> dict[str, Any] | None:
    """How long the inspection of a task takes, start and data included."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "found.json"
        program = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[2:], stdout=open(sys.argv[1], 'w')))"
        command = [sys.executable, "-c", program, str(out), sys.executable, "-m", "softground", "inspect", task]
        began = time.monotonic()
        computed = ended(name, [*command, "--data", "mnist", "--json", *folder], limit)
        if not computed:
            return None
        took = {"wall_seconds": time.monotonic() - began, "cpu_seconds": computed}
        return took | {"recipe": {"task": task}, "inspection": json.loads(out.read_text())}


def main() -> None:
    """Run what is missing."""
    options = parser(str(__doc__), "shortcuts")
    options.set_defaults(seeds=10)
    options.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--rows", default="*", help="a pattern for the names of rows, such as 'ours, * labels'")
    options.add_argument("--try", dest="more", default="", help="options for every run, such as '--epochs 1'")
    given = options.parse_args()
    cells = {
        f"{task}/{row}/{seed}": " ".join(filter(None, [task, own, given.more, f"--seed {seed}"]))
        for seed in range(given.seeds)
        for task in given.only
        for row, own in ROWS[task].items()
        if fnmatch(row, given.rows)
    }
    fill(given, "", cells, FIGURES, "python benchmarks/shortcuts.py --data-dir DIR", measure)


if __name__ == "__main__":
    main()
