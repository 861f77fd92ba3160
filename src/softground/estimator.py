"""A scikit-learn estimator: ``SoftGrounder(rule).fit(X, y).predict(X)``.

It wraps a :class:`~softground.learner.Learner` and chooses everything except the rule from the inputs. Fitting adds a
``model_``. Copies keep the model and the learner's history, but cannot train further.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor, nn

from .constraints import Program
from .constraints.base import Constraint
from .data.anchors import Anchors
from .data.columns import answers_of, listed
from .data.examples import Examples, Ragged, as_tensor, different, held_out
from .dice import seeded, stream
from .errors import DataError, LearnerError
from .files import Json
from .learner import Learner, Stage, grounding_stages
from .learner.datasets import data_with_tasks
from .learner.plan import Augment
from .learner.settings import Mode
from .model import Model, load
from .networks import Ensemble, default_network
from .spaces.categorical import Categorical
from .task import Family, Task, as_task
from .training import Batch, Term
from .training.noise import Level

Rule = Constraint | Task | Family | Callable[..., Any]
Alphabets = Sequence[Sequence[Hashable]]
MakeNetwork = Callable[[Tensor, Categorical], nn.Module]
PLAIN: tuple[str, ...] = ("epochs", "learning_rate", "batch_size", "unexplained", "site_shape", "noise", "seed")
PLAIN += ("predicts", "scaled", "restarts")
"""Parameters saved with an estimator."""
PASSED_ON = ("batch_size", "unexplained", "seed", "augment", "noise", "device")


def as_array(symbols: Sequence[tuple[Any, ...]], space: Any) -> npt.NDArray[Any]:
    """Convert predictions to an array ``[n, sites]`` of whole numbers, reals or objects."""
    kind: Any = object if space.categorical or hasattr(space, "symbols") else np.float64
    if space.categorical and all(type(s) is int for alphabet in space.alphabets for s in alphabet):
        kind = np.int64
    table = np.empty((len(symbols), space.sites), dtype=kind)
    for row, state in enumerate(symbols):
        table[row] = state
    return table


def as_answers(answers: list[Any]) -> npt.NDArray[Any]:
    """Convert answers to an array of whole numbers, of texts or, if they are mixed, of objects."""
    if len({type(answer) for answer in answers}) == 1 and isinstance(answers[0], int | str):
        return np.array(answers)
    found = np.empty(len(answers), dtype=object)
    found[:] = answers
    return found


EXPECTED_FAILED_CHECKS = {"check_sample_weight_equivalence_on_dense_data": "A row of weight 2 is one row of a batch."}
"""Checks that gradient descent cannot pass, and why: for ``check_estimator(…, expected_failed_checks=…)``."""


class InvalidInput(DataError, ValueError, TypeError):
    """An X or y that is not valid for scikit-learn."""


class NotFitted(LearnerError, NotFittedError):  # type: ignore[misc]
    """The error for a prediction by an untrained estimator."""


@dataclass(frozen=True)
class Weights(Term):
    """Weight examples by ``sample_weight``."""

    weight: Tensor

    def weigh(self, batch: Batch) -> None:
        batch.scale(self.weight[batch.places(batch.index).cpu()].to(batch.weight))


class SoftGrounder(BaseEstimator):  # type: ignore[misc]
    """Learn to recognise the symbols in X from answers y and a rule that relates them.

    Parameters
    ----------
    rule
        A :class:`~softground.Program`, :class:`~softground.Scan`, :class:`~softground.SMT` or
        :class:`~softground.Task`; or a plain Python function from symbols to their answer, with ``alphabets``. If
        inputs differ in their number of sites, a :class:`~softground.Family`, or a function from that number to a rule.
    alphabets
        The symbols of each site, if ``rule`` is a plain function: ``[range(10)] * 3`` for three digits. For different
        numbers of sites, a function: ``lambda sites: [range(10)] * sites``.
    network
        A module, or a function ``network(x, space)`` that makes one; by default
        :func:`~softground.networks.default_network`. A module is copied, so every fit begins with the given weights.
    stages, terms
        ``stages(task)`` returns the stages of training; the default is ``epochs`` with the kernel that fits the rule.
        ``terms`` are added to the first stage's loss, such as ``[Usage()]``.
    scaled
        ``False`` trains plainly at γ = 1; see :func:`~softground.grounding_stages`.
    restarts
        The largest number of further starts after a failed one. The default is two if the library or a function makes
        the network and stages, ``scaled``, noise, known symbols and anchors are not given; otherwise 0.
    epochs, learning_rate, batch_size, unexplained, augment, noise, seed, device
        See :class:`~softground.learner.Learner`.
    site_shape
        The shape of one site's input, for a flat X, which scikit-learn's tools require: ``site_shape=(1, 8, 8)`` reads
        ``[n, sites · 64]`` as ``[n, sites, 1, 8, 8]``.
    predicts
        The result of :meth:`predict`: ``"symbols"``, or ``"answers"``, which scikit-learn's ``scoring="accuracy"`` and
        ``cross_val_predict`` compare with y.
    validation_fraction, patience
        The share of examples held out at random; the fit keeps the epoch with the best held-out answers. Training ends
        after ``patience`` epochs without a better one (0: never). See also ``fit(validation=…)``.
    verbose
        Show progress and the verdict on stderr.

    Attributes
    ----------
    task_, network_, learner_, model_
        The task, the trained network, the learner with its ``history_``, and the model for prediction.
    verdict_
        One sentence on the result of training; see :class:`~softground.Learner`.
    n_features_in_, feature_names_in_
        The number of columns of X, and their names, if any.

    >>> pairs = torch.randint(10, (400, 2), generator=torch.Generator().manual_seed(0))
    >>> model = SoftGrounder(lambda a, b: 10 * a + b, [range(10)] * 2, epochs=8)
    >>> x = torch.eye(10)[pairs]  # in place of images
    >>> model = model.fit(x, [10 * a + b for a, b in pairs.tolist()])
    >>> pairs[:2].tolist(), model.predict(x[:2]).tolist(), model.predict_answers(x[:2])
    ([[4, 9], [3, 0]], [[4, 9], [3, 0]], [49, 30])
    """

    def __init__(
        self,
        rule: Rule | None = None,
        alphabets: Alphabets | Callable[[int], Alphabets] | None = None,
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
        terms: Sequence[Term] = (),
        scaled: bool | None = None,
        restarts: int | None = None,
        seed: int = 0,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        predicts: Literal["symbols", "answers"] = "symbols",
        validation_fraction: float = 0.0,
        patience: int = 0,
        verbose: bool = False,
    ) -> None:
        # No checks or copies here: scikit-learn's clone compares the given objects with the stored ones.
        self.rule, self.alphabets, self.network, self.stages = rule, alphabets, network, stages
        self.epochs, self.learning_rate, self.batch_size = epochs, learning_rate, batch_size
        self.augment, self.site_shape, self.noise, self.seed = augment, site_shape, noise, seed
        self.unexplained: Mode = unexplained
        self.device: Literal["auto", "cpu", "cuda"] = device
        self.predicts: Literal["symbols", "answers"] = predicts
        self.validation_fraction, self.patience = validation_fraction, patience
        self.verbose, self.terms = verbose, terms
        self.scaled, self.restarts = scaled, restarts

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        known: Any = None,
        anchors: Anchors | None = None,
        validation: tuple[Any, Any] | None = None,
        out: Path | str | None = None,
    ) -> SoftGrounder:
        """Train on inputs and their answers; a missing answer (None, NaN) is unknown.

        Give inputs with different numbers of sites as a list of arrays, one per example, and ``known`` symbols as in
        :class:`~softground.Examples`. See :class:`~softground.Anchors` for labelled inputs of single symbols.
        ``validation`` holds inputs and answers in place of ``validation_fraction``; ``out`` is a new run folder.
        """
        if y is None:
            raise InvalidInput("This SoftGrounder requires y to be passed, but the target y is None.")
        labelled = known is not None or anchors is not None
        several = isinstance(self.rule, Family) or callable(self.alphabets) or (isinstance(X, list) and different(X))
        x: Any = self._list(X) if several else self._checked(X, reset=True)
        answers = answers_of(listed(y))
        data: Any = Examples.ragged(x, answers, known=known) if several else None
        task: Task | Family = self._family(data) if several else self._task()
        self.task_: Task | Family | None = task
        data = data or Examples(self._shaped(x, task.space), answers, known=known)  # type: ignore[union-attr]
        data, held, weights = self._held_out(data, sample_weight, several, validation)
        _, longest, some, _ = max(data_with_tasks(task, data), key=lambda shape: shape[1].space.sites)

        def network(start: int = 0) -> nn.Module:
            with seeded(stream(self.seed, f"weights {start}" if start else "weights")):
                return self._network(some.x, longest)

        self.network_ = network()
        kept: Json = {} if held is None else {"keep": "validation", "patience": self.patience}

        def stages(task: Task) -> list[Stage]:
            return [replace(s, terms=[*s.terms, *weights], **kept) for s in self._stages(task)]

        made = not isinstance(self.network, nn.Module)
        free = (
            made
            and not isinstance(self.network_, Ensemble)
            and self.stages is None
            and self.scaled is None
            and not self.noise
            and not labelled
        )
        given: dict[str, Any] = {name: getattr(self, name) for name in PASSED_ON}
        given |= {"restarts": 2 * free if self.restarts is None else self.restarts, "again": network if made else None}
        self.learner_ = Learner(task, self.network_, stages, **given)
        try:
            self.learner_.fit(data, validation=held, anchors=anchors, out=out, quiet=not self.verbose)
        finally:  # Ctrl-C leaves a model too
            if self.learner_.fitted:
                self.model_: Model = self.learner_.model
                self.verdict_ = getattr(self.learner_, "verdict_", None)
        return self

    def predict(self, X: object, y: Sequence[object] | None = None, *, known: object = None) -> Any:
        """Return the most probable symbols, ``[n, sites]``; with ``y``, among symbols that give these answers.

        For different numbers of sites, a list of tuples. With ``predicts="answers"``, the symbols' answers.
        """
        if self.predicts == "answers" and y is None and known is None:
            return as_answers(self.predict_answers(X))
        symbols, space = self._fitted().predict(self._inputs(X), y, known=known), self.model_.space
        return symbols if isinstance(space, Mapping) else as_array(symbols, space)

    def predict_proba(self, X: object) -> Any:
        """P(z|x) site by site, ``[n, sites, K]``, in the order of each site's alphabet; see ``Model.predict_proba``."""
        return self._fitted().predict_proba(self._inputs(X))

    def predict_answers(self, X: object) -> list[Any]:
        """Return the answers of the predicted symbols, None without one. For rules that compute answers."""
        return self._fitted().predict_answers(self._inputs(X))

    def score(self, X: object, y: Sequence[object]) -> float:
        """The share of inputs whose predicted symbols have the correct answer."""
        model, x = self._fitted(), self._inputs(X)
        y = answers_of(listed(y))
        data: Any = Examples.ragged(x, y) if isinstance(model.space, Mapping) else Examples(x, y)
        return model.grounded(data) / len(data)

    def save(self, path: Path | str) -> None:
        """Write the fitted estimator, without its training data, into a folder; see :func:`softground.load`."""
        replace(self._fitted(), extra={name: getattr(self, name) for name in PLAIN}).save(path)

    @classmethod
    def load(cls, path: Path | str, **given: Any) -> SoftGrounder:
        """Load a fitted estimator; ``given`` goes to :func:`softground.load`. A new fit continues its training."""
        model = load(path, **given)
        plain = {name: value for name, value in model.extra.items() if name in PLAIN}
        loaded = cls(model.task, None, model.network, **plain)
        loaded.model_, loaded.network_, loaded.task_ = model, model.network, model.task
        return loaded

    def _task(self) -> Task:
        if isinstance(self.rule, Task) or getattr(self.rule, "space", None) is not None:
            return as_task(self.rule)
        if not callable(self.rule) or self.alphabets is None:
            raise LearnerError.of(
                {"rule": self.rule, "alphabets": self.alphabets},
                "expected a Program, Scan, SMT or "
                "Task, or a function from symbols to their answer together with alphabets, such as [range(10)] * 3.",
            )
        space = Categorical(self.alphabets)  # type: ignore[arg-type]
        return Task(space, Program(self.rule, space))

    def _family(self, data: Ragged) -> Family:
        """The tasks for the numbers of sites that occur in the data."""
        if isinstance(self.rule, Family):
            return self.rule
        rule, alphabets, lengths = self.rule, self.alphabets, sorted(data.parts)
        if not callable(rule) or isinstance(rule, Task) or (alphabets is not None and not callable(alphabets)):
            raise DataError(
                f"Inputs of {', '.join(map(str, lengths))} sites were given, with rule={rule!r} and "
                f"alphabets={alphabets!r}, which are for one number of sites. Give a Family, a function from the "
                "number of sites to a rule, or alphabets as such a function: lambda sites: [range(10)] * sites."
            )
        if alphabets is None:
            return Family(lambda sites: as_task(rule(sites)), lengths)
        symbols = tuple(dict.fromkeys(s for sites in lengths for alphabet in alphabets(sites) for s in alphabet))

        def make(sites: int) -> Task:
            space = Categorical(alphabets(sites), symbols=symbols)
            return Task(space, Program(rule, space))

        return Family(make, lengths)

    def _list(self, X: Any) -> list[Tensor]:
        """Inputs of different numbers of sites, one by one."""
        found = [as_tensor(x) for x in X]
        if self.site_shape is not None:
            found = [x.reshape(-1, *self.site_shape) if x.dim() == 1 else x for x in found]
        return [x.float() if x.is_floating_point() else x for x in found]

    def _inputs(self, X: object) -> Any:
        several = isinstance(self._fitted().space, Mapping)
        return self._list(X) if several else self._shaped(self._checked(X), self.model_.space)

    def _checked(self, X: Any, reset: bool = False) -> Tensor:
        """Convert X to a tensor, after scikit-learn's own checks."""
        X = as_tensor(X).cpu().numpy() if isinstance(X, Tensor) else X
        loose = not reset and (np.ndim(X) > 2 or not hasattr(self, "n_features_in_"))  # sites apart, or a loaded model
        try:
            if loose:
                return as_tensor(check_array(X, allow_nd=True))
            return as_tensor(validate_data(self, X, reset=reset, allow_nd=True))
        except (ValueError, TypeError) as error:
            raise InvalidInput(str(error)) from error

    def _shaped(self, x: Tensor, space: Any) -> Tensor:
        x = x.float() if x.is_floating_point() else x
        if self.site_shape is not None and x.dim() == 2:
            shape = (space.sites, *self.site_shape)
            if x.shape[1] != math.prod(shape):
                raise DataError(
                    f"Rows of X have {x.shape[1]} numbers; {shape[0]} sites of shape {tuple(self.site_shape)} have "
                    f"{math.prod(shape)}. Correct site_shape or X."
                )
            x = x.reshape(-1, *shape)
        return x

    def _held_out(
        self, data: Any, sample_weight: Any, several: bool, validation: tuple[Any, Any] | None
    ) -> tuple[Any, Any, list[Weights]]:
        """The training examples, the validation examples, and the weights of the former."""
        total, rows = len(data), list(range(len(data)))
        held: Any = None
        if validation is not None:
            x, y = validation[0], answers_of(listed(validation[1]))
            if several:
                held = Examples.ragged(self._list(x), y)
            else:
                held = Examples(self._shaped(self._checked(x), self.task_.space), y)  # type: ignore[union-attr]
        elif self.validation_fraction:
            order = torch.randperm(len(data), generator=torch.Generator().manual_seed(stream(self.seed, "validation")))
            count = held_out(len(data), self.validation_fraction)
            rows, test = (sorted(part.tolist()) for part in (order[count:], order[:count]))
            data, held = data.rows(rows), data.rows(test)
        if sample_weight is None:
            return data, held, []
        weight = as_tensor(sample_weight).double()
        if weight.shape != (total,) or not bool((weight >= 0).all()) or not 0 < float(weight.sum()) < math.inf:
            raise InvalidInput(
                f"sample_weight={sample_weight} was given. Sample weights must contain at least one non-zero number, "
                f"and none below 0, one for each of {total} examples."
            )
        return data, held, [Weights(weight[rows])]

    def _network(self, x: Tensor, task: Task) -> nn.Module:
        if isinstance(self.network, nn.Module):
            return copy.deepcopy(self.network)
        if self.network is None and not task.space.categorical:
            raise LearnerError(
                f"{task.space!r} has real numbers, and no network was given; there is no default one for reals. Give "
                "network=…, a module from inputs to what belief() of the space reads, or a function that makes one."
            )
        return (self.network or default_network)(x, task.space)

    def _stages(self, task: Task) -> list[Stage]:
        if self.stages is not None:
            stages = self.stages(task)
        else:
            (stage,) = grounding_stages(task, epochs=self.epochs, scaled=self.scaled)
            stages = [replace(stage, optimizer=lambda p: torch.optim.AdamW(p, lr=self.learning_rate))]
        return [replace(stage, terms=[*stage.terms, *self.terms]) for stage in stages[:1]] + stages[1:]

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise NotFitted("This SoftGrounder has not been trained; call fit(X, y) first.")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_clone__(self) -> SoftGrounder:
        """Clones share the rule, to keep its tables, and the untrained network, which fit copies."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.three_d_array = True, True
        return tags
