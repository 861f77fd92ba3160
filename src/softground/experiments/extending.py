"""Extension of a finished run by more epochs.

It continues its last stage, with its optimiser and its chains. If the learning rate or γ depends on the number of
epochs, they follow the longer run. So the result differs from a run that had all its epochs from the start;
``extended`` in ``config.json`` records this.
"""

import dataclasses
from pathlib import Path
from typing import Any

from ..errors import LearnerError, Setting
from ..learner.grounding import give_ways
from ..learner.identity import settings
from ..runs import RunFolder
from ..runs.folder import SUMMARY, plain
from .experiment import Experiment
from .named import recipe_of
from .recipe import Recipe


def extended(folder: RunFolder, data_dir: Path | None = None, **epochs: int | None) -> Experiment:
    """Make a run's experiment with more ``epochs`` or ``zero_epochs``, and prepare the folder for resuming."""
    recipe = longer(folder, **epochs)
    experiment = Experiment.of_run(folder, data_dir, recipe)
    learner = experiment.learner()
    if learner.fabric.is_global_zero:
        with folder.lock():
            give_ways(learner, folder.read_config().get("grounding"))
            folder.extend({"recipe": plain(recipe.to_json()), "settings": settings(learner)})
    learner.fabric.barrier()
    return experiment


def longer(folder: RunFolder, **epochs: int | None) -> Recipe:
    """A finished run's recipe with more epochs of its last stage."""
    recipe, given = recipe_of(folder), {name: count for name, count in epochs.items() if count is not None}
    last = "zero_epochs" if recipe.zero_epochs else "epochs"
    had = getattr(recipe, last)
    if list(given) != [last] or given[last] <= had:
        raise LearnerError.of(
            given, "the run's last stage has ", Setting(last, had), ", and it alone can go on: give more for it."
        )
    if not (folder.path / SUMMARY).exists():
        raise LearnerError(f"{folder.path} is not finished; resume it as it is first, then give it more epochs.")
    more: Any = given
    return dataclasses.replace(recipe, **more)
