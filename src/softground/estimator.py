"""scikit-learn manners: ``SoftGrounder(rule).fit(X, y).predict(X)``.

The same learner as :class:`~softground.learner.Learner`, with what it needs besides the rule chosen from the inputs.
scikit-learn itself is not imported; its ``clone``, ``Pipeline``, ``cross_val_score`` and ``GridSearchCV`` find what
they ask of an estimator: ``get_params``, ``set_params``, ``fit``, ``predict`` and ``score``.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .constraints import Program
from .constraints.base import Constraint
from .data.examples import Examples
from .errors import DataError, LearnerError
from .learner import Learner, Stage, grounding_stages, one_cycle
from .learner.loop import Augment
from .networks import default_network
from .seeds import stream
from .spaces.categorical import Categorical
from .task import Task

Rule = Constraint | Task | Callable[..., Any]
MakeNetwork = Callable[[Tensor, Categorical], nn.Module]


class SoftGrounder:
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
    epochs, learning_rate, batch_size, augment, seed, device
        See :class:`~softground.learner.Learner`.
    site_shape
        The shape of one site's input, where X is flat as scikit-learn's tools want it: X of ``[n, sites · 64]`` is read
        as ``[n, sites, 1, 8, 8]`` with ``site_shape=(1, 8, 8)``.

    Attributes
    ----------
    task_, network_, learner_
        What was trained on, what was trained, and the learner, with its ``history_``.

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
        augment: Augment | None = None,
        site_shape: Sequence[int] | None = None,
        seed: int = 0,
        device: Literal["auto", "cpu", "cuda"] = "auto",
    ) -> None:
        # Nothing is checked or copied here: scikit-learn's clone compares what was given with what was kept.
        self.rule = rule
        self.alphabets = alphabets
        self.network = network
        self.stages = stages
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.augment = augment
        self.site_shape = site_shape
        self.seed = seed
        self.device: Literal["auto", "cpu", "cuda"] = device

    def fit(self, X: Any, y: Sequence[Any]) -> SoftGrounder:
        """Train on inputs and their answers: ints, fractions, strings or tuples of these."""
        self.task_ = self._task()
        x, answers = self._inputs(X), list(y)
        torch.manual_seed(stream(self.seed, "weights"))
        self.network_ = self._network(x)
        stages = self._stages() if self.stages is None else self.stages(self.task_)
        self.learner_ = Learner(
            self.task_,
            self.network_,
            stages,
            batch_size=self.batch_size,
            seed=self.seed,
            augment=self.augment,
            device=self.device,
        ).fit(Examples(x, answers))
        return self

    def predict(self, X: Any, y: Sequence[Any] | None = None) -> npt.NDArray[Any]:
        """The most probable symbols, ``[n, sites]``; among those that give the answers ``y``, where these are known."""
        symbols = self._fitted().predict(self._inputs(X), y)
        whole = all(type(s) is int for alphabet in self.task_.space.alphabets for s in alphabet)
        table = np.empty((len(symbols), self.task_.space.sites), dtype=np.int64 if whole else object)
        for row, state in enumerate(symbols):
            table[row] = state
        return table

    def predict_answers(self, X: Any) -> list[Any]:
        """The answers that the predicted symbols have; None where they have none. For rules that compute answers."""
        codes = self._fitted().predict_codes(self._inputs(X))
        return self.task_.constraint.compute(codes)

    def score(self, X: Any, y: Sequence[Any]) -> float:
        """The share of inputs whose predicted symbols have the right answer."""
        learner = self._fitted()
        return learner.grounded(Examples(self._inputs(X), list(y))) / len(y)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the estimator was made with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> SoftGrounder:
        """Change what the estimator was made with; takes effect at the next fit."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise LearnerError(f"SoftGrounder has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not usual[name]]
        return f"SoftGrounder({', '.join(given)})"

    def __sklearn_clone__(self) -> SoftGrounder:
        """Clones share the rule, whose tables are worth keeping, and the untrained network, which fit copies."""
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def __sklearn_tags__(self) -> Any:
        """Only scikit-learn calls this, so it is there to be imported."""
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=True, three_d_array=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def _task(self) -> Task:
        if isinstance(self.rule, Task):
            return self.rule
        space = getattr(self.rule, "space", None)
        if isinstance(space, Categorical):
            return Task(space, self.rule)  # type: ignore[arg-type]
        if not callable(self.rule) or self.alphabets is None:
            raise LearnerError(
                f"rule={self.rule!r} and alphabets={self.alphabets!r} were given; expected a Program, Scan, SMT or "
                "Task, or a function from symbols to their answer together with alphabets, such as [range(10)] * 3."
            )
        space = Categorical(self.alphabets)
        return Task(space, Program(self.rule, space))

    def _inputs(self, X: Any) -> Tensor:
        try:
            x = torch.as_tensor(X if isinstance(X, Tensor) else np.asarray(X))
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(
                f"X is a {type(X).__name__} that does not make one tensor ({error}). Give an array of numbers, all "
                "rows of one shape; turn text into numbers first."
            ) from error
        x = x.float() if x.dtype in (torch.float64, torch.float16) else x
        if self.site_shape is not None and x.dim() == 2:
            shape = (self.task_.space.sites, *self.site_shape)
            if x.shape[1] != math.prod(shape):
                raise DataError(
                    f"Rows of X have {x.shape[1]} numbers; {shape[0]} sites of shape {tuple(self.site_shape)} have "
                    f"{math.prod(shape)}. Correct site_shape or X."
                )
            x = x.reshape(-1, *shape)
        return x

    def _network(self, x: Tensor) -> nn.Module:
        if isinstance(self.network, nn.Module):
            return copy.deepcopy(self.network)
        return (self.network or default_network)(x, self.task_.space)

    def _stages(self) -> list[Stage]:
        stage = grounding_stages(self.task_, epochs=self.epochs)[0]
        rate = self.learning_rate
        return [Stage("I", stage.objective, self.epochs, lambda p: torch.optim.AdamW(p, lr=rate), one_cycle())]

    def _fitted(self) -> Learner:
        if not hasattr(self, "learner_"):
            raise LearnerError("This SoftGrounder has not been trained; call fit(X, y) first.")
        return self.learner_


__all__ = ["SoftGrounder"]
