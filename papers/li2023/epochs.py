"""The last and the best of the epochs that were evaluated on test data, stage by stage.

The best epoch is chosen on test data, so that its figure is no result: it says what one gets who prints the test
accuracy of every epoch, as the authors' scripts do, and reports the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        stage: {"epochs": len(each), "last": each[-1], "best": max(each, key=lambda figures: figures["accuracy"])}
        for stage, each in found.items()
        if len(each) > 1
    }


__all__ = ["evaluated"]
