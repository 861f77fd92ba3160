"""Observers of a run, and problems visible in its records.

An observer is any function of an event's name and its facts:

- ``"begin"``: the ``stages``, the number of ``examples``, the ``epochs`` done before, and the ``choice`` of an inverse,
  in sentences
- ``"batch"``: the ``stage``'s name, its ``epoch`` and the ``step`` in it, counted from 0, and the epoch's ``steps``
- ``"epoch"``: the epoch's record as in ``metrics.jsonl``, where it is saved already: ``stage``, ``epoch``, ``loss``,
  ``feasible``, ``seconds``, the numbers of teacher and terms, and ``test_…`` and ``validation_…`` if it was evaluated
- ``"failed"``: the signs that a start has failed (``failures``), and the ``stages`` of the one that follows
- ``"stage"``: the ``stage``'s name and its ``result``, as in ``results_``
- ``"end"``: the ``verdict`` (:mod:`softground.learner.verdict`), once everything is measured and written

An observer that returns ``True`` for ``"epoch"`` ends the run: remaining epochs and stages are skipped, and results,
summary, report and model cover the completed epochs. With several processes, each calls its own observer, and the
result of process 0 counts.

If chains stand still, the run warns once, and the report shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..files import Json

Observer = Callable[[str, Json], object]
STILL = 2  # epochs in which no chain moved
LEARNT = 0.5  # a larger share of explained training answers shows that the network learns
Records = Sequence[Mapping[str, Any]]


def ends_run(answer: object) -> bool:
    """Whether an observer's answer ends the run: True or numpy's True.

    >>> ends_run(np.float64(0.9) > 0.5), ends_run(None), ends_run([1])
    (True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


def wants_batches(observer: Observer) -> bool:
    """Whether an observer is called after every batch; ``every_batch = False`` switches that off."""
    return bool(getattr(observer, "every_batch", True))


def together(*observers: Observer | None) -> Observer:
    """One observer that calls several, in order; None is left out. It returns True if one of them does.

    >>> together(None, lambda event, facts: None, lambda event, facts: event == "epoch")("epoch", {})
    True
    """

    return _Together([*filter(None, observers)])


class _Together:
    def __init__(self, observers: list[Observer]) -> None:
        self.observers = observers
        self.every_batch = any(map(wants_batches, observers))

    def __call__(self, event: str, facts: Json) -> bool:
        answers = [observer(event, facts) for observer in self.observers]
        return any(map(ends_run, answers))


def learning_problems(history: Records) -> dict[str, str]:
    """Find problems of a run: a sentence for each name.

    >>> moved = {"stage": "I", "acceptance": 0.0, "moved": 0.0, "feasible": 0.1, "gamma": 1.0}
    >>> list(learning_problems([moved] * 2)), list(learning_problems([moved | {"moved": 0.2}] * 8))
    (['still'], [])
    """
    found: dict[str, str] = {}
    history = [r for r in history if isinstance(r.get("feasible"), float)]  # a file may hold anything
    for stage in dict.fromkeys(str(record.get("stage")) for record in history):
        own = [record for record in history if str(record.get("stage")) == stage]
        stands = [r for r in own if r.get("acceptance") == 0 and r.get("moved") == 0 and not r.get("unstarted")]
        walked = [r for r in stands if r["feasible"] < LEARNT]
        if len(walked) >= STILL and walked == own[: len(walked)]:
            found["still"] = (
                f"Chains stand still: no chain has moved in the first {len(walked)} epochs of stage {stage}, and the "
                f"network's readings explain {walked[-1]['feasible']:.0%} of the training answers. Nothing is learnt "
                "so. Leave the kernel to the library (grounding_stages(task)), drop other or more sites, raise γ, or "
                "state the rule so that S_y can be listed, summed or taken part by part."
            )
    return found
