"""``softground tasks``: what can be trained."""

import inspect
from dataclasses import dataclass

from ..tasks import TASKS


@dataclass(frozen=True)
class Command:
    """List the tasks that can be trained."""

    def run(self) -> None:
        for name, problem in TASKS.items():
            print(f"{name}  {inspect.getdoc(problem)}")
