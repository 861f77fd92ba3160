"""The table of data as people have them, from ``benchmarks/results/your_data.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from choice_table import said
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
        "4×4 boards, 150 valid and 150 invalid, no labels: boards judged right",
        ("board_accuracy",),
        "boards/complement",
        {"labels": "boards/labels"},
    ),
]


def how(seeds: str) -> str:
    """What the table shows, of which data, with which settings."""
    return (
        f"What is right on test data, in %, mean ± sd over {seeds} seeds. Digits are MNIST's; formulas are HWF's, "
        "reconstructed from CROHME strokes, of length 7 as published, shorter ones made of the same images. Settings "
        "are those of `--preset best` of formulas "
        f"(they {said('hwf')}), for boards of Sudoku (they {said('sudoku')}), else of addition (they "
        f"{said('addition')}), each for clean data of one length; for these data only the 32 "
        f"pixels of formulas and their 16 bits were chosen (they {said('hwf, several lengths')}). *Three networks* "
        "(`--members 3`) are trained side by side and read by their mean; that row was added after the test figures of "
        "one network had been seen, and its number of networks was not chosen on validation data. "
        "`benchmarks/your_data_cell.py` says how wrong sums and invalid boards are made."
    )


def table(page: Path) -> str:
    """What was measured, beside labels and clean data."""
    if not page.exists():
        return "Not measured yet."
    found = read_page(page)
    rows: dict[str, Any] = found["table"]
    lines = [how(spread(rows)), "", "| data, and what is counted | | beside it |", "| --- | --- | --- |"]
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
