"""Write ``src/softground/cli/help.json``: the help of every command, read from the commands themselves.

    python -m tools.help

Do so after a change of a command, of a setting or of a preset; a test says when that is due.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tyro
from tyro.extras import get_parser

import softground
from softground.cli import BY_TASK, COMMANDS, command, runs
from softground.cli.options import GROUPS, LONG, SHORT, options_of
from softground.experiments.own_rule import OPENED, OwnRule
from softground.runs.folder import plain
from softground.tasks import TASKS

FILE = Path(softground.__file__).parent / "cli" / "help.json"
OWN = "FILE.py"
PRESETS = "(default: the preset's)"
GROUP = {name: group for group, names in GROUPS.items() for name in names.split()}


def described() -> dict[str, Any]:
    """What the file should hold."""
    OPENED[OWN] = type("OwnRule", (OwnRule,), {"name": OWN, "__doc__": OwnRule.__doc__})
    kinds: dict[str, Any] = {**TASKS, OWN: OPENED[OWN]}
    options: list[Any] = []
    pages: dict[str, Any] = {}

    def page(name: str, about: str | None, found: list[dict[str, Any]], places: str = "") -> None:
        usage = " ".join(word for word in (name, places, "[OPTIONS]") if word)
        options.extend(one for one in found if one not in options)
        pages[name] = {"usage": usage, "about": about, "options": [options.index(one) for one in found]}

    for name, about in COMMANDS.items():
        if name in BY_TASK:
            for task, problem in kinds.items():
                kind = options_of(task, command_class(name))
                found = [of_task(one, problem) for one in sorted(actions(kind)[1], key=place)]
                found.sort(key=lambda one: [*GROUPS, "output"].index(one["group"]))
                page(f"{name} {task}", inspect.getdoc(problem), found)
            pages[name] = {"usage": f"{name} TASK [OPTIONS]", "about": about, "options": []}
        elif name == "runs":
            every = []
            for kind in (runs.List, runs.Compare, runs.Remove):
                own = f"runs {kind.__name__.lower()}"
                places, found = actions(kind)
                page(own, inspect.getdoc(kind), [one | {"group": own} for one in found], places)
                every += pages[own]["options"]
            pages[name] = {"usage": "runs [list | compare | remove] FOLDER …", "about": about, "options": every}
        else:
            places, found = actions(command(name))
            page(name, inspect.getdoc(command(name)), found, places)
    del OPENED[OWN]
    tasks = [
        {
            "name": name,
            "about": inspect.getdoc(problem),
            "options": plain(asdict(problem())),
            "kernels": list(problem.kernels),
            "networks": list(problem.networks),
            "inverses": list(problem.inverses),
        }
        for name, problem in TASKS.items()
    ]
    return {"options": options, "pages": pages, "tasks": tasks}


def command_class(name: str) -> Any:
    """A command that takes a task, without the task's options."""
    return __import__(f"softground.cli.{name}", fromlist=["Command"]).Command


def actions(kind: Any) -> tuple[str, list[dict[str, Any]]]:
    """A command's arguments in one line, and its arguments and options."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = get_parser(kind, config=(tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName))
    places, found = [], []
    for action in parser._actions:
        if action.dest == "help":
            continue
        text = re.sub(r" \((?:default: (?:None|False|True|\.)?|required)\)$", "", " ".join((action.help or "").split()))
        if len(re.findall(r"\(default:", text)) > 1:
            text = text[: text.rindex(" (default:")]
        flags, field = list(action.option_strings), action.dest.replace("-", "_")
        if not flags:
            places.append(str(action.metavar))
        elif len(flags) == 2 and action.nargs == 0 and not text.endswith(PRESETS):
            default = next((f.default for f in dataclasses.fields(kind) if f.name == field), False)
            flags = flags[1:] if default is True else flags[:1]
        names = ", ".join(flags) + (f" {action.metavar}" if action.metavar and flags else "")
        found.append({"names": names or str(action.metavar), "help": text, "group": "options", "short": True})
        found[-1] |= {} if flags else {"group": "arguments"}
    return " ".join(places), found


def field_of(one: dict[str, Any]) -> str:
    """The field of an option."""
    first, *_ = (name.split()[0].removeprefix("--") for name in one["names"].split(", "))
    return first.replace("-", "_")


def place(one: dict[str, Any]) -> int:
    """Where an option stands in the order of :data:`GROUPS`; a task's own come before them."""
    return list(GROUP).index(field_of(one)) if field_of(one) in GROUP else -1


def of_task(one: dict[str, Any], problem: Any) -> dict[str, Any]:
    """An option of a command on a task: its group, and the default that the presets really have."""
    name, text, own = field_of(one), one["help"], {f.name for f in dataclasses.fields(problem)}
    recipes = [problem().recipe(preset) for preset in ("best", "paper")]
    values = [recipe.problem.get(name, getattr(recipe, name, None)) for recipe in recipes]
    if text.endswith(PRESETS) or ("(default" not in text and set(values) != {None} and name in recipes[0].problem):
        best, paper = map(in_words, values)
        said = best if best == paper else f"{best}; with --preset paper: {paper}"
        text = f"{text.removesuffix(PRESETS).strip()} (default: {said})"
    group = GROUP.get(name, "data" if name in own else "output")
    short = name in SHORT or (name in own and name not in LONG)
    return {"names": one["names"], "help": text, "group": group, "short": short}


def in_words(value: object) -> str:
    """A default as one writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "automatic"
    return "none" if value in ((), "") else f"{value:g}" if isinstance(value, float) else str(value)


def text() -> str:
    """The file, one option in a line."""
    found = described()
    parts = []
    for name, value in found.items():
        items = value.items() if isinstance(value, dict) else enumerate(value)
        lines = [
            (f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else "")
            + json.dumps(item, ensure_ascii=False)
            for key, item in items
        ]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        parts.append(f'"{name}": {opening}\n' + ",\n".join(lines) + f"\n{closing}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
