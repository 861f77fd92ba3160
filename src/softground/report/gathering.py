"""Findings of a trained network: which symbols it confuses, and examples to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..errors import ConstraintError
from ..learner import Learner
from ..learner.batches import Batches
from ..learner.checkpoint import chains_of
from ..learner.evaluation import predictions
from ..runs import RunFolder
from ..spaces.categorical import Categorical
from ..tasks.sudoku.metrics import best_relabelling
from .findings import Findings, Matrix, Shown
from .inputs import look_at
from .watch import GALLERY, WATCHED, read_gallery, texts

HELD_OUT, TRAINED = 10_000, 2_000  # the first examples of each data set are looked at, up to these numbers
MOST_SYMBOLS = 200  # of an alphabet whose confusions are counted
MOST_IMAGES = 100  # images of a gallery: fewer examples where each has many sites


@dataclass(frozen=True, eq=False)
class _Read:
    """A data set and what the network reads in it."""

    data: Dataset[Any]
    predicted: Tensor
    y: Tensor
    answers: list[Any]
    symbols: Tensor | None


def gather(
    learner: Learner,
    train: Dataset[Any],
    test: Dataset[Any],
    folder: RunFolder | None = None,
    predicted: tuple[Tensor, Tensor] | None = None,
) -> Findings:
    """Look at a trained network.

    Parameters
    ----------
    learner
        With the network to look at.
    train, test
        The run's data. True symbols, where there are any, are shown and compared with; nothing learns from them here.
    folder
        The run folder, whose checkpoint holds the chains and whose gallery says which examples were watched.
    predicted
        What the network reads in ``train`` and in ``test``, where that is known.
    """
    space = learner.task.space
    known = predicted or (None, None)
    held_out, trained = _read(learner, test, HELD_OUT, known[1]), _read(learner, train, TRAINED, known[0])
    chains = None if folder is None else chains_of(folder)
    relabelling = _relabelling(learner, held_out)
    if relabelling is not None:
        held_out, trained = _renamed(held_out, relabelling), _renamed(trained, relabelling)
    feasible = learner.task.feasible(held_out.predicted, held_out.y)
    lucky = _lucky(held_out, feasible)
    categorical = space.categorical
    watched = read_gallery(folder.path / GALLERY)[-1:] if folder else []
    index = watched[0].get("examples") if watched else None
    return Findings(
        sites=space.sites,
        symbols=[str(s) for s in space.symbols] if categorical else [],
        renamed={} if relabelling is None else _names(space, relabelling),
        matrices=_matrices(space, held_out, trained, chains) if categorical else [],
        held_out=len(feasible),
        wrong=int((~feasible).sum()),
        lucky=int(lucky.sum()),
        watched=_examples(learner, trained, _watched(index, len(trained.predicted), space.sites), chains),
        looked_at=_examples(learner, held_out, _choice(feasible, lucky, space.sites)),
    )


def _read(learner: Learner, data: Dataset[Any], most: int, predicted: Tensor | None = None) -> _Read:
    """The network's predictions for the first examples of a data set."""
    device = learner.fabric.device
    known = getattr(data, "symbols", None)
    if len(data) > most:  # type: ignore[arg-type]
        data = Subset(data, range(most))
    batches = Batches(data, device, learner.workers)
    symbols = batches.symbols
    if symbols is None and isinstance(known, Tensor):
        symbols = known[: len(batches)].to(device)
    if predicted is None:
        predicted = predictions(learner.task, learner.network, batches)
    y = learner.task.constraint.encode(batches.answers).to(device)
    return _Read(data, predicted[: len(batches)], y, batches.answers, symbols)


def _relabelling(learner: Learner, read: _Read) -> Tensor | None:
    """True code to the network's code for it, for a task that says its symbols are fixed only up to their names."""
    space = learner.task.space
    if read.symbols is None or not space.categorical or len(set(space.alphabets)) > 1:
        return None
    figures = learner.task.figures(read.predicted, read.y, read.symbols)
    if not any(name.startswith("relabelled") for name in figures):
        return None
    whole = torch.arange(space.width, device=read.predicted.device)
    found = best_relabelling(read.symbols, read.predicted)
    whole[: len(found)] = found  # symbols that occur nowhere keep their names
    return whole


def _renamed(read: _Read, relabelling: Tensor) -> _Read:
    symbols = None if read.symbols is None else relabelling[read.symbols]
    return _Read(read.data, read.predicted, read.y, read.answers, symbols)


def _names(space: Categorical, relabelling: Tensor) -> dict[str, str]:
    alphabet = space.alphabets[0]
    return {str(alphabet[i]): str(alphabet[j]) for i, j in enumerate(relabelling.tolist()) if i != j}


def _lucky(read: _Read, feasible: Tensor) -> Tensor:
    """Which predictions explain their answer with other symbols than the true ones; reals are never exactly right."""
    if read.symbols is None or read.predicted.is_floating_point():
        return torch.zeros_like(feasible)
    return feasible & (read.predicted != read.symbols).any(1)


def _matrices(space: Categorical, held_out: _Read, trained: _Read, chains: Tensor | None) -> list[Matrix]:
    if len(space.symbols) > MOST_SYMBOLS:
        return []
    found = []
    if held_out.symbols is not None:
        found.append(Matrix("true", "predicted", "held-out", counts(space, held_out.symbols, held_out.predicted)))
    if chains is not None:
        chains = chains[: len(trained.predicted)]
        found.append(Matrix("grounded", "predicted", "training", counts(space, chains, trained.predicted)))
        if trained.symbols is not None:
            found.append(Matrix("true", "grounded", "training", counts(space, trained.symbols, chains)))
    return found


def counts(space: Categorical, rows: Tensor, columns: Tensor) -> list[list[int]]:
    """How often each symbol of ``rows`` meets each of ``columns``, over all sites of codes ``[examples, sites]``.

    >>> space = Categorical(["ab", "bc"])
    >>> counts(space, torch.tensor([[0, 0], [1, 0]]), torch.tensor([[0, 0], [1, 1]]))
    [[1, 0, 0], [0, 2, 1], [0, 0, 0]]
    """
    union = {symbol: k for k, symbol in enumerate(space.symbols)}
    size = len(union)
    table = torch.tensor([[union[s] for s in a] + [0] * (space.width - len(a)) for a in space.alphabets])
    sites = torch.arange(space.sites)
    pairs = table[sites, rows.cpu()] * size + table[sites, columns.cpu()]
    counted: list[list[int]] = torch.bincount(pairs.flatten(), minlength=size * size).view(size, size).tolist()
    return counted


def _watched(index: Any, count: int, sites: int) -> list[int]:
    """Training examples to show: those that were watched, or the first."""
    room = max(2, min(WATCHED, MOST_IMAGES // sites))
    known = [i for i in index if type(i) is int and 0 <= i < count] if isinstance(index, list) else []
    return (known or list(range(count)))[:room]


def _choice(feasible: Tensor, lucky: Tensor, sites: int) -> list[int]:
    """Held-out examples to show: mistakes first, then right answers from wrong symbols, then some that are right."""
    room = max(3, min(9, MOST_IMAGES // sites))
    groups = [~feasible, lucky, feasible & ~lucky]
    wrong, chance, right = (group.nonzero().flatten().tolist() for group in groups)
    some = wrong[: room - min(3, len(right) + len(chance))]
    some += chance[: max(1, room - len(some) - 2)]
    return some + right[: room - len(some)]


def _examples(learner: Learner, read: _Read, index: list[int], chains: Tensor | None = None) -> list[Shown]:
    task, space = learner.task, learner.task.space
    if not index:
        return []
    z, y = read.predicted[index], read.y[index]
    predicted, feasible = texts(space, z), task.feasible(z, y).tolist()
    truth = None if read.symbols is None else texts(space, read.symbols[index])
    grounded = None if chains is None else texts(space, chains[index])
    gives = _answers_of(task.constraint, z)
    shown = []
    for k, i in enumerate(index):
        answer = read.answers[i]
        shown.append(
            Shown(
                example=i,
                input=look_at(read.data[i][0], space.sites),
                answer=written(answer),
                truth=None if truth is None else truth[k],
                predicted=predicted[k],
                grounded=None if grounded is None else grounded[k],
                feasible=feasible[k],
                gives=None if feasible[k] else written(gives[k]),
            )
        )
    return shown


def _answers_of(constraint: Any, z: Tensor) -> list[Any]:
    """The answers that a rule computes for some states; None where there is none, or the rule only checks."""
    try:
        answers: list[Any] = constraint.compute(z)
    except ConstraintError:
        return [None] * len(z)
    return answers


def written(answer: Any) -> str | None:
    """An answer in a few characters; None for one that is a tensor or just too long.

    >>> from fractions import Fraction
    >>> written(Fraction(7, 2)), written((7, 2)), written(True), written("x" * 99)
    ('7/2', '(7, 2)', 'True', None)
    """
    if isinstance(answer, Tensor):
        answer = answer.item() if answer.dim() == 0 else None
    text = None if answer is None else str(answer)
    return text if text is not None and len(text) <= 60 else None


__all__ = ["counts", "gather", "written"]
