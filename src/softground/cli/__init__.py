"""The command line: ``softground train | resume | evaluate | tasks``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

# Exit codes: 0 done, 1 a bug of ours, 2 bad input, 130 interrupted.
BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    import tyro
    from rich.console import Console

    from ..errors import SoftgroundError
    from ..tasks import TASKS
    from .commands import Evaluate, Resume, Tasks, train

    args = list(sys.argv[1:] if argv is None else argv)
    try:
        if args[:1] == ["train"]:
            options = tyro.extras.subcommand_cli_from_dict(
                dict(TASKS), prog="softground train", args=args[1:], description="Train a network on a task."
            )
            train(options)
        else:
            command = tyro.extras.subcommand_cli_from_dict(
                {"train": _TrainHelp, "resume": Resume, "evaluate": Evaluate, "tasks": Tasks},
                prog="softground",
                args=args,
                description="Teach networks to recognise symbols from rules instead of labels.",
            )
            command.run()
    except SoftgroundError as error:
        Console(stderr=True).print(f"[bold red]softground:[/] {type(error).__name__}:", str(error), markup=True, highlight=False)
        return BAD_INPUT
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted. Go on with: softground resume RUN")
        return INTERRUPTED
    return 0


class _TrainHelp:
    """Train a network on a task; see ``softground train --help``."""
