"""The tables of docs/scaling.md: what was measured on several processes."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from speed_table import provenance, read

FRACTIONS = {2: "half", 4: "quarter"}


def processes(results: Path) -> str:
    """Two processes beside one."""
    page = read(results, "processes")
    if not page:
        return "Not measured yet."
    lines = [
        "| way | global batch | seconds per epoch | speed-up | symbol / calculation accuracy, all readings, % "
        "| grammatical readings, % |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for way, found in page["ways"].items():
        seconds, faster = found["epoch_seconds"], found["faster"]
        own = pair_of_means(found, "")
        both = [own, pair_of_means(found, "grammatical_")] if "grammatical_symbol_accuracy" in found else ["–", own]
        lines.append(
            f"| {way} | {found['batch_size']} | {seconds['median']:.2f} ({seconds['low']:.2f}–{seconds['high']:.2f}) "
            f"| {faster['median']:.2f} | {' | '.join(both)} |"  # before 0.3.0 readings were grammatical
        )
    lines += [
        "",
        f"Two processes take {page['overhead']['median']:.2f} times half of one process's time. Compared with one "
        f"process that takes the same small batches, the ratio is {page['overhead_of_exchange']['median']:.2f}: the "
        "cost of exchanging gradients.",
        "",
        *provenance([page]),
    ]
    return "\n".join(lines)


def shares(results: Path) -> str:
    """The memory of one of several processes."""
    page = read(results, "shares")
    if not page:
        return "Not measured yet."
    lines = [
        "| processes | largest process, MiB | with 1,000 examples, MiB | difference, MiB | checkpoint |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, found in page["runs"].items():
        whole, base, files = found["all"]["MiB"], found["baseline"]["MiB"], found["all"]["checkpoint_bytes"]
        parts = f"{len(files)} × {size(max(files))}" if len(files) > 1 else size(files[0])
        lines.append(f"| {name} | {whole:.0f} | {base:.0f} | {whole - base:.0f} | {parts} |")
    return "\n".join(
        [
            *lines,
            "",
            f"Of what grows with the number of examples, the largest of {page['processes']} processes holds "
            f"{page['ratio_above_baseline']:.2f} times a {FRACTIONS.get(page['processes'], 'share')} of what one "
            "process "
            f"holds. Counted with Python, torch, table and network, the ratio is {page['ratio']:.2f}. An example takes "
            f"{page['bytes_per_example']:.0f} bytes at the peak.",
            "",
            *provenance([page]),
        ]
    )


def pair_of_means(found: dict[str, Any], kind: str) -> str:
    """Symbol and calculation accuracy."""
    return " / ".join(mean(found[f"{kind}{what}_accuracy"]) for what in ("symbol", "calculation"))


def mean(values: list[float]) -> str:
    """``98.9 ± 0.2`` in percent."""
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.1f}{spread}"


def size(value: float) -> str:
    """Bytes for people.

    >>> size(1.4175e12), size(64e6)
    ('1.4 TB', '64 MB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= scale:
            return f"{value / scale:.1f} {unit}" if value < 10 * scale else f"{value / scale:.0f} {unit}"
    return f"{value / 1e3:.0f} kB"
