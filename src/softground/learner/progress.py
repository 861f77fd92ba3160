"""How far a run has come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from ..runs.digests import history_digest
from .signs import LEARNT
from .stage import Stage


@dataclass
class Progress:
    """Where a run is, and what it has found so far."""

    stage: int = 0
    epoch: int = 0  # how many of the stage's epochs are done
    history: list[dict[str, Any]] = field(default_factory=list)  # one record per epoch
    digest: str = ""  # of the history
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # test figures after each stage
    best: dict[str, Tensor] = field(default_factory=dict)  # the stage's best network so far, where it is to be kept
    best_score: float = -math.inf
    following: int | None = None  # the stage to go on with, once this one has ended
    seconds: float = 0.0  # wall-clock time before the last interruption

    def begin_stage(self, number: int) -> None:
        """Nothing of this stage is done yet."""
        self.stage, self.epoch, self.best, self.best_score, self.following = number, 0, {}, -math.inf, None

    def add(self, record: dict[str, Any]) -> None:
        """Another epoch is done."""
        self.history.append(record)
        self.digest = history_digest(self.digest, record)
        self.epoch += 1

    def waited(self, stage: Stage) -> int:
        """Epochs in which a stage's schedule has stood still, the one that comes now included; see ``Stage.wait``."""
        if not stage.wait or not self.history or self.history[-1]["stage"] != stage.name:
            return 0
        last = self.history[-1]
        waited: int = last["waited"]
        stands = last["epoch"] - waited == stage.epochs // 5 and last["feasible"] < LEARNT
        return waited + (stands and waited < stage.wait)

    def note(self, network: nn.Module, score: float) -> None:
        """Keep a copy of the network if it is the best so far."""
        if score > self.best_score:
            self.best_score = score
            self.best = {name: value.detach().clone() for name, value in network.state_dict().items()}

    def stale(self, record: Mapping[str, Any], patience: int) -> bool:
        """Whether this epoch is the ``patience``-th of its stage, or a later one, without a better validation figure.

        An epoch without evaluation ends nothing.
        """
        scores = {r["epoch"]: validation_figure(r) for r in [*self.history, record] if r["stage"] == record["stage"]}
        known = {epoch: score for epoch, score in scores.items() if score is not None}
        return record["epoch"] in known and record["epoch"] - max(known, key=known.__getitem__) >= patience


def validation_figure(record: Mapping[str, Any]) -> float | None:
    """An epoch's figure on the validation part: the first of the task's metrics, of which more is better."""
    return next((value for name, value in record.items() if name.startswith("validation_")), None)
