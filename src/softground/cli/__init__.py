"""The command line: ``softground train | resume | evaluate | predict | report | …``, as ``--help`` lists them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# Exit codes: 0 done, 1 a bug of ours, 2 bad input, 130 interrupted, 141 the reader of the output went away.
BAD_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    from rich.console import Console
    from rich.text import Text

    from ..errors import SoftgroundError

    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["--tyro-print-completion"]:
        args[0] = "completion"
    if args in ([], ["train"], ["inspect"]):
        args.append("--help")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold what is no text
    complain = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        _run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, head or less, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush does not fail again
        return PIPE_CLOSED
    except (SoftgroundError, OSError) as error:  # a name that is too long, say, in the system's own words
        # Not as markup: messages hold lists and paths, whose brackets are meant as they are.
        message = f"{type(error).__name__}: {error}".replace("previous=True", "--previous")
        complain.print(Text.assemble(("softground: ", "bold red"), message))
        return BAD_INPUT
    except MemoryError as error:
        what = str(error) or "there is not enough memory"
        complain.print(Text(f"softground: MemoryError: {what}. Ask for less, or use a larger machine."))
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        complain.print(Text(f"Interrupted. {stop}".strip()))
        return INTERRUPTED
    return 0


def _run(args: list[str]) -> None:
    import tyro

    from ..errors import SoftgroundError
    from ..tasks import TASKS
    from .commands import train

    if hidden := [word for word in args if word.lstrip("-").startswith(("tyro-", "tyro_"))]:
        raise SoftgroundError(
            f"{hidden[0]} is no option. Give softground completion SHELL for a script of completions."
        )
    config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    if args[:1] == ["train"]:
        if args[1].startswith("-") and args[1] not in ("-h", "--help"):
            raise SoftgroundError(
                f"{args[1]} was given to softground train; the task comes first: {', '.join(TASKS)}. "
                "As in softground train hwf --epochs 5."
            )
        options = tyro.extras.subcommand_cli_from_dict(
            dict(TASKS), prog="softground train", args=args[1:], description="Train a network on a task.", config=config
        )
        train(options)
    elif args[:1] == ["inspect"]:
        from . import inspect

        inspect.run(*inspect.parse(args[1:], config))
    else:
        command = tyro.extras.subcommand_cli_from_dict(
            every_command(),
            prog="softground",
            args=args,
            description="Teach networks to recognise symbols from rules instead of labels.",
            config=config,
        )
        command.run()


def every_command() -> dict[str, Callable[..., Any]]:
    """Every command by its name; a new one adds its class here. ``train`` and ``inspect`` are read in another way."""
    from .commands import Evaluate, Resume
    from .completion import Completion
    from .export import Export
    from .new_task import NewTask
    from .predict import Predict
    from .report import Report
    from .reproduce import Reproduce
    from .tasks import Tasks

    return {
        "train": _TrainHelp,
        "resume": Resume,
        "evaluate": Evaluate,
        "predict": Predict,
        "report": Report,
        "inspect": _InspectHelp,
        "export": Export,
        "reproduce": Reproduce,
        "tasks": Tasks,
        "new-task": NewTask,
        "completion": Completion,
    }


@dataclass(frozen=True)
class _TrainHelp:
    """Train a network on a task: ``softground train TASK``, with ``softground train TASK --help`` for its options."""


@dataclass(frozen=True)
class _InspectHelp:
    """Look at a task before training: ``softground inspect TASK``: solutions, projections, mixing, identifiability."""
