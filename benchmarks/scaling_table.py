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
        "| way | global batch | seconds an epoch | times as fast | symbol / calculation accuracy over all readings, % "
        "| over grammatical readings, % |",
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
        f"The overhead of two processes is {page['overhead']['median']:.2f}: their time over half of one "
        "process's. Measured against one process that takes the same small batches, "
        f"{page['overhead_of_exchange']['median']:.2f}: that much is due to the exchange of gradients.",
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
        "| processes | largest process, MiB | the same with a thousand examples, MiB | above that, MiB | checkpoint |",
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
            f"What grows with the number of examples, of one of {page['processes']} processes over a "
            f"{FRACTIONS.get(page['processes'], 'share')} of one process's: {page['ratio_above_baseline']:.2f} for the "
            f"largest process, {page['mean_ratio_above_baseline']:.2f} for their mean. Of whole processes, with "
            f"Python, torch, table and network, which each of them needs: {page['ratio']:.2f}. An example takes "
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
