"""The command line: ``softground train | resume | evaluate | predict | report | …``, as ``--help`` lists them.

Each command is a module of this folder with a class ``Command``: tyro reads the arguments into its fields, and its
method ``run`` does the work. Imports wait until they are needed, so that ``--help`` is fast.
"""

import gc
import io
import os
import sys
from collections.abc import Callable, Container, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import zip_longest
from typing import Any

from ..errors import SoftgroundError

# Exit codes other than 0 (done) and 1 (a bug). The last: the reader of the output has stopped.
BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
COMMANDS = {
    "train": "Train a network on a task.",
    "resume": "Continue an interrupted run.",
    "evaluate": "Evaluate a run's network.",
    "predict": "Read symbols in image files with a run's network.",
    "solve": "Solve Sudoku puzzles in image files, or test puzzles, with a run's network.",
    "open": "Show a run in a browser, live, and read symbols that you draw.",
    "report": "Write a run's page again, or put runs side by side.",
    "runs": "List runs, compare them, remove them.",
    "inspect": "Examine a task before training: information in the answers, projections.",
    "export": "Write a run's network as ONNX.",
    "tasks": "List the tasks that can be trained.",
    "new-task": "Write a template for your own task, and its test.",
    "completion": "Print a script that completes commands and options in your shell.",
}
BY_TASK = ("train", "inspect")  # commands whose first argument is a task
NESTED = (*BY_TASK, "runs")  # commands that are one of several classes
ALIASES = {"lr": "learning-rate", "bs": "batch-size", "wd": "weight-decay", "opt": "optimizer", "gpu": "device"}
ALIASES |= dict.fromkeys(("n-epochs", "num-epochs", "max-epochs", "epoch"), "epochs")
ALIASES |= dict.fromkeys(("o", "output", "output-dir", "save-dir"), "out") | dict.fromkeys(("model", "arch"), "network")
HELP = """usage: softground COMMAND …    softground COMMAND --help says more    softground --version

Teach networks to recognise symbols from rules instead of labels.
"""


def main(argv: Sequence[str] | None = None, pages: bool = True) -> int:
    """Run a command and return its exit code.

    Without ``pages``, help is generated anew, for a program that has registered more tasks or members.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    return _part_company(politely(lambda: _run(args, pages)))


def politely(work: Callable[[], None], name: str = "softground") -> int:
    """Do the work and return its exit code. Errors that a user can fix become one line that begins with ``name``."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed, as by >&-
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold bytes that are not text
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:  # head or less has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush does not fail too
        return PIPE_CLOSED
    except KeyboardInterrupt as stop:
        print(f"Interrupted. {stop}".strip(), file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _complain(error, name)
    return 0


def _part_company(code: int) -> int:
    """End a process of a distributed run at once.

    torch may abort ("terminate called without an active exception") when it closes connections after Python has ended.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return code
    distributed.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(args: list[str], pages: bool) -> None:
    if args[:1] in ([], ["-h"], ["--help"], ["--help-all"], ["help"]):
        return print(HELP, *(f"  {name:12}{summary}" for name, summary in COMMANDS.items()), sep="\n")
    if args[:1] in (["--version"], ["version"]):
        from .. import __version__

        return print(f"softground {__version__}")
    if hidden := [word for word in args if word.lstrip("-").startswith(("tyro-", "tyro_"))]:
        raise SoftgroundError(f"{hidden[0]} is not an option. softground completion SHELL prints completions.")
    name, *rest = args
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1)
        meant = f"Did you mean softground {near[0]}? " if near else ""
        raise SoftgroundError(f"There is no command {name!r}. {meant}The commands are {', '.join(COMMANDS)}.")
    from .help import page_for

    if pages and (page := page_for(args)) is not None:
        return print(page)
    rest = ["--help" if word == "--help-all" else word for word in rest]
    kind: Any = None
    gc.disable()  # garbage collection would take a fifth of the time for imports
    try:
        kind, rest, parse = _read(name, rest)
        asked = parse()
        gc.enable()
        asked.run()
    except SoftgroundError as error:
        own = getattr(kind, "__dataclass_fields__", {})  # none where it is one of several classes
        error.args = tuple(in_options(part, own) for part in error.args)
        raise
    finally:
        gc.enable()


def _read(name: str, rest: list[str]) -> tuple[Any, list[str], Callable[[], Any]]:
    """Find a command's class, its words, and a function that makes the command."""
    import tyro

    kind, prog, about = None, f"softground {name}", None if name not in NESTED else COMMANDS[name]
    known: Any = {}
    if name in BY_TASK:
        from ..experiments.named import kind_of, known_to
        from .given import expanded
        from .options import options_of, task_first

        rest = expanded(task_first(name, rest))
        if rest[0] != "--help":  # options of one task are faster to make than those of all
            known = known_to(kind_of(rest[0]))
            kind, prog, about = options_of(rest[0], _module(name).Command), f"{prog} {rest.pop(0)}", None
    if name == "runs":
        rest = rest if rest[:1] and rest[0] in ("list", "compare", "remove", "-h", "--help") else ["list", *rest]
    kind = kind or command(name)
    known = {**dict.fromkeys(getattr(kind, "__dataclass_fields__", ())), **known}
    _refuse_retired(rest, known)
    _refuse_aliases(rest, known, prog)
    config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    return kind, rest, lambda: tyro.cli(kind, prog=prog, description=about, args=rest, config=config)


def _refuse_retired(words: list[str], known: Any) -> None:
    """Refuse retired options and values, and name the replacement."""
    from ..retired import Retired, instead

    for word, following in zip_longest(words, words[1:], fillvalue=""):
        option, _, value = word.partition("=")
        name = option.removeprefix("--").replace("-", "_").removeprefix("no_")
        if option.startswith("--") and (sentence := instead(name, value or following, known)):
            raise Retired(f"{f'{option} {value or following}' if name in known else option} is gone. {sentence}")


def _refuse_aliases(words: list[str], known: Container[str], prog: str) -> None:
    """Refuse other programs' names of an option, and name ours."""
    for word in words:
        meant = ALIASES.get(word.partition("=")[0].lstrip("-").replace("_", "-"), "") if word.startswith("-") else ""
        if meant.replace("-", "_") in known and meant:
            raise SoftgroundError(f"{prog} has no option {word.partition('=')[0]}. Did you mean --{meant}?")


def command(name: str) -> Any:
    """The class that tyro reads a command's arguments into, or one class per task."""
    if name not in BY_TASK:
        return _module(name).Command
    from .options import by_task

    return by_task(_module(name).Command)


def _module(name: str) -> Any:
    return import_module(f".{name.replace('-', '_')}", __package__)


def _complain(error: Exception, name: str) -> int:
    """Print an error that a user can fix in one line. Any other error is a bug and keeps its traceback."""
    if isinstance(error, SoftgroundError | OSError):  # a name that is too long, say, in the system's own words
        text = f"{type(error).__name__}: {error}"
    elif isinstance(error, MemoryError):
        text = f"MemoryError: {error or 'there is not enough memory'}. Ask for less, or use a larger machine."
    else:
        raise error
    from rich.console import Console
    from rich.text import Text

    from ..files import harmless

    # Without markup, because messages hold lists and paths with brackets.
    line = Text.assemble((f"{name}: ", "bold red"), harmless(text))
    Console(stderr=True, highlight=False, soft_wrap=True).print(line)
    return BAD_INPUT


def in_options(part: object, own: Container[str]) -> Any:
    """Translate a part of a message for Python: a setting becomes the command's option, if it has one.

    >>> from softground.errors import Setting
    >>> in_options(Setting("device", "gpu"), ["device"]), in_options("device=gpu", ["device"])
    ('--device gpu', 'device=gpu')
    """
    from ..errors import Setting

    if not isinstance(part, Setting):
        return part
    for name in (part.name, f"solver_{part.name}"):  # the settings of a solver in Python
        if name in own:
            return Setting(name, part.value).as_option()
    return str(part)
