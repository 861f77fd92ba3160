"""The command line: ``softground train | resume | evaluate | predict | report | …``, as ``--help`` lists them.

Each command is a module of this folder with a class ``Command``: what tyro reads the arguments into, with a method
``run``.
Nothing is imported before it is needed, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

# Exit codes: 0 done, 1 a bug of ours, 2 bad input, 130 interrupted, 141 the reader of the output went away.
BAD_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
COMMANDS = {
    "train": "Train a network on a task.",
    "resume": "Go on with an interrupted run.",
    "evaluate": "Evaluate a run's network.",
    "predict": "Read symbols in image files with a run's network.",
    "report": "Write a run's page again, or put runs side by side.",
    "inspect": "Look at a task before training: solutions, projections, mixing, identifiability.",
    "export": "Write a run's network as ONNX.",
    "tasks": "List the tasks that can be trained.",
    "new-task": "Write a task of your own to begin with, and its test.",
    "completion": "Print a script that completes commands and options in your shell.",
}
BY_TASK = ("train", "inspect")  # commands whose first word is a task
SPOKEN = {  # what the library's messages tell a Python user to do, as options
    "previous=True": "--previous",
    "previous=False": "it, without --previous",
    "mixing=False": "--no-mixing",
}
DESCRIPTION = "Teach networks to recognise symbols from rules instead of labels."


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    return politely(lambda: _run(args))


def politely(work: Callable[[], None], name: str = "softground") -> int:
    """Do the work; returns its exit code. What a user can mend is told in one line that begins with ``name``."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the name of a file may hold bytes that are no text
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, head or less, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush does not fail again
        return PIPE_CLOSED
    except KeyboardInterrupt as stop:
        print(f"Interrupted. {stop}".strip(), file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _complain(error, name)
    return 0


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{summary}" for name, summary in COMMANDS.items()]
    usage = "usage: softground COMMAND …    softground COMMAND --help says more    softground --version"
    return "\n".join([usage, "", DESCRIPTION, "", *lines])


def _run(args: list[str]) -> None:
    if args[:1] in ([], ["-h"], ["--help"]):
        return print(_help())
    if args[:1] == ["--version"]:
        from .. import __version__

        return print(f"softground {__version__}")
    from ..errors import SoftgroundError

    if hidden := [word for word in args if word.lstrip("-").startswith(("tyro-", "tyro_"))]:
        raise SoftgroundError(
            f"{hidden[0]} is no option. Give softground completion SHELL for a script of completions."
        )
    name, *rest = args
    if name not in COMMANDS:
        raise SoftgroundError(f"{name!r} was given; the commands are {', '.join(COMMANDS)}. See softground --help.")
    import tyro

    if name in BY_TASK:
        from .options import task_first

        rest = task_first(name, rest)
    config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    kind: Any = command(name)
    tyro.cli(kind, prog=f"softground {name}", description=COMMANDS[name], args=rest, config=config).run()


def command(name: str) -> Any:
    """What tyro reads a command's arguments into: a class, or one of several, by the task that comes first."""
    module: Any = import_module(f".{name.replace('-', '_')}", __package__)
    if name not in BY_TASK:
        return module.Command
    from .options import by_task

    return by_task(module.Command)


def _complain(error: Exception, name: str) -> int:
    """One line for what a user can mend; everything else is a bug of ours and keeps its traceback."""
    from ..errors import SoftgroundError

    if isinstance(error, SoftgroundError | OSError):  # a name that is too long, say, in the system's own words
        text = f"{type(error).__name__}: {error}"
    elif isinstance(error, MemoryError):
        text = f"MemoryError: {error or 'there is not enough memory'}. Ask for less, or use a larger machine."
    else:
        raise error
    for python, option in SPOKEN.items():
        text = text.replace(python, option)
    from rich.console import Console
    from rich.text import Text

    # Not as markup: messages hold lists and paths, whose brackets are meant as they are.
    line = Text.assemble((f"{name}: ", "bold red"), text)
    Console(stderr=True, highlight=False, soft_wrap=True).print(line)
    return BAD_INPUT
