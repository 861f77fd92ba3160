"""The combinations of symbols that occur, each with its answer, which maps of symbols must fit.

They are declared by the user, or those of training data whose symbols are known, or, by assumption, all of S_y for the
answers looked at. Where S_y cannot be listed some of its members are tried: drawn ones, and those made of few different
symbols, since these refute most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from ..data.columns import listed
from ..errors import ConstraintError, SpaceError
from ..task import Task
from ..walks.solutions import Sample
from ..walks.time_limit import TimeLimit
from .map_search import FittedRows
from .symbols import RenamableSymbols

DIFFERENT = 3  # symbols in a combination that is made of few
EACH, MOST = 64, 40_000  # combinations of the same few symbols; of all
DRAWN = 64  # solutions drawn at random that are tried beside them


@dataclass(frozen=True, eq=False)
class Support:
    """Codes ``z[combinations, sites]`` and their encoded answers, under an ``assumption`` in words: 'if …'."""

    z: Tensor
    y: Tensor
    assumption: str
    whole: bool = True  # whether these are all that is assumed to occur

    def __len__(self) -> int:
        return len(self.z)


class SymbolRows(FittedRows):
    """Combinations that occur; a variable is a symbol, its value the number of the symbol that it is read as."""

    def __init__(self, task: Task, support: Support, symbols: RenamableSymbols) -> None:
        self.task, self.support, self.symbols = task, support, symbols
        self.of = symbols.of(support.z)
        scopes = torch.zeros(len(self.of), symbols.count, dtype=torch.bool).scatter_(1, self.of, True)
        distinct, group = torch.unique(scopes, dim=0, return_inverse=True)
        self.scopes = distinct.numpy()
        self.groups = list(group.argsort(stable=True).split(torch.bincount(group).tolist()))

    def domains(self) -> list[int]:
        """The images that a symbol may have: those that can stand wherever it occurs; itself where it never does."""
        found = []
        for e in range(self.symbols.count):
            at = (self.of == e).any(0)
            values = self.symbols.where[at].all(0) if bool(at.any()) else torch.arange(self.symbols.count) == e
            found.append(sum(1 << v for v in values.nonzero().flatten().tolist()))
        return found

    def fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        images = maps[:, self.of[rows]]
        states = self.symbols.code[torch.arange(images.shape[2]), images]
        y = self.support.y[rows].expand(len(maps), *[-1] * self.support.y.dim()).flatten(0, 1)
        return self.task.feasible(states.flatten(0, 1), y).view(images.shape[:2])


def declared(task: Task, given: object, sample: Sample, every: Sequence[object] | None = None) -> Support:
    """Read given combinations: symbols, a tensor of codes, or data with known symbols.

    ``every`` are all the answers given, for combinations that none of the sample's answers fits.
    """
    symbols, answers = _known(given), getattr(given, "y", None)
    if answers is not None and symbols is not None:
        at = (symbols >= 0).all(-1).nonzero().flatten()
        _check(task, symbols[at], "Example", at.tolist())
        y = task.constraint.encode([answers[i] for i in at.tolist()])
        fits = task.feasible(symbols[at], y)
        if not bool(fits.all()):
            row = int((~fits).nonzero()[0])
            read = task.space.decode(symbols[at[row]][None])[0]
            raise ConstraintError(
                f"Example {int(at[row])}: its symbols {read} do not explain its answer "
                f"{task.constraint.answer(y[row])!r}. Correct the symbols, the answer or the rule."
            )
        return _support(symbols[at], y, "training data")
    z = given if isinstance(given, Tensor) else task.space.encode(given)
    _check(task, z, "Combination", range(len(z)))
    return _support(z, _answers(task, z, sample, every), "declared")


def _known(given: object) -> Tensor | None:
    for name in ("symbols", "known"):
        if isinstance(found := getattr(given, name, None), Tensor):
            return found
    return None


def _support(z: Tensor, y: Tensor, source: str) -> Support:
    if not len(z):
        raise SpaceError("No combination of symbols was given; give at least one, or leave support out.")
    rows = torch.unique(torch.cat([z, y.reshape(len(y), -1)], 1), dim=0) if not y.is_floating_point() else None
    if rows is not None:
        z, y = rows[:, : z.shape[1]], rows[:, z.shape[1] :].reshape(-1, *y.shape[1:])
    many = "combination" if len(z) == 1 else "combinations"
    words = f"{len(z):,} {many} " + ("that were declared" if source == "declared" else "in the training data")
    return Support(z, y, f"if only the {words} occur{'s' * (len(z) == 1)}")


def _check(task: Task, z: Tensor, what: str, places: Sequence[int]) -> None:
    """Codes must be those of the space's symbols."""
    space = task.space
    if z.dim() != 2 or z.shape[1] != space.sites or z.is_floating_point():
        raise SpaceError(
            f"A support of {z.dtype} and shape {tuple(z.shape)} was given; expected whole numbers [combinations, "
            f"{space.sites}], the codes of symbols, or a list of combinations of symbols."
        )
    wrong = ((z < 0) | (z >= torch.tensor(space.sizes))).nonzero()
    if len(wrong):
        row, site = wrong[0].tolist()
        raise SpaceError(
            f"{what} {places[row]} has the code {int(z[row, site])} at site {site}; its alphabet has the codes 0 … "
            f"{space.sizes[site] - 1}."
        )


def _answers(task: Task, z: Tensor, sample: Sample, every: Sequence[object] | None) -> Tensor:
    """The answer of each combination: the rule's, or the first that fits, of the sample and then of all given."""
    computed = task.computed(z)
    if computed is not None:
        missing = [row for row, answer in enumerate(computed) if answer is None]
        if not missing:
            return task.constraint.encode(computed)
        row, why = missing[0], "has no answer under the rule"
    else:
        first = torch.cat([found.y for found in sample.found])
        found, left = first[:1].repeat(len(z), *[1] * (first.dim() - 1)), torch.arange(len(z))
        for y in _distinct(task, first, every):
            fits = task.feasible(z[left], y.expand(len(left), *y.shape[1:]))
            found[left[fits]], left = y, left[~fits]
            if not len(left):
                return found
        row, why = int(left[0]), "explains none of the answers given"
    raise ConstraintError(
        f"Combination {row}, {task.space.decode(z[row : row + 1])[0]}, {why}. Remove it from the support, or correct "
        "the rule or the answers."
    )


def _distinct(task: Task, first: Tensor, every: Sequence[object] | None) -> Iterator[Tensor]:
    """The ``first`` encoded answers one by one, then all others; these are encoded only if they are needed."""
    yield from torch.split(first, 1)
    if every is not None:
        yield from torch.split(torch.unique(task.constraint.encode(listed(every)), dim=0), 1)


def everything(task: Task, sample: Sample, seed: int, limit: TimeLimit | None = None) -> Support:
    """All of S_y for every answer of the sample, or some of it."""
    limit = limit or TimeLimit()
    few = None if all(found.whole for found in sample.found) else _of_few_symbols(task, seed, limit)
    z, y = [], []
    for found in sample.found:
        some = found.z if found.whole else found.z[:DRAWN]
        if not found.whole and few is not None:
            for rows in limit.batches(len(few)):
                part = few[rows]
                some = torch.cat([some, part[task.feasible(part, found.answers(len(part)))]])
            some = torch.unique(some, dim=0)
        z.append(some)
        y.append(found.answers(len(some)))
    whole, count = few is None, sum(map(len, z))
    answers = f"{len(z)} answer{'s' * (len(z) > 1)}"
    tried = f"{count:,} combinations" if whole else f"of which {count:,} combinations were tried"
    return Support(torch.cat(z), torch.cat(y), f"if every combination in S_y occurs ({answers}, {tried})", whole)


def _of_few_symbols(task: Task, seed: int, limit: TimeLimit) -> Tensor:
    """States made of at most :data:`DIFFERENT` symbols, all of them where they are few."""
    symbols, generator = RenamableSymbols(task.space), torch.Generator().manual_seed(seed)
    found: list[Tensor] = [torch.zeros(0, task.space.sites, dtype=torch.long)]
    where = symbols.where.tolist()  # by site
    for different in range(1, DIFFERENT + 1):
        for chosen in combinations(range(symbols.count), different):
            if not all(any(at[e] for e in chosen) for at in where) or sum(map(len, found)) >= MOST:
                continue
            if not limit.left():
                break
            choices = [[e for e in chosen if at[e]] for at in where]
            if math.prod(map(len, choices)) <= EACH:
                picks = torch.cartesian_prod(*map(torch.tensor, choices)).view(-1, task.space.sites)
            else:
                draws = [torch.randint(len(c), (EACH,), generator=generator) for c in choices]
                picks = torch.stack([torch.tensor(c)[d] for c, d in zip(choices, draws, strict=True)], 1)
            found.append(symbols.code[torch.arange(task.space.sites), picks])
    distinct: Tensor = torch.unique(torch.cat(found), dim=0)
    return distinct
