"""The table of MNIST addition, from benchmarks/results/addition.json."""

from __future__ import annotations

from typing import Any

from choice_table import BY_TEST, said

from softground.runs.provenance import origin

DIGITS = (1, 2, 4, 15, 100)
TIMED = (15, 100)
ROWS = {
    "lenet": "LeNet-5, exact marginals of the scan, distorted images (`--network lenet --epochs 50`)",
    "lenet-plain": "the same, images as they are (`--no-augment`)",
    "lenet-sup": "with labels, distorted images",
    "convnet": "convolutional, 288 k parameters, distorted images (`--preset best`)",
    "convnet-plain": "the same, images as they are (`--no-augment`)",
    "convnet-sup": "with labels, distorted images",
    "draws": "LeNet-5, exact draws instead of marginals, distorted images (`--no-marginals`)",
    "guided": "LeNet-5, no scan: projection, guided kernel, distorted images (`--rule program --kernel guided "
    "--steps 4`)",
}


def addition(page: dict[str, Any]) -> str:
    """Accuracy of the sum per number of digits, and seconds of an epoch."""
    table = page["table"]
    new = all(run.get("recipe") for run in page["runs"].values())
    chosen = f", whose settings for one digit {said('addition')}" if new else f" of 0.2, whose settings {BY_TEST}"
    lines = [
        "Sums that are right on the test set, in %, mean ± sd over three seeds, in the field's standard setting (every "
        "image used once). With 100 digits the test set has 50 pairs, so that one pair is 2 %. The recipe is that of "
        f"`--preset best`{chosen}. Where a row says so, images are distorted "
        "at random in training.",
        "",
        "| setting | " + " | ".join(f"{n} digit{'s' * (n > 1)}" for n in DIGITS) + " |",
        "| --- |" + " --- |" * len(DIGITS),
    ]
    for key, name in ROWS.items():
        cells = []
        for digits in DIGITS:
            row = table.get(f"{key}/{digits}")
            figure = row and row["sum_accuracy"]
            note = "" if not row or row["seeds"] == 3 else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"
            cells.append(f"{figure['mean']:.1f} ± {figure['sd']:.1f}{note}" if figure else "–")
        if any(cell != "–" for cell in cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    lost = [
        f"{key} with {digits} digits: {count} of {len(runs)}"
        for (key, digits), runs in _groups(page).items()
        if (count := sum(run["symbol_accuracy"] < 0.2 for run in runs))
    ]
    epochs = {n: table[f"timing/{n}"]["epoch_seconds"] for n in TIMED if f"timing/{n}" in table}
    alone = ", ".join(f"{s:.2f} s for {n} digits" for n, s in epochs.items())
    lines += [
        "",
        *([f"Runs that did not find the digits, counted in the means: {'; '.join(lost)}.", ""] if lost else []),
        f"An epoch of LeNet-5 on a machine that does nothing else: {alone}. "
        f"Measured by `{page['command']}` {origin(page['runs'].values())}.",
    ]
    return "\n".join(lines)


def _groups(page: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, run in page["runs"].items():
        key, digits, _ = name.split("/")
        if key in ROWS:
            groups.setdefault((key, digits), []).append(run)
    return groups
