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
from ..experiments.named import kind_of, known_to
from ..experiments.own_rule import open_rule
from ..experiments.recipe import Recipe, settings
from ..files import Json
from ..retired import MEMBERS, Retired
from ..tasks import TASKS

GROUPS: dict[str, str] = {
    "start from": "preset like config",
    "data": "validation unexplained",
    "training": "objective epochs batch_size learning_rate seed optimizer one_cycle weight_decay accumulate clip keep "
    "patience evaluate_every restarts",
    "network": "network augment standardise members",
    "sampling": "kernel inverse marginals scaled schedule gamma floor warmup steps wait",
    "Stage II": "zero_epochs zero_learning_rate zero_weight_decay zero_batch_size",
    "labels and priors": "noise known anchors anchor_symbols usage usage_weight",
    "machine": "device precision deterministic solver_workers solver_limit",
}
"""Groups of options in --help. A task's own options are data, and a command's are output."""

SHORT = {"preset", "validation", "objective", "epochs", "learning_rate", "seed", "network", "noise", "device", "out"}
SHORT |= {"sample", "seconds"}
LONG = {"lengths", "shares", "split", "image_size", "readings", "window", "boards", "trees", "rectified", "relabel"}
LONG |= {"sigma", "margin", "dropped", "ink"}
"""What the short help has beside a task's own options, and which of these it leaves out."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(Place):
    """Common options of commands on a task, apart from the task's own and the recipe's settings."""

    preset: Literal["paper", "best"] = "best"
    """paper: the paper's setting; best: our recommendation. Other options override single parts of it."""
    seed: int = 0
    """Determines every random draw."""
    like: Path | None = None
    """A run folder: take all its settings, except those given here."""
    config: Path | None = None
    """A .toml, .yaml or .json file of options by their names, as in epochs = 5; those given here win."""

    name: ClassVar[str]  # of the task

    def experiment(self, **other: Any) -> Experiment:
        """The experiment that these options describe, with ``other`` options in place of some."""
        return Experiment.named(self.name, self.preset, **self.given | other)

    @property
    def given(self) -> Json:
        """The options that an experiment is made of."""
        known = known_to(kind_of(self.name)).keys() - {"preset"}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name in known}


def options_of(task: str, command: Any) -> type:
    """One dataclass of a task's own fields, the recipe's settings and the command's options."""
    problem, hints = kind_of(task), typing.get_type_hints(Recipe)
    known, made = known_to(problem), list[Any]()
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
    hidden = [f for f in dataclasses.fields(problem) if f.metadata.get("hidden")]
    made += [(f.name, Annotated[str, tyro.conf.Suppress], f.default) for f in hidden]
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
    if first.endswith(".py"):
        open_rule(Path(first))
    elif first not in TASKS:
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
