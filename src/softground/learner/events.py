"""What an observer of a run is told.

An observer is any function of an event's name and its facts:

- ``"begin"``: the ``stages``, the number of ``examples``, the ``epochs`` done before, and the ``choice`` of an inverse,
  in sentences
- ``"batch"``: the ``stage``'s name, its ``epoch`` and the ``step`` in it, counted from 0, and the epoch's ``steps``
- ``"epoch"``: the epoch's record as in ``metrics.jsonl``, where it is saved already: ``stage``, ``epoch``, ``loss``,
  ``feasible``, ``seconds``, what the objective tells, and ``test_…`` and ``validation_…`` where the epoch was evaluated
- ``"stage"``: the ``stage``'s name and its ``result``, as in ``results_``

An observer that answers ``True`` to ``"epoch"`` ends the run: what is left of the stage and the stages after it are not
trained, and results, summary, report and model are those of the epochs done. Where several processes train, each calls
the observer that it was given, and the answer of process 0 counts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Observer = Callable[[str, dict[str, Any]], object]


def ends(answer: object) -> bool:
    """Whether an observer's answer ends the run: True, or numpy's, as its comparisons give.

    >>> ends(np.float64(0.9) > 0.5), ends(None), ends([1])
    (True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


def wants_batches(observer: Observer) -> bool:
    """Whether an observer is told of batches: not if it says that it looks at epochs alone."""
    return bool(getattr(observer, "every_batch", True))


def together(*observers: Observer | None) -> Observer:
    """One observer that tells several, in order; those that are None are left out. It answers True if one of them does.

    >>> together(None, lambda event, facts: None, lambda event, facts: event == "epoch")("epoch", {})
    True
    """

    return _Together([*filter(None, observers)])


class _Together:
    def __init__(self, observers: list[Observer]) -> None:
        self.observers = observers
        self.every_batch = any(map(wants_batches, observers))

    def __call__(self, event: str, facts: dict[str, Any]) -> bool:
        answers = [observer(event, facts) for observer in self.observers]
        return any(map(ends, answers))
