"""The tables of docs/scaling.md: what was measured on several processes, and what follows for 10⁶ examples and more.

Measured are ``step``, ``inverse``, ``processes``, ``shares`` and ``million``; all else is worked out here, by the sums
that the document describes.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from speed_table import number, provenance, read

GPU_MEMORY = 141e9  # bytes of an H200
EXAMPLES = (10**6, 10**8)
FRACTIONS = {2: "half", 4: "quarter"}
GPUS = {1: "one GPU", 8: "eight GPUs", 64: "a cluster: 64 GPUs"}


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


def scaling(results: Path) -> str:
    """Epochs, memory and checkpoints for a million examples and for a hundred million."""
    step, million, two, four = (read(results, name) for name in ("step", "million", "processes", "shares"))
    gpu = step.get("formulas", {}).get("cuda")
    if not (gpu and million and two and four):
        return "Not measured yet."
    rate, overhead = gpu["batch_size"] / gpu["milliseconds"]["weak"]["median"] * 1000, two["overhead"]["median"]
    last, reading = million["points"][-1], million["reading"]
    lines = [
        "| examples | on | an epoch | before the first step | a checkpoint, all files | images "
        "| memory of examples, each process | first bottleneck |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for count in EXAMPLES:
        factor = count / last["size"]
        images = count * reading["bytes_per_example"]
        for gpus, name in GPUS.items():
            before = factor / gpus * (last["seconds"]["encode"] + last["seconds"]["start"])
            save = factor / gpus * last["seconds"]["save"]
            kept = count / gpus * four["bytes_per_example"] * max(1.0, four["ratio_above_baseline"])
            epoch = count / (rate * gpus) * (overhead if gpus > 1 else 1.0)
            stored = f"{size(count * last['bytes_per_example']['checkpoint'])}, {duration(save)}"
            cells = [
                f"{count:,}",
                name,
                duration(epoch),
                duration(before),
                stored,
                size(images),
                size(kept),
                bottleneck(epoch, before, save, images),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *beside(rate, reading, read(results, "inverse"))]
    lines += ["", *provenance([step, million, two, four])]
    return "\n".join(lines)


def bottleneck(epoch: float, before: float, save: float, images: float) -> str:
    """What takes longest of a run of 20 epochs, and where the images are."""
    parts = {"the network's own arithmetic": 20 * epoch, "encoding the answers": before, "checkpoints": 20 * save}
    name = max(parts, key=lambda part: parts[part])
    share = parts[name] / sum(parts.values())
    where = "images do not fit on a GPU and are read from disk; then " if images > 0.8 * GPU_MEMORY else ""
    return f"{where}{name} ({100 * share:.0f} % of the time)"


def beside(rate: float, reading: dict[str, Any], inverse: dict[str, Any]) -> list[str]:
    """What feeds a GPU: readers and solvers."""
    read_rate = reading["examples_per_second"]["median"]
    lines = [
        f"- A GPU takes {number(rate)} formulas a second, {size(rate * reading['bytes_per_example'])} of images. "
        f"One reader takes {number(read_rate)} a second from a memory-mapped file (in the file cache), enough for "
        f"{read_rate / rate:.0f} GPUs."
    ]
    if solver := inverse.get("z3", {}).get("one_process"):
        lines.append(
            f"- A rule that only Z3 can invert: one core answers {number(solver['throughput'])} new fibres "
            f"(of formulas) a second, so at one step of the chains per gradient step a GPU needs "
            f"{rate / solver['throughput']:.1f} cores; at T steps, T times as many. Fibres that come again cost "
            "nothing but the look-up."
        )
    return lines


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(0.5), duration(82), duration(8200)
    ('0.5 s', '82 s', '2.3 h')
    """
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 600 else f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def size(value: float) -> str:
    """Bytes for people.

    >>> size(1.4175e12), size(64e6)
    ('1.4 TB', '64 MB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= scale:
            return f"{value / scale:.1f} {unit}" if value < 10 * scale else f"{value / scale:.0f} {unit}"
    return f"{value / 1e3:.0f} kB"
