"""A task's command line: its own options, the settings of a recipe, and where to run, as one dataclass for tyro."""

import dataclasses
import typing
from collections.abc import Iterable
from dataclasses import dataclass, make_dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ..errors import SoftgroundError
from ..experiments import Experiment, Place
from ..experiments.recipe import Recipe, settings
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

    @property
    def task_name(self) -> str:
        """The task that these options are for."""
        return next(name for name, problem in TASKS.items() if isinstance(self, problem))

    def experiment(self, **other: Any) -> Experiment:
        """The experiment that these options describe, with ``other`` options in place of some."""
        return Experiment.named(self.task_name, self.preset, **self.given | other)

    @property
    def given(self) -> dict[str, Any]:
        """The options that an experiment is made of."""
        parts = [f.name for part in (TASKS[self.task_name], Place) for f in dataclasses.fields(part)]
        names = {*parts, *settings()} & {f.name for f in dataclasses.fields(self)}
        return {name: getattr(self, name) for name in names}


def options_of(task: str, command: Any) -> type:
    """One dataclass of a task's own fields, the recipe's settings and the command's options."""
    problem = TASKS[task]
    own = {name: each.metadata["choices"] or () for name, each in settings().items()}
    own |= {"kernel": problem.kernels, "network": problem.networks, "inverse": problem.inverses}
    return _options_of(problem, command, tuple((name, tuple(choices)) for name, choices in own.items()))


@cache  # names may have been registered since: then it is another class
def _options_of(problem: Any, command: Any, own: tuple[tuple[str, tuple[str, ...]], ...]) -> type:
    hints = typing.get_type_hints(Recipe)
    made = []
    for name, each in settings().items():
        if name in problem.absent or name == "seed":
            continue
        choices = dict(own)[name]
        kind: Any = Literal[choices] if choices else hints[name]
        help = tyro.conf.arg(help=each.metadata["help"], help_behavior_hint="(default: the preset's)")
        made.append((name, Annotated[kind | None, help], None))
    silent = tyro.conf.arg(help_behavior_hint="")  # these options' help says what leaving them out means
    for base in (command, problem):
        unset = {f.name: f.default for f in dataclasses.fields(base) if f.default in (None, ())}
        kinds = typing.get_type_hints(base)
        known = {m[0] for m in made}
        made += [(name, Annotated[kinds[name], silent], value) for name, value in unset.items() if name not in known]
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
