"""The settings of training, each with its type, default, meaning and permitted values.

Learners, recipes, run folders and the command line read these fields. A new setting is a field here, or an entry of
:data:`softground.training.features.FEATURES` if a term implements it. Only the code that uses a setting also names it.
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
"""Settings that a run folder always holds. It holds others only if they differ from their defaults."""


def setting(
    default: object,
    help: str,
    choices: Mapping[str, object] | tuple[str, ...] | None = None,
    least: int | None = None,
    most: float | None = None,
) -> Any:
    """Make a field from its default, its meaning, its registry or permitted names, and a number's bounds."""
    return field(default=default, metadata={"help": help, "choices": choices, "least": least, "most": most})


_Features = make_dataclass(
    "_Features",
    [(name, each.kind, setting(each.default, each.help)) for name, each in FEATURES.items()],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(_Features):  # type: ignore[misc, valid-type]
    """The settings of a :class:`Learner`, which are also its keyword arguments.

    >>> TrainingSettings(batch_size=32).changed(seed=3).chosen()
    {'batch_size': 32, 'seed': 3}
    """

    batch_size: int = setting(64, "Examples per batch, summed over all processes.", least=1)
    accumulate: int = setting(1, "Batches per gradient step.", least=1)
    clip: float = setting(0.0, "Largest norm of a gradient; 0: no limit.")
    unexplained: Mode = setting(
        "raise",
        "Examples whose answer no symbols explain: stop with an error that names them (raise), or train without "
        "them (drop).",
        ("raise", "drop"),
    )
    evaluate_every: int = setting(1, "Epochs between evaluations on the test set and the validation part.", least=1)
    precision: Precision = setting(
        "32-true", "Precision of training; on a GPU, 32-true uses TF32 for convolutions.", PRECISIONS
    )
    shuffle: bool = setting(True, "Deal the examples in a new random order in every epoch.")
    seed: int = setting(0, "Determines every random draw.")
    restarts: int = setting(0, "Start again after a failed start, at most this many times; keep the best.", least=0)

    def __post_init__(self) -> None:
        check(self)
        if not (isinstance(self.clip, int | float) and 0 <= self.clip < math.inf):
            raise LearnerError.of({"clip": self.clip}, "expected the largest norm of a gradient, or 0 for no limit.")
        terms(self)

    def changed(self, **given: Any) -> TrainingSettings:
        """Return a copy with the ``given`` settings; refuse unknown names."""
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
        """Settings that differ from their defaults."""
        return {f.name: v for f in fields(TrainingSettings) if (v := getattr(self, f.name)) != f.default}

    def described(self) -> Json:
        """Settings that a run folder holds; the precision is in the learner's Fabric."""
        listed = {name: getattr(self, name) for name in LISTED}
        return listed | {name: v for name, v in self.chosen().items() if name not in (*LISTED, "precision")}


def check(options: Any) -> None:
    """Refuse unknown names and numbers out of bounds."""
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
            object.__setattr__(options, name, int(value))  # converts numpy's numbers
