"""scikit-learn manners: ``SoftGrounder(rule).fit(X, y).predict(X)``.

The same learner as :class:`~softground.learner.Learner`, with what it needs besides the rule chosen from the inputs.
scikit-learn itself is not imported; its ``clone``, ``Pipeline``, ``cross_val_score`` and ``GridSearchCV`` find what
they ask of an estimator, here and in :mod:`softground.manners`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .constraints import Program
from .constraints.base import Constraint
from .data.anchors import Anchors
from .data.examples import Examples, as_tensor
from .errors import DataError, LearnerError
from .learner import Learner, Stage, grounding_stages
from .learner.loop import Augment
from .learner.noise import Level
from .learner.unexplained import Mode
from .manners import Manners
from .model import load
from .networks import default_network
from .seeds import seeded, stream
from .spaces.categorical import Categorical
from .task import Task

Rule = Constraint | Task | Callable[..., Any]
MakeNetwork = Callable[[Tensor, Categorical], nn.Module]
PLAIN = ("epochs", "learning_rate", "batch_size", "unexplained", "site_shape", "noise", "seed")
"""Parameters that a saved estimator keeps."""


class SoftGrounder(Manners):
    """Recognise symbols in X from answers y and a rule that ties them together.

    Parameters
    ----------
    rule
        A :class:`~softground.Program`, :class:`~softground.Scan`, :class:`~softground.SMT` or
        :class:`~softground.Task`; or a plain Python function from symbols to their answer, with ``alphabets``.
    alphabets
        What each site may show, where ``rule`` is a plain function: ``[range(10)] * 3`` for three digits.
    network
        A module, or a function ``network(x, space)`` that makes one; by default
        :func:`~softground.networks.default_network`. A module is copied: every fit begins with the weights given.
    stages
        ``stages(task)`` gives the stages of training; by default ``epochs`` of the kernel that fits the rule, at γ = 1.
    epochs, learning_rate, batch_size, unexplained, augment, noise, seed, device
        See :class:`~softground.learner.Learner`.
    site_shape
        The shape of one site's input, where X is flat as scikit-learn's tools want it: X of ``[n, sites · 64]`` is read
        as ``[n, sites, 1, 8, 8]`` with ``site_shape=(1, 8, 8)``.
    verbose
        Show progress, where stderr is a terminal.

    Attributes
    ----------
    task_, network_, learner_, model_
        What was trained on, what was trained, the learner with its ``history_``, and what predicts.

    >>> pairs = torch.randint(10, (400, 2), generator=torch.Generator().manual_seed(0))
    >>> model = SoftGrounder(lambda a, b: 10 * a + b, [range(10)] * 2, epochs=8)
    >>> x = torch.eye(10)[pairs]  # what stands for images here
    >>> model = model.fit(x, [10 * a + b for a, b in pairs.tolist()])
    >>> pairs[:2].tolist(), model.predict(x[:2]).tolist(), model.predict_answers(x[:2])
    ([[4, 9], [3, 0]], [[4, 9], [3, 0]], [49, 30])
    """

    def __init__(
        self,
        rule: Rule | None = None,
        alphabets: Sequence[Sequence[Hashable]] | None = None,
        network: nn.Module | MakeNetwork | None = None,
        *,
        stages: Callable[[Task], list[Stage]] | None = None,
        epochs: int = 20,
        learning_rate: float = 3e-3,
        batch_size: int = 64,
        unexplained: Mode = "raise",
        augment: Augment | None = None,
        site_shape: Sequence[int] | None = None,
        noise: Level = 0.0,
        seed: int = 0,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        verbose: bool = False,
    ) -> None:
        # Nothing is checked or copied here: scikit-learn's clone compares what was given with what was kept.
        self.rule, self.alphabets, self.network, self.stages = rule, alphabets, network, stages
        self.epochs, self.learning_rate, self.batch_size = epochs, learning_rate, batch_size
        self.augment, self.site_shape, self.noise, self.seed = augment, site_shape, noise, seed
        self.unexplained: Mode = unexplained
        self.device: Literal["auto", "cpu", "cuda"] = device
        self.verbose = verbose

    def fit(self, X: Any, y: Sequence[Any], *, known: Any = None, anchors: Anchors | None = None) -> SoftGrounder:
        """Train on inputs and their answers: ints, fractions, strings or tuples of these.

        ``known`` symbols are given as in :class:`~softground.Examples`; see :class:`~softground.Anchors` for labelled
        inputs of single symbols.
        """
        task = self._task()
        self.task_: Task | None = task
        x, answers = self._inputs(X, task.space), list(y)
        with seeded(stream(self.seed, "weights")):
            self.network_ = self._network(x, task)
        stages = self._stages(task) if self.stages is None else self.stages(task)
        given = {
            name: getattr(self, name) for name in ("batch_size", "unexplained", "seed", "augment", "noise", "device")
        }
        self.learner_ = Learner(task, self.network_, stages, **given)
        self.learner_.fit(Examples(x, answers, known=known), anchors=anchors, quiet=not self.verbose)
        self.model_ = self.learner_.model
        return self

    def predict(self, X: Any, y: Sequence[Any] | None = None, *, known: Any = None) -> npt.NDArray[Any]:
        """The most probable symbols, ``[n, sites]``; among those that give the answers ``y``, where these are known."""
        symbols, space = self._fitted().predict(self._inputs(X), y, known=known), self.model_.space
        whole = all(type(s) is int for alphabet in space.alphabets for s in alphabet)
        table = np.empty((len(symbols), space.sites), dtype=np.int64 if whole else object)
        for row, state in enumerate(symbols):
            table[row] = state
        return table

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """P(z|x) site by site, ``[n, sites, K]``, in the order of each site's alphabet; see ``Model.predict_proba``."""
        return self._fitted().predict_proba(self._inputs(X))

    def predict_answers(self, X: Any) -> list[Any]:
        """The answers that the predicted symbols have; None where they have none. For rules that compute answers."""
        return self._fitted().predict_answers(self._inputs(X))

    def score(self, X: Any, y: Sequence[Any]) -> float:
        """The share of inputs whose predicted symbols have the right answer."""
        return self._fitted().grounded(Examples(self._inputs(X), list(y))) / len(y)

    def save(self, path: Path | str) -> None:
        """Write the fitted estimator, without its training data, into a folder; see :func:`softground.load`."""
        replace(self._fitted(), extra={name: getattr(self, name) for name in PLAIN}).save(path)

    @classmethod
    def load(cls, path: Path | str, **given: Any) -> SoftGrounder:
        """A fitted estimator from a folder; ``given`` is passed to :func:`softground.load`. A fit would train it on."""
        model = load(path, **given)
        plain = {name: value for name, value in model.extra.items() if name in PLAIN}
        loaded = cls(model.task, None, model.network, **plain)
        loaded.model_, loaded.network_, loaded.task_ = model, model.network, model.task
        return loaded

    def _task(self) -> Task:
        if isinstance(self.rule, Task):
            return self.rule
        if (space := getattr(self.rule, "space", None)) is not None:
            return Task(space, self.rule)  # type: ignore[arg-type]
        if not callable(self.rule) or self.alphabets is None:
            raise LearnerError(
                f"rule={self.rule!r} and alphabets={self.alphabets!r} were given; expected a Program, Scan, SMT or "
                "Task, or a function from symbols to their answer together with alphabets, such as [range(10)] * 3."
            )
        space = Categorical(self.alphabets)
        return Task(space, Program(self.rule, space))

    def _inputs(self, X: Any, space: Categorical | None = None) -> Tensor:
        x = as_tensor(X)
        x = x.float() if x.is_floating_point() else x
        if self.site_shape is not None and x.dim() == 2:
            shape = ((space or self.model_.space).sites, *self.site_shape)
            if x.shape[1] != math.prod(shape):
                raise DataError(
                    f"Rows of X have {x.shape[1]} numbers; {shape[0]} sites of shape {tuple(self.site_shape)} have "
                    f"{math.prod(shape)}. Correct site_shape or X."
                )
            x = x.reshape(-1, *shape)
        return x

    def _network(self, x: Tensor, task: Task) -> nn.Module:
        if isinstance(self.network, nn.Module):
            return copy.deepcopy(self.network)
        return (self.network or default_network)(x, task.space)

    def _stages(self, task: Task) -> list[Stage]:
        (stage,) = grounding_stages(task, epochs=self.epochs)
        return [replace(stage, optimizer=lambda p: torch.optim.AdamW(p, lr=self.learning_rate))]
