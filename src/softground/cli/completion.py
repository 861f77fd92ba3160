"""``softground completion``: a script that completes commands, tasks and options in a shell."""

from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal

import tyro

from . import COMMANDS, NESTED, command
from .options import one_of

Shell = Literal["bash", "zsh", "fish"]


@dataclass(frozen=True)
class Command:
    """Print a script that completes commands, tasks and options in your shell."""

    shell: Annotated[Shell, tyro.conf.Positional]
    """bash: into ~/.local/share/bash-completion/completions/softground; zsh: into _softground in a folder of $fpath;
    fish: into ~/.config/fish/completions/softground.fish."""

    def run(self) -> None:
        tree = one_of((name, _kind(name)) for name in COMMANDS)
        config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
        tyro.cli(tree, prog="softground", args=["--tyro-print-completion", self.shell], config=config)


def _kind(name: str) -> type[Any]:
    """A command as one class, also where it is one of several classes."""
    kind: Any = command(name)
    return make_dataclass("Nested", [("which", Annotated[kind, tyro.conf.arg(name="")])]) if name in NESTED else kind
