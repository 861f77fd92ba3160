"""The command line: ``softground train | resume | evaluate | report | tasks``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

# Exit codes: 0 done, 1 a bug of ours, 2 bad input, 130 interrupted.
BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    from rich.console import Console
    from rich.text import Text

    from ..errors import SoftgroundError

    args = list(sys.argv[1:] if argv is None else argv)
    if args in ([], ["train"]):
        args.append("--help")
    complain = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        _run(args)
    except SoftgroundError as error:
        # Not as markup: messages hold lists and paths, whose brackets are meant as they are.
        complain.print(Text.assemble(("softground: ", "bold red"), f"{type(error).__name__}: {error}"))
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        complain.print(Text(f"Interrupted. {stop}".strip()))
        return INTERRUPTED
    return 0


def _run(args: list[str]) -> None:
    import tyro

    from ..tasks import TASKS
    from .commands import Evaluate, Resume, Tasks, train
    from .report import Report

    config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    if args[:1] == ["train"]:
        options = tyro.extras.subcommand_cli_from_dict(
            dict(TASKS), prog="softground train", args=args[1:], description="Train a network on a task.", config=config
        )
        train(options)
    else:
        command = tyro.extras.subcommand_cli_from_dict(
            {"train": _TrainHelp, "resume": Resume, "evaluate": Evaluate, "report": Report, "tasks": Tasks},
            prog="softground",
            args=args,
            description="Teach networks to recognise symbols from rules instead of labels.",
            config=config,
        )
        command.run()


class _TrainHelp:
    """Train a network on a task: ``softground train TASK``, with ``softground train TASK --help`` for its options."""
