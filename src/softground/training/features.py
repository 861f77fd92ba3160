"""Settings of training with their terms: each has an option, a recipe field and an argument of ``Learner``.

A new one is a file with a :class:`~softground.training.Term` and an entry here. The command line, recipes and learners
take name, type, default and help from the entry. The term's file is imported when the setting is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal


@dataclass(frozen=True)
class Feature:
    """A setting: at its ``default`` nothing is done, any other value makes ``term`` (a module and a class) of it."""

    kind: Any
    default: Any
    help: str
    term: str


FEATURES: dict[str, Feature] = {
    "noise": Feature(
        float | Literal["learn"],
        0.0,
        "ε, the share of wrong answers, or learn: down-weight examples whose answer is probably wrong.",
        "softground.training.noise:Noise",
    )
}


def terms(settings: object) -> list[Any]:
    """The terms of settings that are not at their defaults."""
    found = []
    for name, feature in FEATURES.items():
        if (value := getattr(settings, name)) != feature.default:
            module, _, kind = feature.term.partition(":")
            found.append(getattr(import_module(module), kind)(value))
    return found
