"""What scikit-learn, pickle and copy ask of an estimator.

Fitted, it has a ``model_``. Copies have it too; of the learner they have what is read, not what trains.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from .errors import LearnerError

if TYPE_CHECKING:
    from .model import Model


def as_array(symbols: Sequence[tuple[Any, ...]], space: Any) -> npt.NDArray[Any]:
    """Predictions as an array ``[n, sites]``: of whole numbers, of reals, or of whatever objects the symbols are."""
    kind: Any = object if space.categorical or hasattr(space, "symbols") else np.float64
    if space.categorical and all(type(s) is int for alphabet in space.alphabets for s in alphabet):
        kind = np.int64
    table = np.empty((len(symbols), space.sites), dtype=kind)
    for row, state in enumerate(symbols):
        table[row] = state
    return table


class Manners:
    """An estimator's parameters are those of its constructor, kept under their names."""

    model_: Model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the estimator was made with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change what the estimator was made with; takes effect at the next fit."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise LearnerError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not usual[name]]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_clone__(self) -> Self:
        """Clones share the rule, whose tables are worth keeping, and the untrained network, which fit copies."""
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = memo[id(self)] = type(self)()
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin

    def __sklearn_tags__(self) -> Any:
        """Only scikit-learn calls this, so it is there to be imported."""
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=True, three_d_array=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def _fitted(self) -> Model:
        """The model; before a fit scikit-learn's own error, where that is in use."""
        if self.__sklearn_is_fitted__():
            return self.model_
        theirs = sys.modules.get("sklearn.exceptions")
        bases = (LearnerError,) if theirs is None else (LearnerError, theirs.NotFittedError)
        raise type("NotFitted", bases, {})(f"This {type(self).__name__} has not been trained; call fit(X, y) first.")
