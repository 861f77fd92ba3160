"""``softground inspect TASK``: what can be known before training."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console

from ..errors import LearnerError, SoftgroundError
from ..experiments.experiment import problem_of
from ..inspection import inspect
from ..inspection.show import renderables
from ..kernels import Kernel
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
        name = experiment.task.name
        data: Any = experiment.train
        with Console(stderr=True, quiet=self.quiet or self.json).status(f"{name} …") as status:
            found = inspect(
                experiment.task,
                data.y,
                kernels=kernels_of(experiment),
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


def kernels_of(experiment: Any) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    recipe, found = experiment.recipe, {}
    problem = problem_of(recipe)
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            objective = problem.grounding(which, experiment.task, experiment.train.y)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if (kernel := getattr(objective, "kernel", None)) is not None:
            found[f"preset {preset}"] = kernel
    return found
