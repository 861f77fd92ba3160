"""``softground inspect TASK``: what can be known before training."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from rich.console import Console
from torch import Tensor

from ..errors import LearnerError, SoftgroundError
from ..experiments import Experiment
from ..inspection import inspect
from ..inspection.mixing import ANSWERS
from ..inspection.show import renderables
from ..kernels import Kernel
from ..learner.evaluation import reader
from ..tasks import TASKS
from .options import RunOptions, by_task, task_first


@dataclass(frozen=True, kw_only=True)
class Inspect(RunOptions):
    """How closely to look."""

    sample: int = 16
    """Distinct answers to look at."""
    seconds: float = 30.0
    """Time limit; what is not done by then is left out, and named. Building the task and its data is not counted."""
    mixing: bool = True
    """Run chains and measure how they mix (needs the extra inspect)."""
    belief: Literal["lopsided", "untrained"] = "lopsided"
    """What the chains mix under: a made-up belief, or the untrained network's on the first inputs."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self) -> None:
        """Inspect and print."""
        if self.sample < 1 or not self.seconds > 0:
            raise LearnerError(
                f"--sample {self.sample} --seconds {self.seconds:g} were given; expected at least one answer, and "
                "some time."
            )
        experiment = self.experiment(**self._less())
        name = experiment.task.name
        with Console(stderr=True, quiet=self.quiet or self.json).status(f"{name} …") as status:
            found = inspect(
                experiment.task,
                _answers(experiment),
                kernels=kernels_of(experiment),
                output=_untrained(experiment) if self.belief == "untrained" else None,
                sample=self.sample,
                seed=self.seed,
                mixing=self.mixing,
                limit=self.seconds,
                progress=lambda part: status.update(f"{name}: {part} …"),
            )
        if self.json:
            print(found.to_json())
            return
        console = Console(highlight=False)
        for part in renderables(found):
            console.print(part)

    def _less(self) -> dict[str, int]:
        """No more data than an inspection reads, where their number is an option."""
        wanted = {"train_size": 50 * self.sample, "test_size": 16}
        sizes = {name: getattr(self, name, None) for name in wanted}
        return {name: min(size, wanted[name]) for name, size in sizes.items() if isinstance(size, int)}


def kernels_of(experiment: Experiment) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    recipe = experiment.recipe
    assert recipe is not None
    problem, found = TASKS[recipe.task](**recipe.problem), {}
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            kernel = getattr(problem.grounding(which, experiment.task), "kernel", None)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if kernel is not None:
            found[f"preset {preset}"] = kernel
    return found


def _answers(experiment: Experiment) -> list[Any]:
    """The training answers; nothing else of the data is read."""
    data: Any = experiment.train
    return list(data.y)


def _untrained(experiment: Experiment) -> Tensor:
    data: Any = experiment.train
    with torch.no_grad():
        output: Tensor = reader(experiment.network, data.x.device)(data.x[:ANSWERS])
    return output.double()


Command = by_task(Inspect)
check_words = partial(task_first, "inspect")
