"""The last and the best of the epochs that were evaluated on test data, stage by stage.

The best epoch is chosen on test data, so that its figure is no result: it says what one gets who prints the test
accuracy of every epoch, as the authors' scripts do, and reports the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .summary import Figure, Record, Results

LAST, BEST = "last", "best"
JUDGED = ("test_board_accuracy", "test_calculation_accuracy")


def evaluated(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of each stage with several evaluated epochs: how many, the last and the best (the earliest of equals).

    >>> evaluated([{"stage": "I", "epoch": e, "test_board_accuracy": a} for e, a in enumerate([0.1, 0.9, 0.5])])
    {'I': {'epochs': 3, 'last': {'epoch': 3, 'accuracy': 0.5}, 'best': {'epoch': 2, 'accuracy': 0.9}}}
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for record in history:
        for name in JUDGED:
            if record.get(name) is not None:
                figures = {"epoch": record["epoch"] + 1, "accuracy": record[name]}
                found.setdefault(record["stage"], []).append(figures)
    return {
        stage: {"epochs": len(each), LAST: each[-1], BEST: max(each, key=lambda figures: figures["accuracy"])}
        for stage, each in found.items()
        if len(each) > 1
    }


def epoch_figure(results: Results, family: str, stage: str, which: str) -> Figure | None:
    """The test accuracy of a stage's last or best evaluated epoch, in per cent."""

    def read(record: Record) -> float | None:
        found = record.get("evaluated", {}).get(stage) or _of_curves(record.get("curves", {}), stage)
        return None if not found else 100 * float(found[which]["accuracy"])

    return results.over(family, read)


def _of_curves(curves: dict[str, list[Any]], stage: str) -> dict[str, Any]:
    """The same of a record that has the figures of every epoch."""
    for name in (name for name in JUDGED if name in curves):
        found = [a for a, of in zip(curves[name], curves["stage"], strict=True) if of == stage]
        if found := [accuracy for accuracy in found if accuracy is not None]:
            return {LAST: {"accuracy": found[-1]}, BEST: {"accuracy": max(found)}}
    return {}


__all__ = ["BEST", "LAST", "epoch_figure", "evaluated"]
