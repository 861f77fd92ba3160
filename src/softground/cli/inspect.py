"""``softground inspect TASK``: examine a task before training."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ..errors import LearnerError, SoftgroundError
from ..experiments.named import named_recipe, problem_of
from ..experiments.recipe import Recipe
from ..inspection import Inspection, inspect
from ..inspection.inspection import SECONDS
from ..inspection.show import renderables
from ..kernels import Kernel
from ..learner.datasets import data_with_tasks
from ..task import Task
from .options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Command(RunOptions):
    """Examine a task before training."""

    sample: int = 16
    """Distinct answers to examine."""
    seconds: float = SECONDS
    """Time limit, without the time to build the task and its data. The output names parts that did not finish."""
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
        recipe, place = named_recipe(self.name, self.preset, **self.given | self._less())
        problem = problem_of(recipe, getattr(self, "data_dir", None))
        task, support = problem.task(recipe.inverse, **place.solver(recipe.inverse)), problem.support()
        answers = task.computed(support) if isinstance(task, Task) and support is not None else None
        shapes: dict[Any, tuple[Task, Any, Any]]
        if isinstance(task, Task) and answers is not None and None not in answers:
            shapes = {None: (task, answers, support)}  # combinations suffice, so no image is read
        else:
            parts = data_with_tasks(task, problem.load(recipe.seed).train)
            shapes = {s: (t, data.y, occurring(t, data) if support is None else support) for s, t, data, _ in parts}
        self._show({shape: self._inspected(recipe, shape, *each, len(shapes)) for shape, each in shapes.items()})

    def _inspected(self, recipe: Recipe, shape: Any, task: Task, answers: Any, support: Any, count: int) -> Inspection:
        """Inspect one shape, in its part of the time."""
        name = task.name if shape is None else f"{task.name}, shape {shape}"
        with Console(stderr=True, quiet=self.quiet or self.json).status(f"{name} …") as status:
            return inspect(
                task,
                answers,
                support=support,
                kernels=kernels_of(recipe, task, answers),
                sample=self.sample,
                seed=self.seed,
                seconds=self.seconds / count,
                progress=lambda part: status.update(f"{name}: {part} …"),
            )

    def _show(self, found: dict[Any, Inspection]) -> None:
        """Print the inspection of each shape; None is the shape of a single task."""
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

    def _less(self) -> dict[str, int]:
        """Options for as few data as an inspection needs."""
        wanted = {"train_size": 50 * self.sample, "test_size": 16}
        sizes = {name: getattr(self, name, None) for name in wanted}
        return {name: min(size, wanted[name]) for name, size in sizes.items() if isinstance(size, int)}


def occurring(task: Task, data: object) -> Any:
    """The data, if they state which combinations of symbols occur."""
    return data if task.space.categorical and getattr(data, "symbols", None) is not None else None


def kernels_of(recipe: Recipe, task: Task, answers: object) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    problem, found = problem_of(recipe), {}
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            objective = problem.grounding(which, task)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if (kernel := getattr(objective, "kernel", None)) is not None:
            found[f"preset {preset}"] = kernel
    return found
