"""How a learner trains: each setting once, with its type, its default, what it means and what it may be.

Learners, recipes, run folders and the command line read these fields. A new setting is a field here, or an entry of
:data:`softground.training.features.FEATURES` where a term carries it out; nothing else names it but the code that uses
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from numbers import Integral
from typing import Any, Literal

from ..errors import LearnerError
from ..files import LARGEST_WHOLE, Json
from ..retired import MEMBERS
from ..training.features import FEATURES, terms
from .device import PRECISIONS, Precision

Mode = Literal["raise", "drop"]
LISTED = ("batch_size", "seed", "evaluate_every", "unexplained", "clip", "accumulate")
"""Settings that run folders hold whatever their values; later ones only where they are not at their defaults."""


def setting(
    default: object,
    help: str,
    choices: Mapping[str, object] | tuple[str, ...] | None = None,
    least: int | None = None,
    most: float | None = None,
) -> Any:
    """A field: its default, what it means, the registry or the names it takes, and its bounds where it is a number."""
    return field(default=default, metadata={"help": help, "choices": choices, "least": least, "most": most})


_Features = make_dataclass(
    "_Features",
    [(name, each.kind, setting(each.default, each.help)) for name, each in FEATURES.items()],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(_Features):  # type: ignore[misc, valid-type]
    """The settings of a :class:`Learner`, each an argument of it.

    >>> TrainingSettings(batch_size=32).changed(seed=3).chosen()
    {'batch_size': 32, 'seed': 3}
    """

    batch_size: int = setting(64, "Examples per batch, over all processes together.", least=1)
    accumulate: int = setting(1, "Batches per gradient step.", least=1)
    clip: float = setting(0.0, "The largest norm of a gradient; 0: any.")
    unexplained: Mode = setting(
        "raise",
        "Examples whose answer no symbols explain: stop with an error that names them (raise), or train without "
        "them (drop).",
        ("raise", "drop"),
    )
    evaluate_every: int = setting(1, "Epochs between evaluations on test set and validation part.", least=1)
    precision: Precision = setting(
        "32-true", "What the network is trained in; on a GPU 32-true still has convolutions in TF32.", PRECISIONS
    )
    shuffle: bool = setting(True, "Deal the examples in a new random order in every epoch.")
    seed: int = setting(0, "Decides every draw.")
    restarts: int = setting(0, "Further starts, each after one that has failed; the best is kept.", least=0)

    def __post_init__(self) -> None:
        check(self)
        if not (isinstance(self.clip, int | float) and 0 <= self.clip < math.inf):
            raise LearnerError.of({"clip": self.clip}, "expected a gradient's largest norm, or 0 for any.")
        terms(self)

    def changed(self, **given: Any) -> TrainingSettings:
        """These settings, with those that are ``given``; names that are no settings are refused."""
        known = [f.name for f in fields(TrainingSettings)]
        for name in given:
            if name not in known:
                raise LearnerError.of(
                    {name: given[name]},
                    ", which is no setting of a learner. Correct the name; beside the learner's own arguments there "
                    f"are {', '.join(known)}.",
                )
        return TrainingSettings(**{name: getattr(self, name) for name in known} | given)

    def chosen(self) -> Json:
        """The settings that are not at their defaults."""
        return {f.name: v for f in fields(TrainingSettings) if (v := getattr(self, f.name)) != f.default}

    def described(self) -> Json:
        """What a run folder holds of them; the precision is that of the learner's Fabric."""
        listed = {name: getattr(self, name) for name in LISTED}
        return listed | {name: v for name, v in self.chosen().items() if name not in (*LISTED, "precision")}


def check(options: Any) -> None:
    """Refuse unknown names, and numbers out of bounds, before anything is made of them."""
    for each in fields(options):
        name, value, about = each.name, getattr(options, each.name), each.metadata
        if (choices := about.get("choices")) is not None and value not in choices:
            if gone := MEMBERS.get((name, str(value))):
                raise LearnerError.of({name: value}, f", which is gone. {gone}")
            raise LearnerError.of({name: value}, f"expected one of {', '.join(choices)}.")
        if isinstance(value, int) and abs(value) >= LARGEST_WHOLE:
            raise LearnerError.of({name: value}, "whole numbers stay below 2⁶³.")
        if (least := about.get("least")) is not None:
            if not isinstance(value, Integral) or value < least:
                raise LearnerError.of({name: value}, f"expected a whole number, at least {least}.")
            object.__setattr__(options, name, int(value))  # also where it is numpy's
