"""Examples whose S_y is proved empty: no symbols explain the answer. And what is done about them."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal, get_args

from torch import Tensor

from ..errors import DataError, InfeasibleAnswer, LearnerError
from ..objectives.base import Batch
from ..objectives.starts import EMPTY, WAITING, WAITS
from ..task import Task

Mode = Literal["raise", "drop", "weigh"]
REMEDY = (
    "No symbols explain the answer: S_y is empty. Correct these examples, or train without them: unexplained='drop' "
    "(--unexplained drop)."
)

NAMED = 1000  # positions that a summary lists


class Unexplained:
    """Which of ``count`` examples nothing explains.

    ``"raise"`` stops at the first that are found. ``"drop"`` leaves them out of all batches. ``"weigh"`` gives each the
    weight that is the probability that its answer is meant, and that is 0: the network goes on seeing the inputs, and
    they count in the figures, but no loss is taken from them.
    """

    def __init__(self, task: Task, count: int, mode: Mode, known: Tensor | None = None) -> None:
        if mode not in get_args(Mode):
            raise LearnerError(f"unexplained={mode!r} was given; expected one of {', '.join(get_args(Mode))}.")
        self.task, self.count, self.mode, self.known = task, count, mode, known
        self.empty: Tensor | None = None  # [examples] bool, once some are known
        self.waited = False  # whether some example had no first state, though it may have one

    def note(self, state: Mapping[str, Tensor], y: Tensor) -> None:
        """Learn from an objective's state which examples have none (:data:`~softground.objectives.starts.WAITING`)."""
        if (waiting := state.get(WAITING)) is None:
            return
        empty, waits = waiting == EMPTY, (waiting == WAITS).nonzero().flatten().tolist()
        if bool(empty.any()):
            lost = empty.nonzero().flatten().tolist()
            if self.known is not None and bool((self.known[lost] >= 0).any()):
                raise self.task.contradicted(y[lost], lost)
            error = self.task.infeasible(y[lost], lost, REMEDY)
            if self.mode == "raise" or len(lost) == self.count or not isinstance(error, InfeasibleAnswer):
                raise error
            self.empty = empty if self.empty is None else self.empty | empty
        if waits:
            self.waited = True
            shown = f"{', '.join(map(str, waits[:5]))}{' …' if len(waits) > 5 else ''}"
            warnings.warn(
                f"No first state was found for {len(waits)} of {self.count} examples ({shown}), though one may exist. "
                "The run goes on without them and asks the network in every epoch; 'unstarted' in the metrics counts "
                "those that still wait.",
                stacklevel=2,
            )

    def trained(self, own: Tensor, world: int) -> tuple[Tensor, int]:
        """The examples that a process trains on, of its ``own``; and the most that any process trains on."""
        if self.empty is None or self.mode != "drop":
            return own, -(-self.count // world)
        kept = ~self.empty.cpu()
        each = [int(kept[rank::world].sum()) for rank in range(world)]
        if not min(each):
            raise DataError(f"Once examples that nothing explains are left out, some of {world} processes have none.")
        return own[kept[own]], max(each)

    def weighed(self, batch: Batch) -> Batch:
        """The examples of a batch whose answers may be meant."""
        if self.empty is None:
            return batch
        return batch.rows((~self.empty[batch.index]).nonzero().flatten())

    def summed_up(self, history: list[dict[str, Any]]) -> dict[str, Any]:
        """What a run's summary says of them; at most some positions."""
        last: dict[str, Any] = history[-1] if history else {}
        found: dict[str, Any] = {name: last[name] for name in ("unexplained", "unstarted") if name in last}
        if self.empty is not None:
            found["unexplained_examples"] = self.empty.nonzero().flatten().tolist()[:NAMED]
        return found

    def counted(self, waiting: Tensor | None, own: Tensor) -> dict[str, Tensor]:
        """Figures of an epoch: how many of a process's ``own`` examples nothing explains, and how many still wait."""
        figures = {} if self.empty is None else {"unexplained": self.empty[own].sum()}
        if waiting is not None and self.waited:
            figures["unstarted"] = (waiting[own] == WAITS).sum()
        return figures
