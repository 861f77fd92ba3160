"""``softground tasks``: what can be trained."""

import json
from dataclasses import dataclass

from .help import written


@dataclass(frozen=True)
class Command:
    """List the tasks that can be trained."""

    json: bool = False
    """Print one JSON object: each task with its own options and their defaults."""

    def run(self) -> None:
        found = written()["tasks"]
        if self.json:
            return print(json.dumps({"tasks": found}))
        for task in found:
            print(f"{task['name']}  {task['about']}")
        print(
            "FILE.py  A rule of your own: softground new-task NAME writes NAME.py, softground train NAME.py trains it."
        )
