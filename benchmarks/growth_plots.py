"""Pictures of ``growth.json``: time and quality against size, one file a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LABELS = {
    "length": ("formula length", "seconds of a kernel step, 256 chains"),
    "data": ("training formulas", "seconds"),
    "batch": ("chains in a batch", "seconds of a kernel step"),
    "vertices": ("vertices", "seconds of a step, 16 graphs"),
}
MARKS = "osD^vP*X"
# Distinguishable in print and by colour-blind readers (Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def draw(page: dict[str, Any], folder: Path) -> list[Path]:
    """Draw every part that ``page`` holds; white ground, so that they read on a dark page too."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [_times(page[part], part, folder) for part in LABELS if part in page]
    if "quality" in page:
        paths.append(_quality(page["quality"], folder))
    return paths


def _times(part: dict[str, Any], name: str, folder: Path) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), dpi=100, facecolor="white")
    number = 0
    for device, series in sorted(part.items()):
        for label, figures in series.items():
            points = [p for p in figures["points"] if "seconds" in p]
            if not points:
                continue
            sizes, middle = [p["size"] for p in points], [p["seconds"]["median"] for p in points]
            low = [p["seconds"]["median"] - p["seconds"].get("low", p["seconds"]["median"]) for p in points]
            high = [p["seconds"].get("high", p["seconds"]["median"]) - p["seconds"]["median"] for p in points]
            exponent = f" ∝ size^{figures['exponent']:.2f}" if "exponent" in figures else ""
            axes.errorbar(
                sizes,
                middle,
                yerr=[low, high],
                label=f"{device}, {label}{exponent}",
                capsize=2,
                markersize=5,
                marker=MARKS[number % len(MARKS)],
                color=COLOURS[number % len(COLOURS)],
                linestyle="-" if device == "cpu" else "--",
            )
            number += 1
    across, up = LABELS[name]
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    steepest = max((f["exponent"] for s in part.values() for f in s.values() if "exponent" in f), default=None)
    axes.set_title(f"{across}: exponents up to {steepest:.2f}" if steepest is not None else across)
    ticks = sorted({p["size"] for s in part.values() for f in s.values() for p in f["points"]})
    axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
    axes.minorticks_off()
    return _save(figure, axes, folder / f"growth-{name}.png")


def _quality(part: dict[str, Any], folder: Path) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), dpi=100, facecolor="white")
    device = "cpu" if "cpu" in part else next(iter(part))
    half, scratch = part[device]["half-trained"]["points"], part[device]["from scratch"]["points"]
    lines = [
        ("half-trained network: chains, 50 rounds", half, "grounded"),
        ("the exact Q* of that network", [p for p in half if "exact" in p], "exact"),
        ("its own reading, without the rule", half, "network"),
        ("chains at the start", half, "at_start"),
        ("from scratch: chains after 200 gradient steps", scratch, "grounded"),
    ]
    for number, (label, points, key) in enumerate(lines):
        sizes, shares = [p["size"] for p in points], [p[key] for p in points]
        axes.plot(sizes, shares, label=label, marker=MARKS[number], color=COLOURS[number], markersize=5)
    axes.set(xlabel="formula length", ylabel="share of rightly grounded symbols", ylim=(0, 1.02))
    axes.set_title(f"Chain quality after a fixed budget ({device})")
    axes.set_xticks([p["size"] for p in half])
    return _save(figure, axes, folder / "growth-quality.png")


def _save(figure: Any, axes: Any, path: Path) -> Path:
    import matplotlib.pyplot as plt

    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, framealpha=0.9)
    figure.tight_layout()
    figure.savefig(path, facecolor="white", metadata={"Software": None})
    plt.close(figure)
    return path
