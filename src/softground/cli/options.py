"""A task's command line: its own options, the settings of a recipe, and where to run, as one dataclass for tyro."""

import dataclasses
import typing
from collections.abc import Iterable
from dataclasses import dataclass, make_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from ..errors import SoftgroundError
from ..experiments import Experiment, Place
from ..experiments.named import known_to
from ..experiments.recipe import Recipe, settings
from ..files import Json
from ..retired import MEMBERS, Retired
from ..tasks import TASKS


@dataclass(frozen=True, kw_only=True)
class RunOptions(Place):
    """What the commands on a task have in common, beside the task's own options and the recipe's settings."""

    preset: Literal["paper", "best"] = "best"
    """paper: the paper's setting; best: what we recommend. The other options override single parts of it."""
    seed: int = 0
    """Decides every draw."""
    like: Path | None = None
    """A run folder: take all its settings, but those given here."""
    config: Path | None = None
    """A .toml, .yaml or .json file of options by their names, as in epochs = 5; those given here win."""

    name: ClassVar[str]  # of the task

    def experiment(self, **other: Any) -> Experiment:
        """The experiment that these options describe, with ``other`` options in place of some."""
        return Experiment.named(self.name, self.preset, **self.given | other)

    @property
    def given(self) -> Json:
        """The options that an experiment is made of."""
        known = known_to(TASKS[self.name]).keys() - {"preset"}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name in known}


def options_of(task: str, command: Any) -> type:
    """One dataclass of a task's own fields, the recipe's settings and the command's options."""
    problem, hints = TASKS[task], typing.get_type_hints(Recipe)
    known, made = known_to(problem), []
    for name, each in settings().items():
        if name in problem.absent or name == "seed":
            continue
        kind: Any = Literal[tuple(choices)] if (choices := known[name]) else hints[name]  # type: ignore[arg-type]
        help = tyro.conf.arg(help=each.metadata["help"], help_behavior_hint="(default: the preset's)")
        made.append((name, Annotated[kind | None, help], None))
    silent = tyro.conf.arg(help_behavior_hint="")  # these options' help says what leaving them out means
    for base in (command, problem):
        unset = {f.name: f.default for f in dataclasses.fields(base) if f.default in (None, ())}
        kinds, taken = typing.get_type_hints(base), {m[0] for m in made}
        made += [(name, Annotated[kinds[name], silent], value) for name, value in unset.items() if name not in taken]
    both = make_dataclass(problem.__name__, made, bases=(command, problem), frozen=True, kw_only=True)
    both.__doc__ = problem.__doc__
    return both


def one_of(members: Iterable[tuple[str, type]]) -> Any:
    """One of several classes by name, as tyro takes them."""
    return reduce(or_, [Annotated[kind, tyro.conf.subcommand(name)] for name, kind in members])


def by_task(command: type[RunOptions]) -> Any:
    """A command whose first argument is a task: one class per task."""
    return one_of((name, options_of(name, command)) for name in TASKS)


def task_first(command: str, words: list[str]) -> list[str]:
    """The words after a command, if the first is a task or asks for help; without words, help."""
    first, *rest = words or ["--help"]
    if first in ("-h", "--help"):
        return ["--help"]
    if first not in TASKS:
        if sentence := MEMBERS.get(("task", first)):
            raise Retired(f"The task {first} is gone. {sentence}")
        what = "the task comes first" if first.startswith("-") else "expected a task"
        if command == "inspect" and first.endswith(".cnf"):
            raise SoftgroundError(
                f"{first} was given to softground inspect; expected a task. For a DIMACS file, use Python: "
                f"import softground as sg; rule = sg.Cnf.read({first!r}, head='site'); "
                "print(sg.inspect(sg.Task(rule.space, rule)))"
            )
        raise SoftgroundError(
            f"{first} was given to softground {command}; {what}: {', '.join(sorted(TASKS))}. "
            f"As in softground {command} hwf --epochs 5."
        )
    return [first, *rest]
