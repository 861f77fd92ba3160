"""The gallery of rules: of each example its rule, from the script, and what it reached, from the committed JSON."""

from __future__ import annotations

import re
from pathlib import Path

from provenance import origin, read_page

from examples import TEACHES, shown

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
IMPORT = "import softground as sg\n"
DATA = re.compile(r"\n\n\ndef (?:boards|error|examples|grids|main|numbers|squares|wards)\(")
TITLES = {
    "own_rule": "a × b + c",
    "killer_sudoku": "Killer Sudoku",
    "learn_short_read_long": "Learn short, read long",
    "plain_function": "Collatz steps",
    "tabular": "Who is ill?",
}


def gallery(record: Path) -> str:
    """An entry for each example."""
    runs = read_page(record)["runs"]
    entries = []
    for name, teaches in TEACHES.items():
        said = [shown(line) for line in runs[name]["printed"] if "held-out" in line or "accuracy" in line]
        title = TITLES.get(name, name.replace("_", " ").capitalize())
        code = f"```python\n{rule(name)}\n```"
        seconds = runs[name].get("cpu_seconds", runs[name]["seconds"])
        reached = f"`python examples/{name}.py`: {'; '.join(said)}, in {seconds:.0f} s."
        link = f"[The whole script](../examples/{name}.py)."
        entries.append(f"## {title}\n\n{teaches[:1].upper()}{teaches[1:]}.\n\n{code}\n\n{reached} {link}")
    return "\n\n".join(entries) + f"\n\n---\n\nFigures are of one run each, {origin(runs.values())}."


def receipts(record: Path) -> str:
    """What the example on the front page reached, in a sentence."""
    run = read_page(record)["runs"]["receipts"]
    found = re.search(r"held-out totals ([\d.]+)%, digits ([\d.]+)%", run["printed"][-1])
    assert found is not None
    return (
        f"From 2,000 receipts and no label, it reads {found[2]} % of the digits of held-out receipts, and {found[1]} "
        "% of "
        f"the totals ({run['cpu_seconds']:.0f} s on one core; [complete file](examples/receipts.py))."
    )


def rule(name: str) -> str:
    """The lines of a script that say what the symbols are and which of them explain an answer."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").split(IMPORT)[1]
    first = source.index("space = ") if name == "own_rule" else 0
    return DATA.split(source[first:])[0].split("\ntask = sg.Task(space, rule)\n")[0].strip()
