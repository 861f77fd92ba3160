"""SSL and NA: Stage I at a temperature that does not fall.

SSL stays at γ = 1, where the objective's gradient is the semantic loss's, or at the γ that is given. Like the other
published baselines it descends by Adam. NA, no annealing, stays at γ = 0.001.
"""

from collections.abc import Mapping
from typing import Any

from softground.errors import LearnerError
from softground.experiments.recipe import IMPLIED
from softground.training import OBJECTIVES, SoftenedGrounding

from .adam import ADAM


def ssl(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of SSL."""
    return ADAM | _constant("ssl", given.get("gamma", 1.0), given)


def na(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of NA."""
    return _constant("na", 0.001, given)


def _constant(name: str, gamma: float, given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("schedule", "constant") != "constant":
        raise LearnerError.of(
            {"schedule": given["schedule"]},
            f", but the objective {name} holds γ at {gamma:g}. Leave the schedule out, or use the objective grounding.",
        )
    return {"schedule": "constant", "gamma": gamma}


for name, implied in (("ssl", ssl), ("na", na)):
    OBJECTIVES.register(name)(SoftenedGrounding)
    IMPLIED[name] = implied
