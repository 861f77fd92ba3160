"""Write the tables of the docs from the committed JSON: every number there comes from here.

    python benchmarks/tables.py [--check]

Text between ``<!-- table NAME -->`` and ``<!-- end -->`` in README.md and docs/*.md is replaced; ``--check`` only
compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
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

from papers.li2023.choices import PATHS

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
    """Handwritten formulas from values, with labels beside, on two splits; from the reproduction's runs."""
    table = reproduced()
    best = "`--preset best` (convolutional, distorted images)"
    rows = (
        ("`--preset paper --schedule exp`", "standard", "exp/II", "sup/SUP", "98.6 / 90.7"),
        ("the same, Stage II by back-search", "standard", "exp-ngs/II", None, "99.5 / 96.6 ¹"),
        (best, "standard", "best/I", "best-sup/SUP", "– / 97.2 ²"),
        ("`--preset best --no-augment`", "standard", "best-plain/I", None, "–"),
        ("`--preset best --readings grammatical`", "standard", "best-grammatical/I", None, "–"),
        ("`--preset paper --schedule exp`", "writers", "exp/II", "sup/SUP", "–"),
        (best, "writers", "best/I", "best-sup/SUP", "–"),
    )
    lines = [
        "Symbols / values read correctly, in %, on HWF, reconstructed from CROHME strokes (ink bright); mean, and sd "
        "of the values, of three seeds unless noted. An ungrammatical prediction is wrong; the last column restricts "
        "the same network to grammatical formulas. *Standard* is the published split (72 % of the test slots show a "
        "training image); *writers* tests on other writers.",
        "",
        "| setting | split | published | from values | with labels | from values, grammatical |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, split, row, labels, published in rows:
        cells = [
            read(table.get(f"hwf/{split.removesuffix('s')}/{key}", {}).get("ours"), kind)
            for key, kind in ((row, ""), (labels, ""), (row, "grammatical_"))
        ]
        lines.append(f"| {name} | {split} | {published} | {' | '.join(cells)} |")
    stage = read(table.get("hwf/standard/exp/I", {}).get("ours"), "")
    lines += [
        "",
        f"After Stage I alone the paper's preset reads {stage} (published: 82.6 / 25.7). Published: the paper's Table "
        "1 (2023), one run. ¹ Its Table 3. ² ABLkit's `examples/hwf/README.md`, read in 2026; no seeds given. "
        f"Learning rate, batches and epochs of `best` {choice.said('hwf')}. {measured('hwf')}",
    ]
    return "\n".join(lines)


def read(ours: dict[str, Any] | None, kind: str) -> str:
    """``98.86 / 92.19 ± 1.21``: symbols and values of one way to read, or a dash where nothing was measured."""
    if not ours:
        return "–"
    symbols, values = (ours[f"{kind}{what}_accuracy"] for what in ("symbol", "calculation"))
    return f"{symbols['mean']:.2f} / {percent({'values': values, 'seeds': values['seeds']}, 'values')}{seeds(values)}"


def seeds(row: dict[str, Any]) -> str:
    """A note where a row does not stand on three seeds."""
    return "" if row["seeds"] == 3 else f" ({row['seeds']} seed{'s' * (row['seeds'] > 1)})"


def sudoku() -> str:
    """Visual Sudoku: share of valid predicted boards, per number of training boards; from the reproduction's runs."""
    table, sizes = reproduced(), (50, 100, 300, 500)
    rows = {
        "best/I": "`--preset best` (convolutional, distorted images)",
        "best-sup/SUP": "the same recipe with labels",
        "best-lenet/I": "the same with LeNet-5",
        "best-plain/I": "the same, images not distorted",
    }
    lines = [
        "Valid boards among 1,000 predicted test boards, in %, by the number of training boards; MNIST, mean ± sd of "
        "three seeds. The paper's row: single runs on its own boards and images. Ours: exact sum, at least 3,000 "
        "updates, batches of 16, so more differs than the sampler. "
        f"Settings {choice.said('sudoku')}.",
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
        "best/I": "`--preset best`: the graph network `PathGNN`, nearest feasible point",
        "best-sup/SUP": "the same with labels",
        "gibbs/I": "a plain network, Gibbs sampling (`--network mlp --kernel gibbs`)",
    }
    lines = [
        "Shortest paths that A\\* finds with the predicted distances, and Spearman correlation with the true "
        "distances, in %; mean ± sd of three seeds, 1,000 test graphs with uniform trees. Settings "
        + "; ".join(sorted({choice.said("sdsp"), choice.said(PATHS)}))
        + ".",
        "",
        "| setting | paths found | Spearman |",
        "| --- | --- | --- |",
    ]
    for key, name in rows.items():
        metrics = ("path_accuracy", "spearman")
        lines += row_of(name, [figures(reproduced(), f"sdsp/uniform/{key}", metric) for metric in metrics])
    return "\n".join([*lines, "", measured("sdsp")])


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
    """The command that measures a table of the reproduction."""
    return f"Measured by `python -m papers.li2023 {task} --data-dir DIR`; more in docs/reproduction.md."


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
        rows = re.sub(r"(?m)^\|.*$", lambda row: re.sub(r" *\| *", "|", row[0]), TABLES[match[1]]())
        return f"<!-- table {match[1]} -->\n{rows}\n<!-- end -->"

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
