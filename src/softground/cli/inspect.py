"""``softground inspect TASK``: what can be known before training."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import torch
import tyro
from rich.console import Console
from torch import Tensor

from ..errors import LearnerError
from ..inspection import inspect
from ..inspection.mixing import ANSWERS
from ..inspection.show import renderables
from ..kernels import Kernel
from ..learner.evaluation import reader
from ..tasks import TASKS, Experiment, Options


@dataclass(frozen=True, kw_only=True)
class Look:
    """How closely to look."""

    sample: int = 16
    """Distinct answers to look at."""
    seconds: float = 30.0
    """Time limit; what is not done by then is left out, and named. Building the task and its data is not counted."""
    mixing: bool = True
    """Run chains and measure how they mix (needs the extra inspect)."""
    belief: Literal["lopsided", "untrained"] = "lopsided"
    """What the chains mix under: a made-up belief, or the untrained network's on the first inputs."""
    json: bool = False
    """Print one JSON object instead of tables."""


def inspectable() -> dict[str, Any]:
    """Every task's options by its name, with how closely to look."""
    return {name: _both(options) for name, options in TASKS.items()}


def parse(args: list[str], config: tuple[Any, ...]) -> tuple[Options, Look]:
    """The task's options, and how closely to look."""
    chosen: Any = tyro.extras.subcommand_cli_from_dict(
        inspectable(),
        prog="softground inspect",
        args=args,
        description="Look at a task before training: solutions, projections, mixing, identifiability.",
        config=config,
    )
    return chosen, chosen


def run(options: Options, look: Look) -> None:
    """Inspect and print."""
    if look.sample < 1 or not look.seconds > 0:
        raise LearnerError(
            f"--sample {look.sample} --seconds {look.seconds:g} were given; expected at least one answer, and some "
            "time."
        )
    experiment = _small(options, look.sample).build()
    answers = answers_of(experiment)
    output = _untrained(experiment) if look.belief == "untrained" else None
    quiet = options.quiet or look.json
    with Console(stderr=True, quiet=quiet).status(f"{options.name} …") as status:
        found = inspect(
            experiment.task,
            answers,
            kernels=kernels_of(options, experiment),
            output=output,
            sample=look.sample,
            seed=options.seed,
            mixing=look.mixing,
            limit=look.seconds,
            progress=lambda part: status.update(f"{options.name}: {part} …"),
        )
    if look.json:
        print(found.to_json())
        return
    console = Console(highlight=False)
    for part in renderables(found):
        console.print(part)


def answers_of(experiment: Experiment) -> list[Any]:
    """The training answers; nothing else of the data is read."""
    data: Any = experiment.train
    return list(data.y) if hasattr(data, "y") else [data[i][1] for i in range(len(data))]


def kernels_of(options: Options, experiment: Experiment) -> dict[str, Kernel]:
    """The kernels of this command's preset and of the paper's, as training would make them."""
    result = {}
    for preset in dict.fromkeys([getattr(options, "preset", "best"), "paper"]):
        stages = experiment.stages
        if preset != getattr(options, "preset", "best"):
            try:
                other: Any = dataclasses.replace(options, preset=preset)  # type: ignore[type-var]
                stages = other.stages(experiment.task, other.settings())
            except (AttributeError, TypeError, LearnerError):  # a task without presets, or without this one at its size
                continue
        kernel = getattr(stages[0].objective, "kernel", None)
        if kernel is not None:
            result[f"preset {preset}"] = kernel
    return result


def _both(options: type[Options]) -> Any:
    """One command line of the task's options and of ours."""
    both: Any = dataclasses.make_dataclass(options.__name__, [], bases=(Look, options), frozen=True, kw_only=True)
    both.__doc__ = options.__doc__
    return both


def _small(options: Options, sample: int) -> Options:
    """The same options with no more data than an inspection reads, where their number is an option."""
    wanted = {"train_size": 50 * sample, "test_size": 16}
    sizes = {name: getattr(options, name, None) for name in wanted}
    less = {name: min(size, wanted[name]) for name, size in sizes.items() if isinstance(size, int)}
    small: Options = dataclasses.replace(options, **less)  # type: ignore[type-var]
    return small


def _untrained(experiment: Experiment) -> Tensor:
    data: Any = experiment.train
    x = torch.stack([data[i][0] for i in range(min(ANSWERS, len(data)))])
    with torch.no_grad():
        output: Tensor = reader(experiment.network, x.device)(x)
    return output.double()
