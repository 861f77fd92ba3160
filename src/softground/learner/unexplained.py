"""Examples whose S_y is proved empty: no symbols explain the answer. And what is done about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..retired import MEMBERS
from ..task import Task
from ..training.starts import EMPTY, WAITING, WAITS
from .batches import Batches
from .device import everyone

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")
Mode = Literal["raise", "drop"]
REMEDY = "No symbols explain the answer: S_y is empty. Correct these examples, or leave them out: unexplained='drop'."
NONE_LEFT = (
    "No symbols explain any of the answers, so that nothing is left to train on. Correct the answers or the rule."
)
NAMED = 1000  # positions that a summary lists


def check_mode(mode: Any) -> Mode:
    """What to do about them, if it is one of the two."""
    if mode not in get_args(Mode):
        gone = MEMBERS.get(("unexplained", str(mode)))
        said = f", which is gone. {gone}" if gone else f"; expected one of {', '.join(get_args(Mode))}."
        raise LearnerError(f"unexplained={mode!r} was given{said}")
    return mode  # type: ignore[no-any-return]


class Unexplained:
    """Which examples nothing explains: of those that this process holds by row, of all by where they stand.

    ``"raise"`` stops at the first that are found. ``"drop"`` leaves them out of all batches.
    """

    def __init__(self, task: Task, data: Batches, mode: Mode, fabric: Fabric, alone: bool = True) -> None:
        self.task, self.data, self.mode, self.fabric = task, data, mode, fabric
        self.alone = alone  # or other shapes may have examples left where this one has none
        self.found: list[int] = []
        self.empty = torch.zeros(len(data), dtype=torch.bool, device=data.device)
        self.waits = False  # whether examples of any process have no first state, though they may have one
        self.lost: list[int] = []  # rows of the whole part that nothing explains

    def forget(self) -> None:
        """Begin again with nothing noted."""
        self.found, self.lost, self.waits = [], [], False
        self.empty = torch.zeros_like(self.empty)

    def note(self, state: Mapping[str, Tensor], y: Tensor) -> None:
        """Learn from what a stage remembers which examples have no state (:data:`~softground.training.starts.WAITING`).

        All processes tell each other, and stop together.
        """
        waiting = state.get(WAITING, torch.zeros_like(self.empty))
        self.empty = self.empty | (waiting == EMPTY)
        lost, waits = (rows.nonzero().flatten() for rows in (waiting == EMPTY, waiting == WAITS))
        places, known, error = self.data.at(lost).tolist(), self.data.known, None
        if places and known is not None and bool((known[lost] >= 0).any()):
            error = self.task.contradicted(y[lost], places)
        elif places:
            error = self.task.infeasible(y[lost], places, REMEDY)
            if self.mode != "raise" and isinstance(error, InfeasibleAnswer):
                error = None
        rank, world = self.fabric.global_rank, self.fabric.world_size
        rows = (self.empty.nonzero().flatten() * world + rank).tolist()
        told = everyone(self.fabric, (error, places, self.data.at(waits).tolist(), rows))
        for error, *_ in told:
            if error is not None:
                raise error
        self.found = sorted({*self.found, *(place for _, each, _, _ in told for place in each)})
        self.lost = sorted(row for *_, rows in told for row in rows)
        if self.alone and len(self.lost) == self.data.total:
            raise self.task.infeasible(y[lost], places, NONE_LEFT)
        waiters = sorted(place for _, _, each, _ in told for place in each)
        self.waits = bool(waiters)
        if waiters and self.fabric.is_global_zero:
            shown = f"{', '.join(map(str, waiters[:5]))}{' …' if len(waiters) > 5 else ''}"
            warnings.warn(
                f"No first state was found for {len(waiters)} of {self.data.total} examples ({shown}), though one may "
                "exist. The run goes on without them and asks the network in every epoch; 'unstarted' in the metrics "
                "counts those that still wait.",
                stacklevel=2,
            )

    def trained(self) -> Tensor:
        """The rows that are trained on, of all processes."""
        rows = torch.ones(self.data.total, dtype=torch.bool)
        rows[self.lost] = False
        return rows.nonzero().flatten()

    def counted(self, waiting: Tensor | None) -> dict[str, Tensor]:
        """Figures of an epoch: how many of this process's examples nothing explains, and how many still wait."""
        figures = {"unexplained": self.empty.sum()} if self.found else {}
        if self.waits:
            figures["unstarted"] = (torch.zeros_like(self.empty) if waiting is None else waiting == WAITS).sum()
        return figures


def of_every_shape(work: Mapping[Any, Callable[[], T]]) -> list[T]:
    """What the work of every shape gives; examples that nothing explains are named for all shapes at once."""
    done, lost = [], dict[Any, InfeasibleAnswer]()
    for shape, each in work.items():
        try:
            done.append(each())
        except InfeasibleAnswer as error:
            lost[shape] = error
    if len(lost) > 1:
        words = (f"shape {shape}: {str(error).removesuffix(REMEDY).rstrip(' .')}" for shape, error in lost.items())
        places = sorted(place for error in lost.values() for place in error.examples)
        raise InfeasibleAnswer(f"{'; '.join(words)}. {REMEDY}", tuple(places))
    for alone in lost.values():
        raise alone
    return done


def summed_up(parts: Sequence[Unexplained], history: list[dict[str, Any]]) -> dict[str, Any]:
    """What a run's summary says of them; at most some positions."""
    last: dict[str, Any] = history[-1] if history else {}
    found: dict[str, Any] = {name: last[name] for name in ("unexplained", "unstarted") if name in last}
    if any(part.found for part in parts):
        found["unexplained_examples"] = sorted(place for part in parts for place in part.found)[:NAMED]
    return found
