"""``softground inspect TASK``: what can be known before training."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ..errors import LearnerError, SoftgroundError
from ..experiments.experiment import problem_of
from ..inspection import Inspection, inspect
from ..inspection.show import renderables
from ..kernels import Kernel
from ..learner.parts import divided
from ..task import Task
from .options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Command(RunOptions):
    """How closely to look."""

    sample: int = 16
    """Distinct answers to look at."""
    seconds: float = 30.0
    """Time limit, without the time to build the task and its data. What is not done by then is left out, and named."""
    mixing: bool = True
    """Run chains and measure how they mix (needs the extra inspect)."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self) -> None:
        if self.sample < 1 or not self.seconds > 0:
            raise LearnerError(
                f"--sample {self.sample} --seconds {self.seconds:g} were given; expected at least one answer, and "
                "some time."
            )
        experiment = self.experiment(**self._less())
        shapes = divided(experiment.task, experiment.train)
        found = {s: self._inspected(experiment, s, task, data, len(shapes)) for s, task, data, _ in shapes}
        if self.json and None in found:
            print(found[None].to_json())
        elif self.json:
            print(json.dumps({"shapes": {str(shape): each.as_dict() for shape, each in found.items()}}))
        console = Console(highlight=False, quiet=self.json)
        for shape, each in found.items():
            if shape is not None:
                console.print(f"\nShape {shape}")
            for part in renderables(each):
                console.print(part)

    def _inspected(self, experiment: Any, shape: Any, task: Task, data: Any, count: int) -> Inspection:
        """What is found for one shape, in its part of the time."""
        name = task.name if shape is None else f"{task.name}, shape {shape}"
        with Console(stderr=True, quiet=self.quiet or self.json).status(f"{name} …") as status:
            return inspect(
                task,
                data.y,
                kernels=kernels_of(experiment, task, data.y),
                sample=self.sample,
                seed=self.seed,
                mixing=self.mixing,
                limit=self.seconds / count,
                progress=lambda part: status.update(f"{name}: {part} …"),
            )

    def _less(self) -> dict[str, int]:
        """No more data than an inspection reads, where their number is an option."""
        wanted = {"train_size": 50 * self.sample, "test_size": 16}
        sizes = {name: getattr(self, name, None) for name in wanted}
        return {name: min(size, wanted[name]) for name, size in sizes.items() if isinstance(size, int)}


def kernels_of(experiment: Any, task: Task, answers: Any) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    recipe, found = experiment.recipe, {}
    problem = problem_of(recipe)
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            objective = problem.grounding(which, task, answers)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if (kernel := getattr(objective, "kernel", None)) is not None:
            found[f"preset {preset}"] = kernel
    return found
