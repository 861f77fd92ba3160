"""A run's options in its ``config.json``, and back: a file that anybody may have changed is checked word by word."""

from __future__ import annotations

import dataclasses
import types
import typing
from pathlib import Path
from typing import Any

from ..errors import CheckpointError
from ..runs import RunFolder
from ..runs.folder import CONFIG
from ..tasks import TASKS, Experiment, Options

WHOLE = 2**63  # no option is larger


def as_json(options: Any) -> dict[str, Any]:
    """Options as plain JSON; paths are kept absolute, so that a run resumes from any folder."""
    return {
        field.name: str(value.resolve()) if isinstance(value, Path) else value
        for field in dataclasses.fields(options)
        for value in [getattr(options, field.name)]
    }


def read_options(folder: RunFolder) -> Options:
    """The options a run was started with, checked field by field."""
    config = folder.read_config()
    kind = TASKS.get(str(config.get("task")))
    given = config.get("recipe")
    if kind is None or not isinstance(given, dict):
        raise CheckpointError(
            f"{folder.path} holds a run of task {config.get('task')!r} that the command line did not start; it starts "
            f"{', '.join(TASKS)}. Resume it from the program that did, with Learner.fit(…, resume=True)."
        )
    hints = typing.get_type_hints(kind)
    fields = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if unknown := set(given) - fields:
        raise CheckpointError(
            f"{folder.path / CONFIG} has options this version does not know: {', '.join(map(repr, sorted(unknown)))}. "
            f"Use softground {str(config.get('version'))[:40]}, which started the run."
        )
    values = {name: _checked(name, value, hints[name], folder.path) for name, value in given.items()}
    return kind(**values)


def experiment_of(options: Options, folder: RunFolder) -> Experiment:
    """What the options of a run folder describe. Whoever makes the data refuses those that would not fit."""
    try:
        return options.build()
    except (MemoryError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{folder.path / CONFIG}: the run it describes cannot be set up here ({type(error).__name__}: {error}). "
            "Restore the file, or use a larger machine."
        ) from error


def _checked(name: str, value: Any, hint: Any, path: Path) -> Any:
    """A JSON value as the type its option has."""
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    for choice in typing.get_args(hint) if union else (hint,):
        if isinstance(value, int) and abs(value) >= WHOLE:
            break
        if typing.get_origin(choice) is typing.Literal and _one_of(value, typing.get_args(choice)):
            return value
        if choice is Path and isinstance(value, str) and "\0" not in value:
            return Path(value)
        if choice is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(choice, type) and type(value) is choice:
            return value
    shown = repr(value) if len(repr(value)) <= 100 else f"{repr(value)[:100]}…"
    raise CheckpointError(f"{path / CONFIG}: option {name!r} is {shown}, which is not a {hint}. Restore the file.")


def _one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    """Whether a value is one of these, of the same type: JSON's true is not 1."""
    return any(type(value) is type(choice) and value == choice for choice in choices)


__all__ = ["as_json", "experiment_of", "read_options"]
