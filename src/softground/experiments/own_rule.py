"""A user's rule in a file, ``softground train my_rule.py``: the file is a problem like the ready-made ones.

The file defines ``task``, and ``examples(count, part)`` for the parts "train", "validation" and "test"; it may define
``network(x)``. It is imported because the user names it, and never otherwise: a run folder keeps its digest.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from torch import Tensor, nn

from ..data.examples import Examples, Ragged, Split, held_out
from ..errors import DataError, LearnerError, Setting
from ..files import Json
from ..networks import IMAGE_NETWORKS, default_network
from ..task import Family, Task, as_task
from .problem import EXACT, Problem
from .recipe import Recipe

PRESETS: dict[str, Json] = {
    "paper": {"network": "auto"},
    "best": EXACT | {"kernel": "auto", "network": "auto", "epochs": 20, "learning_rate": 3e-3},
}


@dataclass(frozen=True, kw_only=True)
class OwnRule(Problem):
    """A rule of your own: the file defines task, examples(count, part), and perhaps network(x)."""

    module: ClassVar[ModuleType]
    digest: ClassVar[str] = ""
    networks: ClassVar[Mapping[str, Any]] = {
        "auto": default_network,
        **IMAGE_NETWORKS,
    }  # auto: the file's, where it has one

    train_size: int = field(default=3000, metadata={"least": 1})
    """The count that examples(count, "train") is asked for."""
    test_size: int = field(default=1000, metadata={"least": 0})
    """The count that examples(count, "test") is asked for; 0: no test data."""
    sha256: str = field(default="", metadata={"hidden": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sha256 not in ("", self.digest):
            raise LearnerError(
                f"{self.name} is not the file that the run began with (SHA-256 {self.digest[:12]}…; the run has "
                f"{self.sha256[:12]}…). Restore the file, or start a new run with it."
            )
        object.__setattr__(self, "sha256", self.digest)

    def load(self, seed: int) -> Split:
        def apart(share: float, chance: int) -> tuple[Any, Any]:
            few = held_out(self.train_size, share)
            return self._examples(self.train_size - few, "train"), self._examples(few, "validation")

        test = self._examples(self.test_size, "test") if self.test_size else None
        return Split(self._examples(self.train_size, "train"), test, f"Data: examples() of {self.name}.", apart=apart)

    def _examples(self, count: int, part: str) -> Any:
        found = self.module.examples(count, part)
        if not isinstance(found, Examples | Ragged):
            raise DataError(
                f"{self.name}: examples({count}, {part!r}) gave a {type(found).__name__}; expected softground.Examples."
            )
        return found

    def task(self, inverse: str = "auto", **solver: Any) -> Task | Family:
        made = deepcopy(self.module.task)  # a run may make choices that the file leaves open
        return made if isinstance(made, Family) else as_task(made)

    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        return PRESETS[name]

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        if recipe.network != "auto":
            return super().network(recipe, x, space)
        own = getattr(self.module, "network", None)
        return default_network(x, space) if own is None else own(x)


OPENED: dict[str, type[OwnRule]] = {}
"""The files that the user has named in this process, by their names without folders."""


def open_rule(path: Path) -> type[OwnRule]:
    """Import a file that the user names; return the problem that it defines."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file. softground new-task NAME writes one.")
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise DataError(f"{path} was given; expected a Python file, such as my_rule.py. Rename the file.")
    if (known := OPENED.get(path.name)) is None or Path(str(known.module.__file__)) != path.resolve():
        digest, folder = hashlib.sha256(path.read_bytes()).hexdigest(), str(path.resolve().parent)
        sys.path[:] = [folder, *(place for place in sys.path if place != folder)]  # as python my_rule.py does
        module = import_module(path.stem)
        if Path(str(getattr(module, "__file__", None))).resolve() != path.resolve():
            raise DataError(f"{path}: another module is called {path.stem}, too. Rename the file.")
        if missing := [name for name in ("task", "examples") if not hasattr(module, name)]:
            raise DataError(
                f"{path} does not define {' and '.join(missing)}. Expected task = softground.Task(…) and "
                "examples(count, part); network(x) is optional. softground new-task NAME writes such a file."
            )
        known = type("OwnRule", (OwnRule,), {"__doc__": module.__doc__ or OwnRule.__doc__})
        known.name, known.module, known.digest = path.name, module, digest
        OPENED[path.name] = known
    return known


def opened(name: str) -> type[OwnRule]:
    """The problem of a file that the user has named in this process."""
    if name not in OPENED:
        raise LearnerError(
            f"The run's rule is in {name}, which is imported only if you name it. Give ", Setting("file", name), "."
        )
    return OPENED[name]
