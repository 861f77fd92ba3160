"""What the speed benchmarks share: clocks, paired ratios, and the JSON that keeps them with their circumstances.

Speeds are compared **within one run**: alternatives take turns (A B A B …), each turn gives a ratio, and the median of
these is reported with its quartiles. A machine that slows down meanwhile slows both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from provenance import page_text, provenance, read_page, rounded

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
Clock = Callable[[], float]
Work = Callable[[], object]


def devices() -> list[str]:
    """Where to measure: the CPU, and a GPU where torch sees one."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Median and quartiles.

    >>> spread([5.0, 1.0, 2.0, 4.0, 3.0])
    {'median': 3.0, 'low': 2.0, 'high': 4.0, 'repeats': 5}
    """
    if not values:
        raise ValueError("Nothing was measured; give at least one repeat.")
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return {"median": middle, "low": low, "high": high, "repeats": len(values)}


def timed(
    function: Work, repeats: int = 20, warmup: int = 3, device: str = "cpu", clock: Clock = time.perf_counter
) -> dict[str, Any]:
    """Seconds of one call: ``{"median", "low", "high", "repeats"}``, low and high being quartiles."""
    return interleaved({"": function}, repeats, warmup, device, clock)["seconds"][""]


def interleaved(
    alternatives: Mapping[str, Work],
    repeats: int = 20,
    warmup: int = 3,
    device: str = "cpu",
    clock: Clock = time.perf_counter,
) -> dict[str, dict[str, dict[str, Any]]]:
    """Time alternatives in turn, so that drift hits all of them.

    Returns ``{"seconds": {name: spread}, "ratio": {name: spread}}``. A ratio is an alternative's time over the
    **first** alternative's in the same turn; the first has none. Every other turn goes backwards, so that none always
    follows the same one.
    """
    names = list(alternatives)
    for name in names:
        for _ in range(warmup):
            alternatives[name]()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats):
        for name in names if turn % 2 == 0 else reversed(names):
            wait(device)
            began = clock()
            alternatives[name]()
            wait(device)
            seconds[name].append(clock() - began)
    first = seconds[names[0]]
    pairs = {name: [a / b for a, b in zip(seconds[name], first, strict=True)] for name in names[1:]}
    return {
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratio": {name: spread(values) for name, values in pairs.items()},
    }


def wait(device: str) -> None:
    """Until a GPU has done what it was given; nothing on a CPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def circumstances(seed: int) -> dict[str, Any]:
    """Machine, versions, commit, seed, command, and how busy the machine was (load average of a minute)."""
    found = provenance()
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    found["environment"] |= {"threads": torch.get_num_threads()}
    return found | {"seed": seed, "load": load}


def options(description: str | None) -> argparse.ArgumentParser:
    """The options of every speed benchmark: ``--quick``, ``--devices``, ``--seed`` and ``--out``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs; figures mean nothing")
    parser.add_argument("--devices", nargs="+", choices=["cpu", "cuda"], default=devices(), help="where to measure")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder of the JSON (default: benchmarks/results; none for --quick)")
    return parser


def destination(given: argparse.Namespace) -> Path | None:
    """Where :func:`record` writes for these options: nowhere for a quick run, unless a folder was named."""
    return given.out or (None if given.quick else RESULTS)


def record(
    name: str, figures: Mapping[str, Any], *, seed: int, device: str = "cpu", folder: Path | None = RESULTS
) -> dict[str, Any]:
    """Put figures measured on ``device`` into ``benchmarks/results/NAME.json``, beside those of other devices.

    ``figures`` are merged into what the file holds, key by key, so a GPU's can be added on another machine; what they
    were measured on goes under ``measured``, ``device``. A list is replaced as a whole. With no folder nothing is
    written; the page is returned either way.
    """
    path = (folder or Path()) / f"{name}.json"
    page: dict[str, Any] = read_page(path) if folder and path.exists() else {}
    page = merged(page, {**figures, "measured": {device: None}})
    page["measured"][device] = circumstances(seed)
    page = rounded(page)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(page_text(dict(sorted(page.items()))))
        temporary.replace(path)
    return page


def merged(old: Any, new: Any) -> Any:
    """``new`` laid over ``old``: dictionaries key by key, anything else replaced.

    >>> merged({"a": {"x": 1}, "b": 2}, {"a": {"y": 3}})
    {'a': {'x': 1, 'y': 3}, 'b': 2}
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
    return new
