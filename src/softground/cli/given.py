"""Options from a file (``--config``) or from a run (``--like``): words put before those of the command line, which win.

The same parser reads and checks them.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import SoftgroundError
from ..experiments.named import kind_of, known_to, recipe_of
from ..experiments.recipe import Recipe, settings
from ..files import Json, Unreadable, read_bounded
from ..retired import current
from ..runs import RunFolder

LARGEST = 2**20  # bytes of a file of options


def expanded(words: list[str]) -> list[str]:
    """The words after a command: the task, then the options of ``--like`` and ``--config``, then the others."""
    task, *rest = words
    found: list[str] = []
    for option, read in (("--like", _of_run), ("--config", _of_file)):  # a file overrides a run
        for place, word in enumerate(rest):
            name, _, value = word.partition("=")
            if name == option and (value or rest[place + 1 : place + 2]):
                found += words_of(read(Path(value or rest[place + 1]), task))
    return [task, *found, *rest]


def words_of(options: Mapping[str, object]) -> Iterator[str]:
    """Write options as words of the command line, without those that are None.

    >>> list(words_of({"epochs": 3, "one_cycle": False, "lengths": [1, 3], "data_dir": None}))
    ['--epochs', '3', '--no-one-cycle', '--lengths', '1', '3']
    """
    for name, value in options.items():
        word = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{word}" if value else f"--no-{word}"
        elif value not in (None, [], ()):
            yield f"--{word}"
            yield from map(str, value if isinstance(value, list | tuple) else [value])


def _of_run(path: Path, task: str) -> Json:
    """All settings of a run, and the folder of its data."""
    folder = RunFolder.open(path)
    recipe = recipe_of(folder)
    if recipe.task != Path(task).name:
        raise SoftgroundError(f"--like {path} is a run of {recipe.task}, and the task is {task}; give a run of {task}.")
    found, place = options_in(recipe), folder.read_config().get("place")
    if isinstance(place, dict) and hasattr(kind_of(task), "data_dir"):
        found["data_dir"] = place.get("data_dir")
    return found


def options_in(recipe: Recipe) -> Json:
    """A recipe as the options that make it again."""
    found = {"preset": recipe.preset, **recipe.problem}
    found.pop("sha256", None)  # the digest of a user's file, which may have changed
    return found | {name: getattr(recipe, name) for name in settings() if name not in kind_of(recipe.task).absent}


def _of_file(path: Path, task: str) -> Json:
    """The options in a TOML, YAML or JSON file, by their names."""
    try:
        text = read_bounded(path, LARGEST).decode()
        found = _parsed(path, text)
    except (Unreadable, ValueError) as error:  # tomllib's and json's are ValueErrors
        raise SoftgroundError(f"--config {path} cannot be read: {error}. Correct the file.") from error
    plain = (bool, int, float, str, type(None))
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise SoftgroundError(f"--config {path} holds no options; expected lines such as epochs = 5.")
    for name, value in found.items():
        if not isinstance(value, plain) and not (isinstance(value, list) and all(isinstance(v, plain) for v in value)):
            raise SoftgroundError(
                f"--config {path}: {name} is a {type(value).__name__}; expected a number, a text, true or false, or a "
                "list of these, all on one level."
            )
    return current(found, known_to(kind_of(task)))


def _parsed(path: Path, text: str) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(text)
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(f"its name ends in {path.suffix or 'nothing'}, not in .toml, .yaml or .json")
    try:
        yaml: Any = import_module("yaml")
    except ImportError as error:
        raise ValueError("YAML needs the package pyyaml: pip install pyyaml, or write TOML") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error  # pyyaml's message has several lines
