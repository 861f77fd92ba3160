"""``softground tasks``: what can be trained."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ..tasks import TASKS


@dataclass(frozen=True)
class Command:
    """List the tasks that can be trained."""

    def run(self) -> None:
        """Print one line per task."""
        console = Console(highlight=False, soft_wrap=True)
        for name, problem in TASKS.items():
            console.print(Text.assemble((name, "bold"), f"  {inspect.getdoc(problem)}"))
