"""Findings of a trained network: which symbols it confuses, and examples to look at."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..learner import Learner
from ..learner.batches import Batches
from ..learner.checkpoint import chains_of
from ..learner.evaluation import predictions as predicted_by
from ..metrics import best_relabelling
from ..objectives.base import CHAINS
from ..runs import RunFolder
from ..spaces.categorical import Categorical
from .findings import Findings, Matrix, Shown
from .inputs import look_at
from .watch import GALLERY, WATCHED, read_gallery, texts

HELD_OUT, TRAINED = 10_000, 2_000  # most examples of each data set that are looked at
MOST_SYMBOLS = 200  # in an alphabet whose confusions are counted
MOST_IMAGES = 100  # in a gallery: fewer examples where each has many sites


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
    predictions: tuple[Tensor, Tensor] | None = None,
) -> Findings:
    """Look at a trained network.

    Parameters
    ----------
    learner
        With the network to look at.
    train, test
        The run's data. True symbols, where there are any, are shown and compared with; nothing learns from them here.
    folder
        The run folder, whose gallery says which examples were watched, and whose checkpoint holds the chains of a
        learner that was not fitted just now.
    predictions
        The network's codes for ``train`` and ``test``, where they are known already.
    """
    space = learner.task.space
    known = predictions or (None, None)
    trained, held_out = _read(learner, train, TRAINED, known[0]), _read(learner, test, HELD_OUT, known[1])
    epochs, chains = _memory(learner, folder)
    chains = None if chains is None else chains[: len(trained.predicted)]
    # Examples that have no state, because nothing explains them or none was found yet, are no groundings.
    held = learner.task.feasible(chains, trained.y) if chains is not None and space.categorical else None
    names = [str(symbol) for symbol in space.symbols] if space.categorical else []
    renamed = {}
    if (codes := _relabelling(learner, held_out)) is not None:
        renamed = {names[i]: names[j] for i, j in enumerate(codes.tolist()) if i != j}
        trained, held_out = (
            replace(read, symbols=None if read.symbols is None else codes[read.symbols]) for read in (trained, held_out)
        )
    feasible = learner.task.feasible(held_out.predicted, held_out.y)
    lucky = torch.zeros_like(feasible)
    if names and held_out.symbols is not None:
        lucky = feasible & (held_out.predicted != held_out.symbols).any(1)
    watched = read_gallery(folder.path / GALLERY)[-1:] if folder else []
    index = watched[0].get("examples") if watched else None
    return Findings(
        epochs=epochs,
        symbols=names,
        renamed=renamed,
        matrices=_matrices(space, held_out, trained, chains, held) if 0 < len(names) <= MOST_SYMBOLS else [],
        held_out=len(feasible),
        wrong=int((~feasible).sum()),
        lucky=int(lucky.sum()),
        watched=_examples(learner, trained, _watched(index, len(trained.predicted), space.sites), chains),
        looked_at=_examples(learner, held_out, _choice(feasible, lucky, space.sites)),
    )


def _memory(learner: Learner, folder: RunFolder | None) -> tuple[int, Tensor | None]:
    """Epochs done, and the chains of the last stage that has any: in memory after a fit, else in the checkpoint.

    Where several processes train, each has only its own chains in memory; the checkpoint has all of them.
    """
    history = getattr(learner, "history_", None)
    if history is not None and learner.fabric.world_size == 1:
        begun = {record["stage"] for record in history}  # an observer may have ended the run before the others
        states = (stage.objective.state() for stage in reversed(learner.stages) if stage.name in begun)
        return len(history), next((state[CHAINS] for state in states if CHAINS in state), None)
    if folder is None or not folder.has_checkpoint():
        return 0, None
    return len(folder.read_metrics()), chains_of(folder)


def _read(learner: Learner, data: Dataset[Any], most: int, predicted: Tensor | None) -> _Read:
    """The network's predictions for the first examples of a data set."""
    device = learner.fabric.device
    known = getattr(data, "symbols", None)
    if len(data) > most:  # type: ignore[arg-type]
        data = Subset(data, range(most))
    batches = Batches(data, device, learner.workers)
    symbols = known[: len(batches)].to(device) if isinstance(known, Tensor) else batches.symbols
    if predicted is None:
        predicted = predicted_by(learner.space, learner.network, batches)
    y = learner.task.constraint.encode(batches.answers).to(device)
    return _Read(data, predicted[:most].to(device), y, batches.answers, symbols)


def _relabelling(learner: Learner, read: _Read) -> Tensor | None:
    """True code to the network's code for it, for a task whose symbols are fixed only up to their names."""
    space = learner.task.space
    if not learner.task.nameless_symbols or read.symbols is None or len(set(space.alphabets)) > 1:
        return None
    whole = torch.arange(space.width, device=read.predicted.device)
    found = best_relabelling(read.symbols, read.predicted)
    whole[: len(found)] = found  # symbols that occur nowhere keep their names
    return whole


def _matrices(
    space: Categorical, held_out: _Read, trained: _Read, chains: Tensor | None, held: Tensor | None
) -> list[Matrix]:
    def part(z: Tensor | None) -> Tensor | None:
        return z if z is None or held is None else z[held]

    pairs = (
        ("true", "predicted", "held-out", held_out.symbols, held_out.predicted),
        ("grounded", "predicted", "training", part(chains), part(trained.predicted)),
        ("true", "grounded", "training", part(trained.symbols), part(chains)),
    )
    return [Matrix(r, c, d, counts(space, a, b)) for r, c, d, a, b in pairs if a is not None and b is not None]


def counts(space: Categorical, rows: Tensor, columns: Tensor) -> list[list[int]]:
    """How often each symbol of ``rows`` meets each of ``columns``, over all sites of codes ``[examples, sites]``.

    >>> space = Categorical(["ab", "bc"])
    >>> counts(space, torch.tensor([[0, 0], [1, 0]]), torch.tensor([[0, 0], [1, 1]]))
    [[1, 0, 0], [0, 2, 1], [0, 0, 0]]
    """
    union, size = {symbol: k for k, symbol in enumerate(space.symbols)}, len(space.symbols)
    sites, most = torch.arange(space.sites), max(map(len, space.named))
    table = torch.tensor([[union[s] for s in names] + [0] * (most - len(names)) for names in space.named])
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
    wrong, chance, right = (group.nonzero().flatten().tolist() for group in (~feasible, lucky, feasible & ~lucky))
    some = wrong[: room - min(3, len(right) + len(chance))]
    some += chance[: max(1, room - len(some) - 2)]
    return some + right[: room - len(some)]


def _examples(learner: Learner, read: _Read, index: list[int], chains: Tensor | None = None) -> list[Shown]:
    task, space = learner.task, learner.task.space
    if not index:
        return []
    z, y = read.predicted[index], read.y[index]
    feasible = task.feasible(z, y).tolist()
    columns = (
        [None] * len(index) if states is None else texts(space, states[index])
        for states in (read.symbols, read.predicted, chains)
    )
    answers = task.computed(z) or [None] * len(index)
    gives = [None if fine else written(answer) for fine, answer in zip(feasible, answers, strict=True)]
    return [
        Shown(i, look_at(read.data[i][0], space.sites), _given(read.answers[i]), *facts)
        for i, *facts in zip(index, *columns, feasible, gives, strict=True)
    ]


def _given(answer: Any) -> str | None:
    return "unknown" if answer is None else written(answer)


def written(answer: Any) -> str | None:
    """An answer in a few characters; None for a tensor, or where it is too long.

    >>> written((7, 2)), written(True), written(torch.tensor(3)), written("x" * 99)
    ('(7, 2)', 'True', '3', None)
    """
    if isinstance(answer, Tensor):
        answer = answer.item() if answer.dim() == 0 else None
    return None if answer is None or len(str(answer)) > 60 else str(answer)
