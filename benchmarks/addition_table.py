"""The table of MNIST addition, from benchmarks/results/addition.json."""

from __future__ import annotations

from typing import Any

from choice_table import said

from softground.runs.provenance import origin

DIGITS = (1, 2, 4, 15, 100)
PUBLISHED = (98.4, 96.7, 93.5, 79.0, 25.6)
FASTEST = {15: 1.7, 100: 0.92}  # seconds of an epoch, the fastest published, on unstated hardware
ROWS = {
    "lenet": "LeNet-5, exact marginals of the scan (`--network lenet --epochs 50`)",
    "lenet-sup": "the same with labels",
    "convnet": "convolutional, 288 k parameters (`--preset best`)",
    "convnet-sup": "the same with labels",
    "draws": "LeNet-5, exact draws instead of marginals (`--no-marginals`)",
    "guided": "LeNet-5, no scan: projection, guided kernel (`--rule program --kernel guided --steps 4`)",
}


def addition(page: dict[str, Any]) -> str:
    """Accuracy of the sum per number of digits, and seconds of an epoch."""
    table = page["table"]
    lines = [
        "Sums that are right on the test set, in %, mean ± sd over three seeds, in the field's standard setting (every "
        "image used once). With 100 digits the test set has 50 pairs, so that one pair is 2 %. Our rows have the "
        f"recipe of `--preset best`: images distorted at random; its settings for one digit {said('addition')}.",
        "",
        "| setting | " + " | ".join(f"{n} digit{'s' * (n > 1)}" for n in DIGITS) + " |",
        "| --- |" + " --- |" * len(DIGITS),
        "| highest known to us ¹ | " + " | ".join(f"{figure}" for figure in PUBLISHED) + " |",
    ]
    for key, name in ROWS.items():
        cells = []
        for digits in DIGITS:
            row = table.get(f"{key}/{digits}")
            figure = row and row["sum_accuracy"]
            note = "" if not row or row["seeds"] == 3 else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"
            cells.append(f"{figure['mean']:.1f} ± {figure['sd']:.1f}{note}" if figure else "–")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lost = [
        f"{key} with {digits} digits: {count} of {len(runs)}"
        for (key, digits), runs in _groups(page).items()
        if (count := sum(run["symbol_accuracy"] < 0.2 for run in runs))
    ]
    epochs = {n: table[f"timing/{n}"]["epoch_seconds"] for n in FASTEST if f"timing/{n}" in table}
    alone = ", ".join(f"{s:.2f} s for {n} digits (fastest known to us ¹: {FASTEST[n]} s)" for n, s in epochs.items())
    lines += [
        "",
        *([f"Runs that did not find the digits, counted in the means: {'; '.join(lost)}.", ""] if lost else []),
        f"An epoch of LeNet-5 on a machine that does nothing else: {alone}. "
        f"Measured by `{page['command']}` {origin(page['runs'].values())}. "
        "¹ The highest figure in each column, and the shortest epochs, that we have seen published, by several "
        "methods. Networks, epochs and hardware differ or are not stated, and we give no citation: take them for "
        "orientation, not for a ranking.",
    ]
    return "\n".join(lines)


def _groups(page: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, run in page["runs"].items():
        key, digits, _ = name.split("/")
        if key in ROWS:
            groups.setdefault((key, digits), []).append(run)
    return groups
