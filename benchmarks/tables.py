"""Write the tables of the docs from the committed JSON: every number there comes from here.

    python benchmarks/tables.py [--check]

Text between ``<!-- table NAME -->`` and ``<!-- end -->`` in README.md and docs/*.md is replaced; ``--check`` only
compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import addition_table
import any_rule_table
import choice_table as choice
import gallery_table
import headline_table
import long_table
import scaling_table
import shortcuts_table
import solver_table
import speed_table
import sudoku9_table
import your_data_table

from papers.li2023.choices import PATHS, chosen
from papers.li2023.sdsp import GIBBS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def percent(row: dict[str, Any] | None, *keys: str) -> str:
    """``98.86 ± 0.14 / 92.19 ± 0.99``, without a spread for one seed, or a dash where nothing was measured."""
    if not row:
        return "–"
    several = row["seeds"] > 1
    cells = [row[key] for key in keys if key in row]
    return " / ".join(f"{c['mean']:.2f}" + f" ± {c['sd']:.2f}" * several for c in cells)


def hwf() -> str:
    """Handwritten formulas, both readings: weak supervision beside labels, two splits; from the reproduction's runs."""
    table = reproduced()
    names = {
        "exp/II": ("`--preset paper --schedule exp`", "98.6 / 90.7", "sup/SUP"),
        "exp-ngs/II": ("`--preset paper --schedule exp`, Stage II by back-search", "99.5 / 96.6 ¹", None),
        "best/I": ("`--preset best` (convolutional, 289 k parameters, distorted images)", "– / 97.2 ²", "best-sup/SUP"),
        "best-plain/I": ("`--preset best --no-augment` (images as they are)", "–", None),
        "best-grammatical/I": ("`--preset best --readings grammatical` (distorted images)", "–", None),
    }
    lines = [
        "Symbol / calculation accuracy in %, mean ± sd over seeds (three unless noted), on HWF reconstructed from "
        "CROHME strokes, over all readings as published: the most probable of all 13 symbols at every site, where what "
        "is no formula is wrong. [In square brackets: the most probable grammatical formula, by the same network.] "
        "*Standard* is the published split, in which 72 % of the test slots show an image that also occurs in "
        "training; *writers* tests on hands never seen in training. Where a row says so, images are distorted at "
        "random (affine and elastic) in training, from values and with labels.",
        "",
        "| setting | published | from values, standard | with labels, standard | from values, writers "
        "| with labels, writers |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row, (name, published, labels) in names.items():
        cells = [
            both_readings(table.get(f"hwf/{split}/{key}", {}).get("ours"))
            for split in ("standard", "writer")
            for key in (row, labels)
        ]
        lines.append(f"| {name} | {published} | {' | '.join(cells)} |")
    stage = both_readings(table.get("hwf/standard/exp/I", {}).get("ours"))
    lines += [
        "",
        f"After Stage I alone the paper's preset stands at {stage} (published: 82.6 / 25.7). Published: the paper's "
        "Table 1 (Li et al., ICLR 2023), one run. ¹ Its Table 3, *Stage I + NGS*. ² The table *Performance* of "
        "`examples/hwf/README.md` in ABLkit's repository (read in 2026): reasoning accuracy for equations of length 7, "
        "on an A100; no seeds or spread given. "
        f"Settings of `--preset best` {choice.said('hwf')}. {measured('hwf')}",
    ]
    return "\n".join(lines)


def both_readings(ours: dict[str, Any] | None) -> str:
    """``98.86 ± 0.17 / 92.19 ± 1.21 [99.01 ± 0.12 / 93.40 ± 1.02]``, or a dash where nothing was measured."""
    if not ours:
        return "–"
    count = next(iter(ours.values()))["seeds"]
    kinds = [
        percent(ours | {"seeds": count}, *(f"{kind}{what}_accuracy" for what in ("symbol", "calculation")))
        for kind in ("", "grammatical_")
    ]
    return f"{kinds[0]} [{kinds[1]}]{seeds({'seeds': count})}"


def seeds(row: dict[str, Any]) -> str:
    """A note where a row does not stand on three seeds."""
    return "" if row["seeds"] == 3 else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"


def sudoku() -> str:
    """Visual Sudoku: share of valid predicted boards, per number of training boards; from the reproduction's runs."""
    table, sizes = reproduced(), (50, 100, 300, 500)
    rows = {
        "best/I": "`--preset best` (convolutional, distorted images)",
        "best-sup/SUP": "the same with labels",
        "best-lenet/I": "`--preset best --network lenet` (LeNet-5, distorted images)",
        "best-plain/I": "`--preset best --no-augment` (convolutional, images as they are)",
    }
    lines = [
        "Share of 1,000 test boards whose prediction is valid, in %, mean ± sd over seeds (three unless noted), on "
        "MNIST. The paper's row is of single runs, on its own boards and images. The others have the recipe of "
        "`--preset best`: at least 3,000 updates, batches of 16 and, where a row says so, images distorted at random; "
        f"its settings {choice.said('sudoku')}. What they have over the paper's row is not the sampler's merit alone.",
        "",
        "| setting | " + " | ".join(f"{n} boards" for n in sizes) + " |",
        "| --- |" + " --- |" * len(sizes),
        "| the paper's Table 2 (2023), each column's highest | 66.9 | 85.5 | 93.5 | 95.4 |",
    ]
    for key, name in rows.items():
        lines += row_of(name, [figures(table, f"sudoku/{size}/{key}", "board_accuracy") for size in sizes])
    return "\n".join([*lines, "", measured("sudoku")])


def sdsp() -> str:
    """Shortest paths: share of paths found, weak supervision beside labels; from the reproduction's runs."""
    rows = {
        "best/I": "`--preset best`",
        "best-sup/SUP": "the same with labels",
        "gibbs/I": f"`{flags(GIBBS | chosen(PATHS))}`",
    }
    lines = [
        "Share of shortest paths that A\\* finds with the predicted distances, and their Spearman correlation with the "
        "true ones, in %, mean ± sd over seeds (three unless noted), on 1,000 test graphs with uniform trees. Settings "
        f"of `best` {choice.said('sdsp')}, those of the last row {choice.said(PATHS)}.",
        "",
        "| setting | paths found | Spearman |",
        "| --- | --- | --- |",
    ]
    for key, name in rows.items():
        metrics = ("path_accuracy", "spearman")
        lines += row_of(name, [figures(reproduced(), f"sdsp/uniform/{key}", metric) for metric in metrics])
    return "\n".join([*lines, "", measured("sdsp")])


def flags(options: Mapping[str, Any]) -> str:
    """Options as they are written on the command line; a switch has no value."""
    words = []
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if not isinstance(value, bool):
            words.append(f"{value:.1g}" if isinstance(value, float) else str(value))
    return " ".join(words)


def reproduced() -> dict[str, Any]:
    """The tables of the reproduction."""
    table: dict[str, Any] = json.loads((RESULTS / "reproduction" / "tables.json").read_text())
    return table


def figures(table: dict[str, Any], key: str, metric: str) -> str:
    """``98.86 ± 0.17``, or a dash where nothing was measured."""
    ours = table.get(key, {}).get("ours")
    return percent(ours | {"seeds": ours[metric]["seeds"]}, metric) + seeds(ours[metric]) if ours else "–"


def row_of(name: str, cells: list[str]) -> list[str]:
    """A row of a table, if any of it was measured."""
    return [f"| {name} | {' | '.join(cells)} |"] if set(cells) != {"–"} else []


def measured(task: str) -> str:
    """Where a table of the reproduction comes from."""
    return (
        f"Rows not on record yet are left out. Measured by `python -m papers.li2023 {task} --data-dir DIR`; "
        "docs/reproduction.md has more rows, the machine and the commit."
    )


TABLES: dict[str, Callable[[], str]] = {
    "headline": lambda: headline_table.headline(RESULTS),
    "hwf": hwf,
    "sudoku": sudoku,
    "sdsp": sdsp,
    "addition": lambda: addition_table.table(RESULTS / "addition.json"),
    "any_rule": lambda: any_rule_table.table(RESULTS / "any_rule.json"),
    "choice": choice.table,
    "circuit": lambda: solver_table.circuits(RESULTS),
    "receipts": lambda: gallery_table.receipts(RESULTS / "examples.json"),
    "gallery": lambda: gallery_table.gallery(RESULTS / "examples.json"),
    "ingredients": lambda: long_table.ingredients(RESULTS / "long_formulas.json"),
    "long": lambda: long_table.formulas(RESULTS / "long_formulas.json"),
    "sums": lambda: long_table.sums(RESULTS / "long_sums.json"),
    "processes": lambda: scaling_table.processes(RESULTS),
    "shares": lambda: scaling_table.shares(RESULTS),
    "shortcuts": lambda: shortcuts_table.table(RESULTS / "shortcuts.json"),
    "solvers": lambda: solver_table.solvers(RESULTS),
    "speed": lambda: speed_table.speed(RESULTS),
    "sudoku9": lambda: sudoku9_table.table(RESULTS / "sudoku9.json"),
    "your_data": lambda: your_data_table.table(RESULTS / "your_data.json"),
}


def filled(text: str) -> str:
    """A document with its tables as the JSON has them now."""

    def replace(match: re.Match[str]) -> str:
        return f"<!-- table {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- table (\w+) -->.*?<!-- end -->", replace, text, flags=re.S)


def main() -> int:
    stale = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text()
        if filled(text) != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(filled(text))
    print(f"{'stale' if '--check' in sys.argv else 'written'}: {', '.join(stale) or 'nothing'}")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
