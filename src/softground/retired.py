"""Retired names and settings of earlier releases, and their replacements.

Old scripts get a sentence rather than an AttributeError, and old run folders stay readable.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .errors import SoftgroundError

_MIXED = "A rule has symbols or real numbers, not both: use Equations for known sums of real numbers."
_LINEAR = "For known sums of reals use Equations; for orders and ranges, levels as symbols, with SMT or CPMpy."
_MIXTURE = "P(z|x) is one product: use an Ensemble of networks, --members, whose mean says how sure one can be."
_PROTOTYPE = "Use another network with anchors: fit(…, anchors=Anchors(images, symbols)), or --anchors 1."
_UNDECIDED = "Use an Ensemble, --members, or a Term of your own, which gets the entropy from Law.entropy()."
_TEACHER = "An objective of your own is a Teacher: use softground.training.Teacher; see examples/extending/even.py."
_SCOUTS = (
    "Training is scaled and annealed by default, and starts again where it has failed: see --scaled and --restarts."
)
_PAPERS = "In softground's repository, python -m papers.li2023 trains, resumes and predicts with it."

_LOGGERS = "Use --logger tensorboard; in Python Learner(…, fabric=Fabric(loggers=[…])) takes any logger of Lightning."
_BOARDS = "Boards of 9×9 are learnt group by group, without chains: use --objective parts, as the preset best does."
_CLUSTER = """On other machines, solver queries go through joblib, from Python:
    client = distributed.Client("tcp://HOST:8786")
    with joblib.parallel_config(backend="dask"):
        softground.Experiment.named("hwf", inverse="z3").run()"""

NAMES: dict[str, str] = {"Mixed": _MIXED, "MixedRule": _MIXED, "Mixture": _MIXTURE, "Undecided": _UNDECIDED}
NAMES |= {"LinearRule": _LINEAR, "HitAndRun": _LINEAR}
NAMES |= {"Objective": _TEACHER, "Outcome": _TEACHER, "objectives": "Use softground.training."}
NAMES |= {
    name: f"In softground's repository, import {name} from papers.li2023.baselines."
    for name in ("BackSearch", "BestMapping", "FeasibleMapping", "MAPO", "Reinforce")
}
"""Public Python names: a sentence with the replacement of ``softground.NAME``."""

_MOVED = {
    "constraints": "Constraint Part",
    "data": "Ragged RandomAffine Split",
    "dice": "Dice Sampler",
    "experiments": "Experiment Problem Recipe",
    "inspection": "Inspection",
    "inverses": "CPSAT INVERSES Z3 Circuit Enumeration Fibre Inverse Law Listing Scanned Start Table",
    "kernels": "KERNELS Collapsed Composed Exact Guided Info Kernel Metropolis Uniform",
    "learner": "TrainingSettings one_cycle",
    "metrics": "calibration_error collapse macro_f1 reliability",
    "model": "Model",
    "networks": "Dropout Ensemble Standardise lenet",
    "projections": "ChangeOne Drop Dropped Move Projection RandomDrop Walk",
    "reals": "Equations Gaussian",
    "schedules": "SCHEDULES Constant Exponential Linear Logarithmic Schedule",
    "spaces": "Belief Space",
    "target": "Target",
    "tasks": "TASKS",
    "tasks.sdsp": "Differences SiteGibbs",
    "training": "OBJECTIVES Batch CompositeLikelihood Noise SemanticLoss SoftenedGrounding Supervised Teacher Term "
    "Usage ZeroDegree",
    "walks": "recommend",
}
MOVED: dict[str, str] = {name: room for room, names in _MOVED.items() for name in names.split()}
"""Names in ``softground`` until 0.3, with their new rooms; the next release removes them."""


def moved(name: str) -> Any:
    """Return the object of a name in :data:`MOVED`, with a warning that gives its new place."""
    warnings.warn(
        f"softground.{name} is softground.{MOVED[name]}.{name}; the short name goes with the next release.",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(f"softground.{MOVED[name]}"), name)


MEMBERS: dict[tuple[str, str], str] = {
    ("kernel", "kempe"): _BOARDS,
    ("kernel", "mixed"): _BOARDS,
    ("layer", "softground.Mixture"): _MIXTURE,
    ("layer", "softground.Prototypes"): _PROTOTYPE,
    ("layer", "softground.Scouted"): _SCOUTS,
    ("network", "prototype"): _PROTOTYPE,
    ("unexplained", "weigh"): "Use unexplained='drop', which trains without these examples.",
    ("usage", "estimated"): "Give the shares of the symbols, or 'uniform'.",
    ("logger", "mlflow"): _LOGGERS,
    ("logger", "wandb"): _LOGGERS,
    ("task", "mnlogic"): "Start from examples/clauses.py, which learns from clauses.",
    ("task", "mnmath"): "Start from examples/mnmath.py, which has its rule and data.",
    ("task", "visudo"): "Use validity with --boards both, whose boards are also valid or not.",
}
MEMBERS |= {
    ("objective", name): _PAPERS for name in ("reinforce", "mapo", "ngs", "ssl", "na", "hard-feasible", "hard-best")
}
MEMBERS |= {("schedule", name): _PAPERS for name in ("exp-code", "log-code", "linear-code")}
MEMBERS |= {("boards", "authors"): _PAPERS}
"""Members of a registry by its kind and their name, such as ``("network", "prototype")``.

Also values of a setting, by its name and the value: ``("usage", "estimated")``.
"""

METHODS = {
    "pinned": "Register a function: @softground.inverses.pinned.register.",
    "default_kernel": "Register a function: @softground.inverses.own_kernel.register.",
    "most_probable": "Register a function: @softground.inverses.mode_by_search.register.",
    "solutions": "Override set(y), which gives S_y as a set; Enumeration.set shows how a list becomes one.",
    "static_law": "What a GPU can record is found by a rehearsal.",
}
"""Methods of inverses in users' code, and their replacements."""


@dataclass(frozen=True)
class Setting:
    """A retired setting of recipes and of the command line.

    At its ``neutral`` value it has no effect. With any other value, a run can be opened, reported and compared, but
    neither resumed nor repeated: ``instead`` tells what to do.
    """

    neutral: Any
    instead: str


SETTINGS: dict[str, Setting] = {
    "anchor_choice": Setting(
        "drawn", "Anchors are drawn by the seed; in Python give your own: fit(…, anchors=Anchors(images, symbols))."
    ),
    "entropy_weight": Setting(0.0, _UNDECIDED),
    "member": Setting(
        "mean", "Members read by their mean; train with several --seeds, and compare: softground runs compare."
    ),
    "mixing": Setting(
        False, "Inspections measure no mixing: give the chains that you walk yourself to a package such as arviz-stats."
    ),
    "mixture": Setting(1, _MIXTURE),
    "projection": Setting("task", "Use --kernel auto: the library chooses how chains walk."),
    "scheduler": Setting(None, _CLUSTER),
    "scouts": Setting(0, _SCOUTS),
    "solver_backend": Setting(None, _CLUSTER),
    "solver_memory": Setting(None, "In Python: give the inverse its limit, as in Z3(rule, memory=2000)."),
    "tensorboard": Setting(False, "Use --logger tensorboard."),
    "zero_objective": Setting(
        "zero", "Stage II learns from feasible predictions. For back-search after Stage I see papers.li2023.baselines."
    ),
}
"""Recipe fields and options by their names in Python, such as ``"entropy_weight"``."""


class Retired(SoftgroundError):
    """A retired name or setting of an earlier release."""


Known = Mapping[str, Container[Any] | None]
"""Current settings by name, and the members that each may name; None if these are not registered."""


def instead(name: str, value: object, known: Known) -> str | None:
    """The replacement of a setting, or of the member that it names; None if neither is retired."""
    if name not in known:
        return SETTINGS[name].instead if name in SETTINGS else None
    return MEMBERS.get((name, value)) if isinstance(value, str) and value not in (known[name] or ()) else None


def current(given: Mapping[str, object], known: Known, strict: bool = True) -> dict[str, Any]:
    """Drop retired settings. With ``strict``, refuse those that had an effect.

    >>> current({"epochs": 3}, {"epochs": None})
    {'epochs': 3}
    """
    kept = {}
    for name, value in given.items():
        sentence = instead(name, value, known)
        if sentence is None:
            kept[name] = value
        elif strict and (name in known or value != SETTINGS[name].neutral):
            raise Retired.of({name: value}, f", which is gone. {sentence}")
    return kept


def effective(recipe: object) -> Any:
    """A saved recipe without retired settings that had no effect."""
    if not isinstance(recipe, dict):
        return recipe
    return {name: v for name, v in recipe.items() if name not in SETTINGS or v != SETTINGS[name].neutral}
