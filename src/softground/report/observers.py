"""What observers of the training loop share."""

from __future__ import annotations

from typing import Any

from ..learner.loop import Observer


def together(*observers: Observer | None) -> Observer:
    """One observer that tells several, in order; those that are None are left out."""
    present = [observer for observer in observers if observer is not None]

    def tell(event: str, facts: dict[str, Any]) -> None:
        for observer in present:
            observer(event, facts)

    return tell


def epochs_done(facts: dict[str, Any]) -> int:
    """Epochs that were done, through all stages, when the loop said ``"begin"``: 0 unless it resumes."""
    at_stage, at_epoch = facts["done"]
    return int(sum(stage.epochs for stage in facts["stages"][:at_stage]) + at_epoch)


__all__ = ["epochs_done", "together"]
