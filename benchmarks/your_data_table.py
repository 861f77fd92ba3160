"""The table of data as people have them, from ``benchmarks/results/your_data.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from provenance import origin, read_page

# What is measured, by which figures of which runs; then runs to compare it with, in words.
LINES: list[tuple[str, tuple[str, ...], str, dict[str, str]]] = [
    *(
        (
            f"{what}{', ' * bool(several)}{several}: formulas, any symbol / grammatical symbols read",
            ("calculation_accuracy", "grammatical_calculation_accuracy"),
            f"hwf/{lengths}{', ' * bool(several)}{several}",
            {"labels": f"hwf/{lengths}{', ' * bool(several)}{several}, labels"},
        )
        for what, lengths in (
            ("HWF, lengths 1, 3, 5, 7 in shares 10, 10, 20, 60 %", "1 3 5 7"),
            ("the same without length 1, whose answers are labels", "3 5 7"),
        )
        for several in ("", "three networks")
    ),
    ("sums of 2 to 6 digits mixed: digits", ("symbol_accuracy",), "sums/2 to 6", {"labels": "sums/2 to 6, labels"}),
    (
        "(a + b) mod 10, 5,000 answers and 50 labelled images: digits",
        ("symbol_accuracy",),
        "modular/anchors",
        {"all 10,050 images labelled": "modular/labels"},
    ),
    *(
        (
            f"sums, 20 % of them wrong, ε {how}: digits",
            ("symbol_accuracy",),
            f"addition/20 {how}",
            {"clean sums": "addition/clean", "labels": "addition/labels", "the same without ε": "addition/20 ignored"},
        )
        for how in ("given", "learnt")
    ),
    *(
        (
            f"wrong sums found among {share} %, ε {how}: recall / precision",
            ("recall", "precision"),
            f"addition/{share} {how}",
            {},
        )
        for how in ("given", "learnt")
        for share in (10, 20, 30)
    ),
    (
        "a·b + c, 10 % of the answers infeasible and dropped: digits",
        ("symbol_accuracy",),
        "product/10 dropped",
        {"clean answers": "product/clean", "90 % of them": "product/clean 90", "labels": "product/labels"},
    ),
    (
        "4×4 boards, 150 valid and 150 invalid, no labels: boards judged correctly",
        ("board_accuracy",),
        "boards/complement",
        {"labels": "boards/labels"},
    ),
]


def how(seeds: str) -> str:
    """What the table shows, of which data, with which settings."""
    return (
        f"Test accuracy in %, mean ± sd over {seeds} seeds, with the settings of `--preset best` for clean data of one "
        "length. Digits are MNIST's; formulas are HWF's, reconstructed from CROHME strokes. *Three networks* "
        "(`--members 3`) are read by their mean; that row was added after the test figures of one network had been "
        "seen."
    )


def table(page: Path) -> str:
    """What was measured, beside labels and clean data."""
    if not page.exists():
        return "Not measured yet."
    found = read_page(page)
    rows: dict[str, Any] = found["table"]
    lines = [how(spread(rows)), "", "| data: what is counted | accuracy | for comparison |", "| --- | --- | --- |"]
    for name, figures, own, others in LINES:
        if own in rows:
            beside = "; ".join(f"{shown(rows[key], figures)} {words}" for words, key in others.items() if key in rows)
            lines.append(f"| {name} | {shown(rows[own], figures)} | {beside or '–'} |")
    runs = found["runs"].values()
    return "\n".join([*lines, "", f"Measured by `{found['command']}` {origin(runs)}."])


def shown(row: dict[str, Any], figures: tuple[str, ...]) -> str:
    """``98.86 ± 0.14 / 92.19 ± 0.99``."""
    return " / ".join(f"{row[name]['mean']:.2f} ± {row[name]['sd']:.2f}" for name in figures)


def spread(rows: dict[str, Any]) -> str:
    """How many seeds the rows stand on."""
    counts = sorted({row["seeds"] for row in rows.values()})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
