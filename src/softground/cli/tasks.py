"""``softground tasks``: what can be trained."""

import inspect
import json
from dataclasses import asdict, dataclass

from ..runs.folder import plain
from ..tasks import TASKS


@dataclass(frozen=True)
class Command:
    """List the tasks that can be trained."""

    json: bool = False
    """Print one JSON object: each task with its own options and their defaults."""

    def run(self) -> None:
        if self.json:
            found = [
                {
                    "name": name,
                    "about": inspect.getdoc(problem),
                    "options": plain(asdict(problem())),
                    "kernels": list(problem.kernels),
                    "networks": list(problem.networks),
                    "inverses": list(problem.inverses),
                }
                for name, problem in TASKS.items()
            ]
            return print(json.dumps({"tasks": found}))
        for name, problem in TASKS.items():
            print(f"{name}  {inspect.getdoc(problem)}")
