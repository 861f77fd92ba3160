"""The tables of tasks that other readings explain as well, from ``benchmarks/results/shortcuts.json``.

``shortcuts_cpu.json`` beside it has runs that tell how long a CPU takes for what was trained on a GPU.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from cells import figure
from provenance import machine, origin, read_page

# What is counted, by which figures; then rows: what was trained, its name on record, and published figures of the same
# definition, with their source.
Row = tuple[str, str, str]
LINES: list[tuple[str, tuple[str, ...], list[Row]]] = [
    (
        "EvenOdd, mixed-parity test (960): digits",
        ("mixed_symbol_accuracy",),
        [
            ("ours, one label per digit", "evenodd/ours, ten labels", "Soft-PNet 96.4 ± 6.3, worst seed 77.6 ¹"),
            ("semantic loss, one label per digit", "evenodd/semantic, ten labels", "PNet + SL 85.4 ± 17.2 ¹"),
            ("semantic loss, no labels", "evenodd/semantic", "–"),
            ("the paper's method, no labels", "evenodd/paper", "–"),
            ("the same as its successor ran it, no labels", "evenodd/successor", "SoftG 27.3 ± 11.5 ¹"),
        ],
    ),
    (
        "EvenOdd, all 84 unseen pairs (5,040): digits / sums",
        ("ood_symbol_accuracy", "ood_sum_accuracy"),
        [
            ("ours, one label per digit", "evenodd/ours, ten labels", "–"),
            ("semantic loss, one label per digit", "evenodd/semantic, ten labels", "–"),
            ("ours, two labels (a 0 and a 1)", "evenodd/ours, two labels", "–"),
            ("semantic loss, no labels", "evenodd/semantic", "SL 7.07 ± 0.09 / 0.05 ± 0.06 ² ³"),
        ],
    ),
    (
        "EvenOdd, all MNIST test images: digits",
        ("images_symbol_accuracy",),
        [
            ("ours, two labels (a 0 and a 1)", "evenodd/ours, two labels", "–"),
            ("semantic loss, two labels", "evenodd/semantic, two labels", "–"),
        ],
    ),
    (
        "EvenOdd, all MNIST test images: digits up to d + 5",
        ("images_up_to_shift_accuracy",),
        [
            ("ours, no labels", "evenodd/ours", "–"),
            ("ours, no labels, 32 scouts", "evenodd/ours, scouts", "–"),
            ("ours, no labels, 32 scouts, small network", "evenodd/ours, scouts, small network", "–"),
            ("semantic loss, no labels", "evenodd/semantic", "–"),
            ("the paper's method, no labels", "evenodd/paper", "–"),
        ],
    ),
    (
        "EvenOdd, no labels: digits, ECE in / out of distribution",
        ("symbol_accuracy", "symbol_ece", "ood_symbol_ece"),
        [
            ("ours", "evenodd/ours", "–"),
            ("ours, 32 scouts", "evenodd/ours, scouts", "–"),
            ("ours, 32 scouts, small network", "evenodd/ours, scouts, small network", "–"),
            ("semantic loss", "evenodd/semantic", "–"),
        ],
    ),
    (
        "Half, no labels: digits, ECE, digits of unseen pairs",
        ("symbol_accuracy", "symbol_ece", "ood_symbol_accuracy"),
        [
            (
                "ours",
                "half/ours",
                "NeSyDM 79.41 ± 6.58, 39.52 ± 5.01, 57.22 ± 0.49 or 71.16 ± 1.77, 4.18 ± 2.56, 62.76 ± 0.89 ²",
            ),
            ("semantic loss", "half/semantic", "SL 42.88 ± 0.09, – ⁴, 38.92 ± 0.11 ²"),
            ("the paper's method", "half/paper", "–"),
        ],
    ),
    (
        "Kand-Logic: objects (both attributes right) / scenes",
        ("symbol_accuracy", "scene_accuracy"),
        [
            ("ours, one label per object type", "kandlogic/ours, nine labels", "Soft-PNet 81.7 ± 4.8 / 86.1 ± 5.2 ¹"),
            (
                "semantic loss, the same labels",
                "kandlogic/semantic, nine labels",
                "PNet + SL 82.7 ± 7.0 / 77.7 ± 5.6 ¹",
            ),
            ("ours, three labels", "kandlogic/ours, three labels", "–"),
            ("semantic loss, three labels", "kandlogic/semantic, three labels", "–"),
            ("semantic loss, no labels", "kandlogic/semantic", "–"),
            ("the paper's method, no labels", "kandlogic/paper", "SoftG 8.8 ± 9.4 / 73.9 ± 9.8 ¹ ⁵"),
        ],
    ),
    (
        "Sudoku 4×4, validity: digits / boards / digits up to their names",
        ("symbol_accuracy", "board_accuracy", "relabelled_symbol_accuracy"),
        [
            ("ours, one label per digit", "validity/ours, four labels", "Soft-PNet 98.5 ± 0.3 / 89.3 ± 2.2 / – ¹"),
            (
                "semantic loss, the same labels",
                "validity/semantic, four labels",
                "PNet + SL 98.6 ± 0.4 / 90.1 ± 2.5 / – ¹",
            ),
            ("semantic loss, no labels", "validity/semantic", "–"),
            ("the paper's method, no labels", "validity/paper", "–"),
            ("the same as its successor ran it", "validity/successor", "SoftG 29.2 ± 29.8 / 76.8 ± 8.4 / – ¹"),
        ],
    ),
]
HOW = (
    "Accuracy in %, mean ± sd over seeds; every seed is in `benchmarks/results/shortcuts.json`. *Ours* has a prior on "
    "usage, as the presets of 0.3.0 did; *scouts* are linear readings that go first, which 0.3.0 had. Seconds are "
    "medians: waiting on a GPU with up to 19 runs at once, computing on CPU cores."
)
SOURCES = (
    "Published figures are of data made alike, with other networks, augmentation and priors than ours. ¹ Soft-PNet's "
    "`results/*/summary_table.csv` (arXiv 2609.12247): ten seeds, one label per class except for SoftG, which has "
    "none. "
    "Its Kand-Logic images are the published ones, ours are drawn after them. ² NeSyDM, Table 3 (arXiv 2505.13138v2); "
    "it reads the mode of 1,000 sampled vectors and takes the ECE per position. ³ By a separate head for sums. ⁴ The "
    "70.61 printed there cannot be the ECE of digits: a certain shortcut has at most 57.1. ⁵ How SoftG was run on "
    "Kand-Logic is not published."
)


def table(page: Path) -> str:
    """What was measured, beside published figures."""
    if not page.exists():
        return "Not measured yet."
    found, again = read_page(page), page.with_stem(f"{page.stem}_cpu")
    more = read_page(again)["runs"] if again.exists() else {}
    heads = ["figures", "trained", "accuracy", "seeds", "s, GPU", "s, CPU", "published"]
    lines = [HOW, "", f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for title, figures, rows in LINES:
        for words, key, published in rows:
            if runs := runs_of(found["runs"], key):
                each = [[figure(run, name) for name in figures] for run in runs.values()]
                everything = [*runs.values(), *runs_of(more, key).values()]
                seconds = [spent(everything, on_cpu) for on_cpu in (False, True)]
                cells = [title, words, joined(each), str(len(runs)), *seconds, published]
                lines.append(f"| {' | '.join(cells)} |")
    made = origin([*found["runs"].values(), *more.values()])
    return "\n".join([*lines, "", SOURCES, "", f"Measured by `{found['command']}` {made}."])


def runs_of(runs: dict[str, Any], key: str) -> dict[int, dict[str, Any]]:
    """The runs of a row by their seeds, in order."""
    seeds = sorted(int(name.rsplit("/", 1)[1]) for name in runs if name.rsplit("/", 1)[0] == key)
    return {seed: runs[f"{key}/{seed}"] for seed in seeds}


def spent(runs: list[dict[str, Any]], on_cpu: bool) -> str:
    """The median seconds of the runs made on a CPU, or on a GPU."""
    own = [run for run in runs if ("CPU" in machine(run)) == on_cpu]
    clock = "cpu_seconds" if on_cpu and all("cpu_seconds" in run for run in own) else "wall_seconds"
    return f"{statistics.median(run[clock] for run in own):.0f}" if own else "–"


def joined(each: list[list[float | None]]) -> str:
    """``98.86 ± 0.14 / 92.19 ± 0.99`` over seeds; a dash for a figure that a run does not have."""
    return " / ".join(_mean([value for value in column if value is not None]) for column in zip(*each, strict=True))


def _mean(values: list[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{spread}"
