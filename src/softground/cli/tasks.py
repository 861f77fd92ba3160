"""``softground tasks``: what can be trained."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ..tasks import TASKS


@dataclass(frozen=True)
class Tasks:
    """List the tasks that can be trained."""

    def run(self) -> None:
        """List."""
        console = Console(highlight=False, soft_wrap=True)
        for name, options in TASKS.items():
            summary = (options.__doc__ or "").strip().splitlines()[0]
            console.print(Text.assemble((name, "bold"), f"  {summary}"))


__all__ = ["Tasks"]
