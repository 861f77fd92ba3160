"""The gallery of rules: of each example its rule, from the script, and what it reached, from the committed JSON."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from provenance import machine, read_page

from examples import TEACHES, shown

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DOCS = EXAMPLES.parent / "docs"
WIDTH = 84
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
        code = f"```python\n{narrow(rule(name))}\n```"
        seconds = runs[name].get("cpu_seconds", runs[name]["seconds"])
        reached = f"`python examples/{name}.py`: {'; '.join(said)}, in {seconds:.0f} s."
        link = f"[The whole script](../examples/{name}.py)."
        picture = f"images/gallery-{name.replace('_', '-')}.svg"
        shows = f"![A held-out input, what is read, and the answer]({picture})\n\n" * (DOCS / picture).exists()
        entries.append(f"## {title}\n\n{teaches[:1].upper()}{teaches[1:]}.\n\n{shows}{code}\n\n{reached} {link}")
    machines = ", ".join(sorted(set(map(machine, runs.values()))))
    note = f"Figures: one run each, on {machines}; commits are in `benchmarks/results/{record.name}`."
    return "\n\n".join([*entries, "---", note])


def narrow(code: str) -> str:
    """Code that fits its column: long comments stand above their line, long docstrings take more lines."""
    lines = []
    for line in code.splitlines():
        indent = re.match(r" *", line)[0]  # type: ignore[index]
        if len(line) > WIDTH and (found := re.fullmatch(r' *"""(.*)"""', line)):
            words = textwrap.wrap(found[1], WIDTH - len(indent) - 6)
            lines += [f'{indent}"""{words[0]}', *(f"{indent}{word}" for word in words[1:])]
            lines[-1] += '"""'
        elif len(line) > WIDTH and (found := re.fullmatch(r"( *[^#]*\S)  # (.*)", line)):
            lines += [f"{indent}# {found[2]}", found[1]]
        else:
            lines.append(line)
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(WIDTH), "-"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return done.stdout.strip()


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
