"""The optimiser of the published baselines: Adam at 5e-4 (Appendix B.3)."""

from collections.abc import Mapping
from typing import Any

ADAM: dict[str, Any] = {"optimizer": "adam", "learning_rate": 5e-4, "one_cycle": False}


def policy(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of RL and MAPO. On shortest paths the authors' policies draw with a standard deviation of 1."""
    return ADAM | ({"sigma": 1.0} if "sigma" in preset else {})
