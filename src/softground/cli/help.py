"""Help of every command, from ``help.json``: texts and true defaults, without importing what the commands need.

``python -m tools.help`` writes that file from the commands themselves; a test compares them.
"""

from __future__ import annotations

import json
import shutil
import textwrap
from functools import cache
from importlib import resources
from typing import Any

WIDEST, COLUMN = 100, 30  # of a line, and of the options' own column


@cache
def written() -> dict[str, Any]:
    """The content of ``help.json``: the pages by command, their options, and the tasks."""
    found: dict[str, Any] = json.loads((resources.files(__package__) / "help.json").read_text(encoding="utf-8"))
    return found


def page_for(words: list[str]) -> str | None:
    """The page for a command line with ``--help`` or ``--help-all``; None without such a page."""
    whole = "--help-all" in words
    if not words or not (whole or {"-h", "--help"} & {*words} or words in (["train"], ["inspect"])):
        return None
    command, first, *_ = [*words, ""]
    pages = written()["pages"]
    if command == "runs" or (command in ("train", "inspect") and first and not first.startswith("-")):
        named = pages.get(f"{command} {'FILE.py' if first.endswith('.py') else first}")
        page = named or (pages[command] if command == "runs" else None)  # an unknown task is refused
    else:
        page = pages.get(command)
    return None if page is None else _laid_out(page, whole)


def _laid_out(page: dict[str, Any], whole: bool) -> str:
    """Lay out a page as text, its options in groups."""
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    lines = [f"usage: softground {page['usage']}", "", *textwrap.wrap(page["about"], width)]
    options = [written()["options"][number] for number in page["options"]]
    shown = [option for option in options if whole or option["short"]] or options
    for group in dict.fromkeys(option["group"] for option in shown):
        lines += ["", group]
        for option in shown:
            if option["group"] == group:
                lines += _entry(option["names"], option["help"], width)
    if not options:  # of a command whose first argument is a task
        lines += [
            "",
            "tasks",
            *(line for task in written()["tasks"] for line in _entry(task["name"], task["about"], width)),
        ]
        lines += _entry("FILE.py", "A rule of your own, as softground new-task NAME writes it.", width)
        lines += ["", f"softground {page['usage'].split()[0]} TASK --help lists the options of a task."]
    if len(shown) < len(options):
        lines += ["", f"--help-all lists all {len(options)} options."]
    return "\n".join(lines)


def _entry(names: str, text: str, width: int) -> list[str]:
    """An option's lines: its names, then its text in a column of its own."""
    indent = min(COLUMN, width // 3)
    first = f"  {names}".ljust(indent)
    body = textwrap.wrap(text, max(20, width - indent)) or [""]
    if len(first) >= indent:
        return [first, *(" " * indent + line for line in body)]
    return [first + body[0], *(" " * indent + line for line in body[1:])]
