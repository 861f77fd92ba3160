"""Prediction and evaluation: what a model and a learner have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from ..data.examples import Examples, as_tensor
from ..data.known import known_codes
from ..errors import LearnerError
from ..task import Task
from .batches import Batches
from .evaluation import beliefs, evaluate, predictions
from .prediction import BUDGET, most_probable


class Reader:
    """Predicts symbols with a network. Its methods may be called in several threads at once.

    They never change the network: if it is in training mode or on another device, a copy is used.
    """

    network: nn.Module  # from a batch of inputs to what the space reads, trained or not
    space: Any  # the symbol vectors
    task: Task | None  # the rule; where it is not known, nothing can be constrained or evaluated
    device: torch.device  # where to compute
    workers: int = 0  # processes that read a data set which is not tensors; 0 reads it in this one

    def predict(
        self,
        x: Any,
        y: Sequence[Any] | None = None,
        *,
        known: Any = None,
        constrained: bool = False,
        budget: int = BUDGET,
    ) -> list[tuple[Any, ...]]:
        """The most probable symbols of each input.

        With answers ``y``, the most probable z ∈ S_y; with ``constrained=True``, the most probable z that has any
        answer at all (a valid board, a formula without division by zero). Where there is no table of solutions, at most
        ``budget`` states of an input are tried, the likeliest first. ``known`` symbols stay as they are; they are given
        as in :class:`~softground.data.Examples`.
        """
        codes = self.predict_codes(x, y, known=known, constrained=constrained, budget=budget)
        symbols: list[tuple[Any, ...]] = self.space.decode(codes)
        return symbols

    def predict_codes(
        self,
        x: Any,
        y: Sequence[Any] | None = None,
        *,
        known: Any = None,
        constrained: bool = False,
        budget: int = BUDGET,
    ) -> Tensor:
        """:meth:`predict`, as codes ``[inputs, sites]``."""
        inputs = self._inputs(x)
        codes = None if known is None else known_codes(known, self.space, len(inputs)).to(self.device)
        if y is None and not constrained:
            return predictions(self.space, self.network, inputs, codes)
        task = self._rule("A constrained prediction")
        encoded = None if y is None else task.constraint.encode(list(y)).to(self.device)
        if encoded is not None and len(encoded) != len(inputs):
            raise LearnerError(f"{len(inputs)} inputs but {len(encoded)} answers: give one answer per input.")
        with torch.no_grad():
            return torch.cat(
                [
                    most_probable(task, belief, None if encoded is None else encoded[index], index, budget)
                    for index, belief in beliefs(self.space, self.network, inputs, codes)
                ]
            )

    def predict_proba(self, x: Any) -> npt.NDArray[Any]:
        """P(z|x) site by site, ``[inputs, sites, K]``, in the order of each site's alphabet.

        K is the size of the largest alphabet; beyond a smaller one's end are zeros. Where all symbols can be read, the
        others follow each site's own. For reals the means ``[inputs, sites]``.
        """
        read = [belief.marginals() for _, belief in beliefs(self.space, self.network, self._inputs(x))]
        return torch.cat(read).cpu().numpy()

    def predict_answers(self, x: Any) -> list[Any]:
        """The answers that the predicted symbols have; None where they have none. For rules that compute answers."""
        return self._rule("An answer").compute(self.predict_codes(x))

    def evaluate(self, data: Dataset[Any]) -> dict[str, Any]:
        """The task's metrics on pairs (x, y)."""
        task, batches = self._rule("An evaluation"), self._batches(data)
        batches.check(self.space)
        return evaluate(task, self.network, batches, task.constraint.encode(batches.answers).to(self.device))

    def grounded(self, data: Dataset[Any]) -> int:
        """How many examples the network's own prediction explains, ẑ ∈ S_y: the paper's count of grounded examples."""
        task, batches = self._rule("Counting right answers"), self._batches(data)
        y = task.constraint.encode(batches.answers).to(self.device)
        return int(task.feasible(predictions(self.space, self.network, batches), y).sum())

    def _rule(self, what: str) -> Task:
        if self.task is None:
            raise LearnerError(
                f"{what} needs the rule, which could not be saved with this model: it is not a table, a listing or a "
                "scan. Give it back: softground.load(path, task=…)."
            )
        return self.task

    def _batches(self, data: Dataset[Any]) -> Batches:
        return Batches(data, self.device, self.workers)

    def _inputs(self, x: Any) -> Batches:
        x = x.x if isinstance(x, Examples) else as_tensor(x) if isinstance(x, np.ndarray) else x
        if not hasattr(x, "__len__"):
            raise LearnerError(f"A {type(x).__name__} was given to predict; expected a tensor or sequence of inputs.")
        return self._batches(Examples(x, [0] * len(x)))
