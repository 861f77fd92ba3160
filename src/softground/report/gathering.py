"""Findings of a trained network: which symbols it confuses, and examples to look at."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..learner import Learner
from ..learner.datasets import Batches, Data, data_with_tasks
from ..learner.evaluation import groundings
from ..learner.evaluation import predictions as predicted_by
from ..learner.run_state import chains_of
from ..metrics import best_relabelling, numbered
from ..runs import RunFolder
from ..spaces.categorical import Categorical
from ..task import Task
from ..training.step import CHAINS
from .findings import Findings, Matrix, Shown, look_at
from .watch import GALLERY, read_gallery, shown_of, texts

HELD_OUT, TRAINED = 10_000, 2_000  # most examples of each data set that are looked at
MOST_SYMBOLS = 200  # in an alphabet whose confusions are counted
HELD_OUT_IMAGES = 500  # in a gallery: fewer examples where each has many sites
MOST_SHOWN, RIGHT_SHOWN = 96, 12  # held-out examples, and those among them that have nothing wrong


@dataclass(frozen=True, eq=False)
class _Read:
    """One shape's examples, what the network reads in them, and where their chains stand."""

    task: Task
    data: Dataset[Any]
    places: list[int]  # where they stand in the whole data set
    predicted: Tensor
    y: Tensor
    answers: list[Any]
    symbols: Tensor | None
    chains: Tensor | None = None

    @property
    def held(self) -> Tensor | slice:
        """Those whose chain is a grounding: not those that nothing explains, or that no state was found for."""
        if self.chains is None or not self.task.space.categorical:
            return slice(None)
        return self.task.feasible(self.chains, self.y)


def gather(
    learner: Learner,
    train: Data,
    test: Data | None = None,
    folder: RunFolder | None = None,
    predictions: tuple[list[Tensor], list[Tensor]] | None = None,
) -> Findings:
    """Look at a trained network.

    Parameters
    ----------
    learner
        With the network to look at.
    train, test
        The run's data; there may be no test data. True symbols, where there are any, are shown and compared with;
        nothing learns from them here.
        Where several processes have trained, each looks at its own training examples.
    folder
        The run folder, whose gallery says which examples were watched, and whose checkpoint holds the chains of a
        learner that was not fitted just now.
    predictions
        The network's codes for each part of ``train`` and ``test``, where they are known already.
    """
    known = predictions or (None, None)
    epochs, memory = _memory(learner, folder)
    share = (learner.fabric.global_rank, learner.fabric.world_size) if hasattr(learner, "history_") else (0, 1)
    trained = _read(learner, train, TRAINED, known[0], memory, share)
    held_out = [] if test is None else _read(learner, test, HELD_OUT, known[1])
    space = trained[0].task.space
    names = [str(symbol) for symbol in space.symbols] if space.categorical else []
    renamed = {}
    if (codes := _relabelling(held_out)) is not None:
        renamed = {names[i]: names[j] for i, j in enumerate(codes.tolist()) if i != j}
        trained, held_out = (
            [replace(read, symbols=None if read.symbols is None else codes[read.symbols]) for read in reads]
            for reads in (trained, held_out)
        )
    feasible = torch.cat([torch.ones(0).bool(), *(r.task.feasible(r.predicted, r.y).cpu() for r in held_out)])
    lucky = torch.zeros_like(feasible)
    if names and held_out and all(read.symbols is not None for read in held_out):
        lucky = feasible & torch.cat([read.predicted.ne(read.symbols).any(1).cpu() for read in held_out])  # type: ignore[arg-type]
    watched = read_gallery(folder.path / GALLERY)[-1:] if folder else []
    index = watched[0].get("examples") if watched else None
    most = max(read.task.space.sites for read in (*trained, *held_out))
    return Findings(
        epochs=epochs,
        symbols=names,
        renamed=renamed,
        matrices=_matrices(held_out, trained) if 0 < len(names) <= MOST_SYMBOLS else [],
        held_out=len(feasible),
        wrong=int((~feasible).sum()),
        lucky=int(lucky.sum()),
        watched=_examples(trained, _watched(index, trained, most)),
        looked_at=_examples(held_out, _choice(feasible, lucky, most)),
    )


def _memory(learner: Learner, folder: RunFolder | None) -> tuple[int, Callable[[Any], Tensor | None] | None]:
    """Epochs done, and a shape's chains in the last stage that has any: in memory after a fit, else in the checkpoint.

    Where several processes have trained, these are the chains of this one's own examples. None where nothing was
    trained.
    """
    history = getattr(learner, "history_", None)
    if history is not None:

        def kept(shape: object) -> Tensor | None:
            parts = [part for part in learner.loop.parts if part.shape == shape]
            return parts[0].remembered(CHAINS) if parts else None

        return len(history), kept
    if folder is None or not folder.has_checkpoint():
        return 0, None
    return len(folder.read_metrics()), lambda shape: chains_of(folder, shape)


def _read(
    learner: Learner,
    data: Data,
    most: int,
    predicted: list[Tensor] | None,
    memory: Callable[[Any], Tensor | None] | None = None,
    share: tuple[int, int] = (0, 1),
) -> list[_Read]:
    """The network's predictions for the first examples of each part of a process's share of a data set."""
    device, found = learner.fabric.device, []
    parts = data_with_tasks(learner.task, data)
    for number, (shape, task, part, positions) in enumerate(parts):
        rows = range(share[0], len(part), share[1])[: -(-most // len(parts))]
        batches = Batches(part, device, learner.workers, positions, rows)
        codes = predicted[number] if predicted else predicted_by(task.space, learner.network, batches)
        places = batches.at(torch.arange(len(batches), device=device)).tolist()
        y, codes = task.constraint.encode(batches.answers).to(device), codes[: len(batches)].to(device)
        chains = None if memory is None else memory(shape)
        if memory is not None and chains is None:
            chains = groundings(task, learner.staged.get(shape, []), learner.network, batches, y)
        chains = None if chains is None else chains[: len(batches)].to(device)
        found.append(_Read(task, Subset(part, rows), places, codes, y, batches.answers, batches.symbols, chains))
    return found


def _relabelling(reads: list[_Read]) -> Tensor | None:
    """True code to the network's code for it, for a task whose symbols are fixed only up to their names."""
    tasks = [read.task for read in reads]
    if not tasks or not all(task.nameless_symbols for task in tasks) or any(read.symbols is None for read in reads):
        return None
    if len({alphabet for task in tasks for alphabet in task.space.alphabets}) > 1:
        return None
    true = torch.cat([read.symbols.flatten() for read in reads])  # type: ignore[union-attr]
    predicted = torch.cat([read.predicted.flatten() for read in reads])
    whole = torch.arange(tasks[0].space.width, device=predicted.device)
    found = best_relabelling(true, predicted)
    whole[: len(found)] = found  # symbols that occur nowhere keep their names
    return whole


def _matrices(held_out: list[_Read], trained: list[_Read]) -> list[Matrix]:
    pairs = (
        ("true", "predicted", "held-out", [(r.task.space, r.symbols, r.predicted) for r in held_out]),
        ("grounded", "predicted", "training", [(r.task.space, *_grounded(r, r.chains, r.predicted)) for r in trained]),
        ("true", "grounded", "training", [(r.task.space, *_grounded(r, r.symbols, r.chains)) for r in trained]),
    )
    return [
        Matrix(rows, columns, data, torch.stack([torch.tensor(counts(*part)) for part in parts]).sum(0).tolist())
        for rows, columns, data, parts in pairs
        if parts and all(z is not None for part in parts for z in part)
    ]


def _grounded(read: _Read, *z: Tensor | None) -> list[Tensor | None]:
    """The rows of the examples that have a grounding."""
    return [None if each is None else each[read.held] for each in z]


def counts(space: Categorical, rows: Tensor, columns: Tensor) -> list[list[int]]:
    """How often each symbol of ``rows`` meets each of ``columns``, over all sites of codes ``[examples, sites]``.

    >>> space = Categorical(["ab", "bc"])
    >>> counts(space, torch.tensor([[0, 0], [1, 0]]), torch.tensor([[0, 0], [1, 1]]))
    [[1, 0, 0], [0, 2, 1], [0, 0, 0]]
    """
    size = len(space.symbols)
    pairs = numbered(space, rows.cpu()) * size + numbered(space, columns.cpu())
    counted: list[list[int]] = torch.bincount(pairs.flatten(), minlength=size * size).view(size, size).tolist()
    return counted


def _watched(index: object, reads: list[_Read], sites: int) -> list[int]:
    """Training examples to show: those that were watched, or the first."""
    number = {place: i for i, place in enumerate(place for read in reads for place in read.places)}
    known = [number[i] for i in index if type(i) is int and i in number] if isinstance(index, list) else []
    return (known or list(number.values()))[: shown_of(sites)]


def _choice(feasible: Tensor, lucky: Tensor, sites: int) -> list[int]:
    """Held-out examples to show: mistakes first, then right answers from wrong symbols, then some that are right."""
    room = max(3, min(MOST_SHOWN, HELD_OUT_IMAGES // sites))
    wrong, chance, right = (group.nonzero().flatten().tolist() for group in (~feasible, lucky, feasible & ~lucky))
    fine = min(RIGHT_SHOWN, len(right), room // 3)
    some = wrong[: room - fine - min(len(chance), room // 3)]
    some += chance[: room - fine - len(some)]
    return some + right[:fine]


def _examples(reads: list[_Read], index: list[int]) -> list[Shown]:
    """The examples with these numbers, counted through all parts."""
    every = [(read, row) for read in reads for row in range(len(read.places))]
    return [_shown(*every[number]) for number in index]


def _shown(read: _Read, row: int) -> Shown:
    task, z = read.task, read.predicted[row : row + 1]
    true, predicted, grounded = (
        None if states is None else texts(task.space, states[row : row + 1])[0]
        for states in (read.symbols, read.predicted, read.chains)
    )
    fine = bool(task.feasible(z, read.y[row : row + 1]))
    gives = None if fine else written((task.computed(z) or [None])[0])
    x = look_at(read.data[row][0], task.space.sites)
    return Shown(read.places[row], x, _given(read.answers[row]), true, predicted, grounded, fine, gives)


def _given(answer: object) -> str | None:
    return "unknown" if answer is None else written(answer)


def written(answer: object) -> str | None:
    """An answer in a few characters; None for a tensor, or where it is too long.

    >>> written((7, 2)), written(True), written(torch.tensor(3)), written("x" * 99)
    ('(7, 2)', 'True', '3', None)
    """
    if isinstance(answer, Tensor):
        answer = answer.item() if answer.dim() == 0 else None
    return None if answer is None or len(str(answer)) > 60 else str(answer)
