"""Random command lines: right ones, and ones with words changed, missing, doubled or out of place."""

from __future__ import annotations

import dataclasses
import random
import types
import typing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import tyro

from softground.cli import BY_TASK, COMMANDS
from softground.cli.options import options_of
from softground.tasks import TASKS

# Where a number is wanted. Nothing between a few and far too many: a million examples are no fault, only slow.
WHOLE = (
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "9",
    "16",
    "35",
    "37",
    "-7",
    "1000000000000000",
    "9" * 20,
    "1" + "0" * 400,
    "9" * 5000,
    "1.5",
    "1e3",
    "0x10",
    "1_6",
    "٣",
    "²",
    "nan",
    "",
)
REAL = ("0", "1", "-1", "0.5", "1e-9", "1e-320", "1e308", "1e999", "nan", "inf", "-inf", "1,5", "x", "", "0x1p3")
NOWHERE = "/proc/nowhere/x"  # where nobody can write
# Relative, and inside the trial's folder, but for that one.
PATHS = (
    "run",
    "run/config.json",
    "empty",
    "file.txt",
    "nowhere",
    "nowhere/at/all",
    "0.png",
    "1.png",
    "broken.png",
    "data",
    ".",
    "",
    " ",
    "new",
    "-",
    "ünï",
    "n" * 300,
    "deep/" * 300,
    "raw\udcff",
    "two\nlines",
    "[bold]",
    "~nobody-here",
    "*",
    NOWHERE,
)
WORDS = (
    "",
    " ",
    "-",
    "--",
    "---",
    "-h",
    "--help",
    "--no-",
    "=",
    "--=",
    "--out",
    "--seed",
    "train",
    "hwf",
    "dance",
    "None",
    "True",
    "[]",
    "{}",
    "'",
    '"',
    "\\",
    "$(true)",
    "%s",
    "\ud800",
    "\n",
    "\t",
    "😀",
    "x" * 5000,
    "--" + "x" * 5000,
    "--tyro-print-completion",
    "@file.txt",
    "--seed=1",
    "--out=new",
    "1",
    "-1",
)
# What makes a task small, beside few examples; options after these override them.
FEW = ["--train-size", "16"]
SMALL: dict[str, list[str]] = {
    "hwf": ["--length", "3", "--train-size", "32", "--test-size", "16", "--image-size", "8"],
    "sudoku": ["--train-size", "4", "--test-size", "4"],
    "sdsp": ["--nodes", "4"],
}


def line(rng: random.Random) -> list[str]:
    """A command line."""
    words = _right(rng)
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2, 5))):
        at = rng.randrange(len(words) + 1)
        match rng.randrange(6):
            case 0:
                del words[at : at + 1]
            case 1:
                words.insert(at, rng.choice(WORDS))
            case 2:
                words[at : at + 1] = [rng.choice(WORDS)]
            case 3:
                words[at:at] = words[at : at + 2]
            case 4 if len(words) > 1:
                words[at : at + 1] = [_mistyped(words[min(at, len(words) - 1)], rng)]
            case _:
                words.insert(at, rng.choice((*PATHS, *WHOLE)))
    return [word for word in words if not _leads_away(word)]


def _leads_away(word: str) -> bool:
    """Whether a word could be a path outside the trial's folder that can be written to."""
    return word != NOWHERE and any(part.startswith("/") or ".." in part for part in word.split("="))


def _mistyped(word: str, rng: random.Random) -> str:
    """A letter changed, doubled or left out; never one that leads to another folder."""
    at = rng.randrange(len(word) + 1)
    letter = rng.choice("abcxyz-_=019 é\x01")
    return rng.choice((word[:at] + letter + word[at:], word[:at] + word[at + 1 :], word[:at] + letter + word[at + 1 :]))


def _right(rng: random.Random) -> list[str]:
    """Words that belong together, with values that may be impossible."""
    if rng.random() < 0.05:
        return [rng.choice(WORDS) for _ in range(rng.randrange(4))]
    name = rng.choice([*COMMANDS, "train", "train", "inspect"])
    words, task = [name], None
    if name in BY_TASK:
        task = rng.choice(list(TASKS))
        words += [task, *(SMALL.get(task, FEW) if rng.random() < 0.7 else [])]
    elif name == "runs":
        task = rng.choice(("list", "compare", "remove"))
        words.append(task)
    fields = _fields(name, task)
    places = [field for field, hint in fields.items() if tyro.conf.Positional in getattr(hint, "__metadata__", ())]
    for field in places:
        usual = {"run_folder": ["run"], "run_folders": ["run"], "images": ["0.png", "1.png", "1.png"]}.get(field)
        many = rng.choice((1, 1, 2, 3, 5))
        words += usual if usual and rng.random() < 0.7 else _values(fields[field], rng, many)
    options = [field for field in fields if field not in places]
    for field in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3, 6)))):
        words += _option(field, fields[field], rng)
    return words


@cache
def _fields(name: str, task: str | None) -> dict[str, Any]:
    """A command's options and their types; of ``runs``, which is one of several, those of the one named."""
    module = import_module(f"softground.cli.{name.replace('-', '_')}")
    kind: Any = getattr(module, str(task).capitalize()) if name == "runs" else module.Command
    kind = kind if name not in BY_TASK else options_of(str(task), kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _option(field: str, hint: Any, rng: random.Random) -> list[str]:
    name = field.replace("_", "-") if rng.random() < 0.9 else field
    if bool in _choices(hint) and rng.random() < 0.95:
        return [rng.choice((f"--{name}", f"--no-{name}"))]
    values = _values(hint, rng, 1)
    return [f"--{name}={values[0]}"] if rng.random() < 0.2 and values else [f"--{name}", *values]


def _choices(hint: Any) -> tuple[Any, ...]:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if union else (hint,)


def _values(hint: Any, rng: random.Random, many: int) -> list[str]:
    """A value of the kind that is wanted, or nearly."""
    hint = next(choice for choice in _choices(hint) if choice is not type(None))
    if typing.get_origin(hint) is tuple:
        return [word for _ in range(many) for word in _values(typing.get_args(hint)[0], rng, 1)]
    if typing.get_origin(hint) is typing.Literal:
        names = [str(name) for name in typing.get_args(hint)]
        return [rng.choice(names) if rng.random() < 0.9 else rng.choice((names[0].upper(), "dance"))]
    if hint is bool:
        return [rng.choice(("True", "False", "None", "1"))]
    return [rng.choice({int: WHOLE, float: REAL, Path: PATHS}.get(hint, WORDS))]


__all__ = ["PATHS", "line"]
