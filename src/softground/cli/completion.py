"""``softground completion``: a script that teaches a shell the commands, tasks and options."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import tyro

from ..tasks import TASKS

Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class Completion:
    """Print a script that completes commands, tasks and options in your shell."""

    shell: Annotated[Shell, tyro.conf.Positional]
    """bash: into ~/.local/share/bash-completion/completions/softground; zsh: into _softground in a folder of $fpath;
    fish: into ~/.config/fish/completions/softground.fish."""

    def run(self) -> None:
        """Print."""
        from . import every_command
        from .inspect import inspectable

        # The real command line reads `train TASK` in two steps; a shell wants to know all of it as one tree.
        of_tasks = {"train": TASKS, "inspect": inspectable()}
        tree = _choice(every_command() | {name: _nested(kinds) for name, kinds in of_tasks.items()})
        config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
        tyro.cli(tree, prog="softground", args=["--tyro-print-completion", self.shell], config=config)


def _nested(members: Any) -> type[Any]:
    """A command whose next word is one of several."""
    return make_dataclass("Nested", [("task", Annotated[_choice(members), tyro.conf.arg(name="")])])


def _choice(members: Any) -> Any:
    """One of several commands, by name."""
    return reduce(or_, [Annotated[kind, tyro.conf.subcommand(name)] for name, kind in members.items()])


__all__ = ["Completion"]
