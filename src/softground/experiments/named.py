"""Problems and recipes by name: from options, and from run folders."""

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import CheckpointError, LearnerError
from ..files import typed_fields
from ..registry import Registry
from ..retired import MEMBERS, Known, Retired, current, effective
from ..runs import RunFolder
from ..runs.folder import CONFIG
from .own_rule import opened
from .place import Place
from .problem import Problem
from .recipe import Recipe, checked, settings


def named_recipe(task: str, preset: str = "best", **options: Any) -> tuple[Recipe, Place]:
    """The recipe of a task's preset, changed by these options, and the place to run."""
    kind = kind_of(task)
    own, where = ({f.name for f in dataclasses.fields(part)} for part in (kind, Place))
    options = current(options, known_to(kind))
    known = own | where | (settings().keys() - set(kind.absent))
    if unknown := [name for name in options if name not in known]:
        raise LearnerError.of({unknown[0]: options[unknown[0]]}, f"{task} has no such option.")
    given = {name: options[name] for name in options.keys() - own - where if options[name] is not None}
    chosen = {name: options[name] for name in own & options.keys()}
    try:
        recipe = kind(**typed_fields(kind, chosen)).recipe(preset, **typed_fields(Recipe, given))
    except ValueError as error:
        with suppress(TypeError):
            kind(**chosen).recipe(preset, **given)  # which may have more to say of it
        raise LearnerError(f"An option of another type was given: {error}.") from error
    return recipe, Place(**{name: options[name] for name in where & options.keys()})


def problem_of(recipe: Recipe, data_dir: Path | None = None) -> Problem:
    """The problem that a recipe names, with its data in ``data_dir`` if it reads any."""
    kind = kind_of(recipe.task)
    reads = any(f.name == "data_dir" for f in dataclasses.fields(kind))
    return kind(**recipe.problem, **({"data_dir": data_dir} if reads and data_dir is not None else {}))


def kind_of(task: str) -> type[Problem]:
    """The problem of this name: a ready-made one, or one in a file that the user has named."""
    return opened(Path(task).name) if task.endswith(".py") else _tasks()[task]


def known_to(kind: type[Problem]) -> Known:
    """The options of a task, a recipe and a place, with the members that each may name."""
    each = {f.name: f.metadata.get("choices") for part in (Recipe, Place, kind) for f in dataclasses.fields(part)}
    return {**each, "inverse": kind.inverses, "kernel": kind.kernels, "network": kind.networks}


def recipe_of(folder: RunFolder, strict: bool = True) -> Recipe:
    """Read the recipe in a run folder, checking each value.

    With ``strict=False``, for looking at the run, retired settings that had an effect are left out.
    """
    config, where = folder.read_config(), folder.path / CONFIG
    if config.get("recipe") is None:
        raise CheckpointError(
            f"{folder.path} holds a run of another program (task {config.get('task')!r}), which has its data and rule. "
            "Continue it there: Learner.fit(…, resume=True)."
        )
    try:
        return recipe_from(config["recipe"], where, strict)
    except Retired as error:
        raise CheckpointError(
            f"{where}: {error} This version opens, reports and compares the run; for anything else use softground "
            f"{str(config.get('version'))[:40]}."
        ) from error


def recipe_from(given: object, where: Path, strict: bool = True) -> Recipe:
    """Read the recipe in a file; raises Retired, or CheckpointError if the file is damaged."""
    tasks = _tasks()
    if isinstance(given, dict) and isinstance(task := given.get("task"), str):
        if task in tasks or task.endswith(".py"):
            given = current(given, known_to(kind_of(task)), strict)
        elif ("task", task) in MEMBERS:
            raise Retired.of({"task": task}, f", which is gone. {MEMBERS['task', task]}")
        else:
            given = effective(given)
    recipe = Recipe.of_json(given, where)
    if recipe.task not in tasks and not recipe.task.endswith(".py"):
        raise CheckpointError(f"{where} names the task {recipe.task!r}; there are {', '.join(tasks)}.")
    kind = kind_of(recipe.task)
    for name, known in {"inverse": kind.inverses, "kernel": kind.kernels, "network": kind.networks}.items():
        if (value := getattr(recipe, name)) not in {*known, getattr(Recipe, name)}:  # a task may ignore the default
            raise CheckpointError(f"{where} names the {name} {value[:40]!r}; {recipe.task} has {', '.join(known)}.")
    problem = current(recipe.problem, known_to(kind), strict)
    return dataclasses.replace(recipe, problem=checked(kind, problem, where))


def _tasks() -> Registry[type[Problem]]:
    """All ready-made problems, which register themselves on import."""
    from ..tasks import TASKS

    return TASKS
