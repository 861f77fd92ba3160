"""What the presets of all tasks share. The defaults are the paper's; a task's own file says where it departs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

ScheduleName = Literal["exp", "log", "linear", "constant"]


@dataclass(frozen=True, kw_only=True)
class Common:
    """Hyper-parameters of both stages; ``warmup`` epochs of uniform sampling (γ = ∞) are part of a run's epochs.

    The paper, Appendix B.3: SGD 0.1 and T = 10, then Adam 1e-3 for 30 epochs. Its 1,000 epochs count every walk over
    the data as one: with T = 10 they are 100 that update the network, after 10 of uniform sampling. The authors' code
    cools by 0.95 a pass.
    """

    steps: int = 10  # T, kernel steps per gradient step
    schedule: ScheduleName = "exp"
    gamma: float = 1.0  # γ₀
    floor: float = 0.02  # where γ stops falling
    warmup: int = 10
    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 0.1
    one_cycle: bool = False
    zero_epochs: int = 30  # Stage II


# What we recommend wherever Q* is known without sampling: its marginals at γ = 1 (the semantic loss's gradient), no
# annealing, no second stage; and an optimiser that is quicker.
EXACT: dict[str, Any] = {
    "steps": 1,
    "schedule": "constant",
    "floor": 0.0,
    "warmup": 0,
    "optimizer": "adamw",
    "one_cycle": True,
    "zero_epochs": 0,
}

__all__ = ["EXACT", "Common", "ScheduleName"]
