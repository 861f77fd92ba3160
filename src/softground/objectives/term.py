r"""Terms: what a stage adds to the loss of its objective, whatever that is.

.. math:: \ell(\theta) = \ell_{\text{objective}}(\theta) + \sum_j \ell_j(\theta)

A term sees the batch that the objective sees: :math:`P(z|x)` given the known symbols, and the answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..task import Task
from .base import Batch, Outcome


class Term(ABC):
    """A further loss. It remembers nothing of the examples."""

    def begin(self, task: Task) -> None:  # noqa: B027
        """Prepare for a task's training set."""

    def number(self, share: float) -> float | None:
        """The number from Python that :meth:`loss` depends on after this ``share``, such as a weight.

        None, unless the loss asks the device for no value, so that a GPU can record it.
        """
        return None

    @abstractmethod
    def loss(self, task: Task, batch: Batch, share: float) -> Outcome:
        """The loss of a batch, after the ``share`` 0 … 1 of the stage."""
