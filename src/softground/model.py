"""A trained network that lives on: what it reads, what its outputs mean, and the rule where that can be kept.

One folder holds it::

    model.json           the network's layers, the space of symbols, the rule's kind, versions, and the digest below
    model.safetensors    weights, and the tables of the rule

There are no pickles in it, and nothing of the training data. It can be moved, and loaded on any device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from . import saved
from .data.examples import Examples, as_tensor
from .errors import CheckpointError, LearnerError
from .files import failure
from .inverses.base import RECORDED
from .learner.batches import Batches
from .learner.device import chosen_device
from .learner.evaluation import beliefs, evaluate, predictions
from .learner.prediction import BUDGET, most_probable
from .networks import blueprint
from .task import Task


@dataclass(eq=False)
class Model:
    """A network that reads symbols. Its methods may be called in several threads at once.

    Parameters
    ----------
    network
        From a batch of inputs to what ``space`` reads. Predictions never change it: where it is in training mode or on
        another device, they use a copy.
    space
        The symbol vectors.
    task
        The rule; None where it is not known. Then nothing can be constrained or evaluated.
    device
        Where predictions are made.
    shape, dtype
        What one input looks like, where known; an export needs it.
    name, note
        The task's name, and anything worth knowing.
    extra
        Further facts to be saved: None, numbers, texts, lists, tuples, dicts.
    """

    network: nn.Module
    space: Any
    task: Task | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    shape: tuple[int, ...] | None = None
    dtype: torch.dtype | None = None
    name: str = "task"
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def predict(
        self, x: Any, y: Sequence[Any] | None = None, *, constrained: bool = False, budget: int = BUDGET
    ) -> list[tuple[Any, ...]]:
        """The most probable symbols of each input.

        With answers ``y``, the most probable z ∈ S_y; with ``constrained=True``, the most probable z that has any
        answer at all (a valid board, a formula without division by zero). Where there is no table of solutions, at most
        ``budget`` states of an input are tried, the likeliest first.
        """
        codes = self.predict_codes(x, y, constrained=constrained, budget=budget)
        symbols: list[tuple[Any, ...]] = self.space.decode(codes)
        return symbols

    def predict_codes(
        self, x: Any, y: Sequence[Any] | None = None, *, constrained: bool = False, budget: int = BUDGET
    ) -> Tensor:
        """:meth:`predict`, as codes ``[inputs, sites]``."""
        inputs = self._inputs(x)
        if y is None and not constrained:
            return predictions(self, self.network, inputs)
        task = self._rule("A constrained prediction")
        encoded = None if y is None else task.constraint.encode(list(y)).to(self.device)
        if encoded is not None and len(encoded) != len(inputs):
            raise LearnerError(f"{len(inputs)} inputs but {len(encoded)} answers: give one answer per input.")
        with torch.no_grad():
            return torch.cat(
                [
                    most_probable(task, belief, None if encoded is None else encoded[index], index, budget)
                    for index, belief in beliefs(self, self.network, inputs)
                ]
            )

    def predict_proba(self, x: Any) -> npt.NDArray[Any]:
        """P(z|x) site by site, ``[inputs, sites, K]``, in the order of each site's alphabet.

        K is the size of the largest alphabet; beyond a smaller one's end are zeros. For reals the means
        ``[inputs, sites]``.
        """
        read = [belief.marginals() for _, belief in beliefs(self, self.network, self._inputs(x))]
        return torch.cat(read).cpu().numpy()

    def evaluate(self, x: Any, y: Sequence[Any], symbols: Tensor | None = None) -> dict[str, Any]:
        """The task's metrics on inputs with their answers and, where they are known, true codes."""
        x = as_tensor(x) if isinstance(x, np.ndarray) else x
        return self.figures(Batches(Examples(x, list(y), symbols), self.device))

    def figures(self, data: Batches) -> dict[str, Any]:
        """The task's metrics on a data set."""
        task = self._rule("An evaluation")
        data.check(self.space)
        return evaluate(task, self.network, data, task.constraint.encode(data.answers).to(self.device))

    def grounded(self, data: Batches) -> int:
        """How many examples the network's own prediction explains, ẑ ∈ S_y: the paper's count of grounded examples."""
        task = self._rule("Counting right answers")
        y = task.constraint.encode(data.answers).to(self.device)
        return int(task.feasible(predictions(self, self.network, data), y).sum())

    def predict_answers(self, x: Any) -> list[Any]:
        """The answers that the predicted symbols have; None where they have none. For rules that compute answers."""
        return self._rule("An answer").constraint.compute(self.predict_codes(x))

    def save(self, path: Path | str) -> None:
        """Write the model into the folder ``path``, where :func:`load` finds it. A model that was there is replaced."""
        kept = None if self.task is None else self.task.inverse.record()
        space, facts = saved.space_facts(self.space), saved.writable(kept[0]) if kept else None
        tables = kept[1] if kept and facts else {}
        tensors = {f"network/{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"rule/{name}": value for name, value in tables.items()}
        shape = None if self.shape is None else {"shape": list(self.shape), "dtype": str(self.dtype).split(".")[-1]}
        document = {
            "task": self.name,
            "note": self.note,
            "network": blueprint.describe(self.network),
            "class": type(self.network).__qualname__,
            "space": space,
            "rule": facts,
            "input": shape,
            "extra": self.extra,
        }
        saved.write(Path(path), document, tensors)

    def _rule(self, what: str) -> Task:
        if self.task is None:
            raise LearnerError(
                f"{what} needs the rule, which could not be saved with this model: it is not a table, a listing or a "
                "scan. Give it back: softground.load(path, task=…)."
            )
        return self.task

    def _inputs(self, x: Any) -> Batches:
        x = x.x if isinstance(x, Examples) else as_tensor(x) if isinstance(x, np.ndarray) else x
        if not hasattr(x, "__len__"):
            raise LearnerError(f"A {type(x).__name__} was given to predict; expected a tensor or sequence of inputs.")
        return Batches(Examples(x, [0] * len(x)), self.device)


def load(
    path: Path | str,
    *,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    network: nn.Module | None = None,
    task: Task | None = None,
) -> Model:
    """A model that :meth:`Model.save` wrote.

    Parameters
    ----------
    path
        The folder.
    device
        Where it is to predict.
    network
        A module of the same kind, for a network that does not consist of known layers; its weights are replaced.
    task
        The rule, where it could not be saved, or to take the place of what was.
    """
    folder, place = Path(path), chosen_device(device)
    document, tensors = saved.read(folder)
    try:
        if task is not None and document["space"] not in (None, saved.space_facts(task.space)):
            raise CheckpointError(f"The task given has the space {task.space!r}; the model was saved with another.")
        space = task.space if task is not None else saved.make_space(document["space"])
        if task is None and document["rule"] is not None:
            inverse = RECORDED[document["rule"]["kind"]].rebuild(space, document["rule"], _part(tensors, "rule"))
            task = Task(space, inverse.constraint, inverse, name=document["task"])
        weights, built = _part(tensors, "network"), network
        if network is not None:
            network.load_state_dict(weights)
        elif document["network"] is not None:
            built = blueprint.build(document["network"], weights)
        shape, dtype = _input(document["input"])
        name, note, extra = str(document["task"]), str(document["note"]), dict(document["extra"])
    except CheckpointError as error:
        raise failure(folder, str(error).rstrip("."), "Give what fits, or leave it out") from error
    except (*blueprint.MISFITS, RecursionError) as error:
        reason = f"it does not fit together ({type(error).__name__}: {error})"
        raise failure(
            folder / saved.DOCUMENT, reason, "Check the network or task given, or save the model anew"
        ) from error
    if built is None:
        raise failure(
            folder / saved.DOCUMENT,
            f"its network is a {document['class']}, a class that is not the library's, of which only weights are saved",
            "Make the module yourself and give it: softground.load(path, network=…)",
        )
    built.to(place).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    return Model(built, space, task, place, shape, dtype, name, note, extra)


def _input(found: Mapping[str, Any] | None) -> tuple[tuple[int, ...] | None, torch.dtype | None]:
    if found is None:
        return None, None
    dtype = getattr(torch, str(found["dtype"]))
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{found['dtype']!r} is not a type of number")
    return tuple(int(side) for side in found["shape"]), dtype


def _part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{name}/"): value for key, value in tensors.items() if key.startswith(f"{name}/")}
