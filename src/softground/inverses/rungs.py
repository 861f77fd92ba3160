"""The rungs that need nothing but a rule: table, scan, list and, where nothing else serves, chains."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from ..constraints.cnf import Cnf
from ..constraints.program import Program
from ..errors import InverseError
from ..preparing import duration, human, many, preparing, told
from .base import Inverse
from .circuit import Circuit
from .composite import composite
from .enumeration import Enumeration
from .ladder import RUNGS as RUNGS
from .ladder import Ask, Cache, GivesWay
from .lists import MOST_EACH, Found, Key, Lists, keys
from .scanned import Scanned
from .solved import Solved
from .table import Table, seconds_for

CHUNK_STATES = 2**18  # of a relation, tried at a time
PROBE = 4  # answers to list one by one, to estimate the time for the others
LEAST = 5.0  # seconds for an answer
WARM = 20  # an estimate counts after 1/20 of the budget: the first answers include setup
ROUND = 16  # answers for each process between checks of the time


@RUNGS.register("table")
def table(ask: Ask) -> tuple[Inverse, str]:
    """Try every state."""
    if ask.inverse.exact:
        if isinstance(ask.inverse, Table):
            return ask.inverse, f"all {ask.space.size:,} states fit into a table"
        raise GivesWay("S_y is known without one")
    if isinstance(ask.constraint, Program):
        return _of_function(ask, ask.constraint)
    size, answers = ask.space.size, len(ask.answers)
    if size * answers > ask.budget.solutions:
        most = f"at most {ask.budget.solutions:,}"
        raise GivesWay(f"{many(size)} states, tried for {answers:,} answers, are too many ({most})")
    with preparing("Table of the states", answers) as done:
        for listed in timed(_tried(ask), answers, ask.budget.seconds, "a table of the states"):
            ask.found |= listed
            done(len(ask.found))
            longest = max(len(index) for index, _ in listed.values())
            if longest > MOST_EACH:
                raise GivesWay(f"an answer has {longest:,} solutions; at most {MOST_EACH:,} are summed at every step")
    return _whole(ask), f"all {size:,} states were tried for each of {answers:,} answers"


def _whole(ask: Ask) -> Lists:
    return Lists(ask.inverse, {key: index for key, (index, _) in ask.found.items()})


def _of_function(ask: Ask, rule: Program) -> tuple[Inverse, str]:
    """A table of a function's answers, after a small sample has told how long it takes."""
    size, needed = ask.space.size, Table.bytes_needed(ask.space)
    if needed > ask.budget.bytes:
        raise GivesWay(f"{many(size)} states take {human(needed)}, more than {human(ask.budget.bytes)}")
    needs = seconds_for(rule)
    if needs > ask.budget.seconds:
        if not isinstance(ask.inverse, Enumeration) or size > ask.inverse.cap:
            raise GivesWay(
                f"{many(size)} states would take {duration(needs)}, more than {duration(ask.budget.seconds)}"
            )
        warnings.warn(
            f"The rule is slow: a table of its {size:,} states takes about {duration(needs)}, and first states for "
            "chains as long. A Scan, parts (All), or a vectorised function would be quicker.",
            stacklevel=2,
        )
    told(f"A table of {many(size)} states takes about {duration(needs)}")
    return Table(rule, limit=ask.budget.bytes), f"all {size:,} states fit into a table"


def _tried(ask: Ask) -> Iterator[dict[Key, Found]]:
    """S_y of each answer in turn, by a solver that evaluates its formula, or by the rule itself."""
    size, inverse = ask.space.size, ask.inverse
    lister = inverse.lister(size, ask.budget.seconds, 1) if isinstance(inverse, Solved) else None
    for y in torch.split(ask.answers, 1):
        if lister is not None:
            (listed,) = lister.some_solutions(y)
            if not listed[1]:
                raise GivesWay(f"the solver could not decide all states of the answer {ask.constraint.answer(y[0])!r}")
        else:
            parts = [index[_feasible(ask, index, y)] for index in torch.split(torch.arange(size), CHUNK_STATES)]
            listed = torch.cat(parts), True
        yield {keys(y)[0]: listed}


def _feasible(ask: Ask, index: Tensor, y: Tensor) -> Tensor:
    return ask.constraint.feasible(ask.space.states(index), y.expand(len(index), *y.shape[1:]))


@RUNGS.register("scan")
def scan(ask: Ask) -> tuple[Inverse, str]:
    """Take a scan's own recursion."""
    if isinstance(ask.inverse, Scanned):
        return ask.inverse, "the rule reads its symbols from left to right with a small state"
    advice = "; one that reads its symbols from left to right with a small memory can be written as one"
    raise GivesWay(f"the rule is no Scan{advice * isinstance(ask.constraint, Program)}")


@RUNGS.register("list")
def lists(ask: Ask) -> tuple[Inverse, str]:
    """List S_y of every answer, by a solver."""
    if ask.inverse.exact:
        return ask.inverse, "S_y is listed"
    if not isinstance(ask.inverse, Solved):
        raise GivesWay("no solver lists S_y of a rule of this kind; those in CPMpy and Z3 can be solved")
    if not ask.space.indexable:
        raise GivesWay(f"{many(ask.space.size)} states have no 64-bit numbers")
    answers, total = len(ask.answers), 0
    with preparing("Lists of solutions", answers) as done:
        for some in timed(_listed(ask, ask.inverse), answers, ask.budget.seconds, "lists of solutions"):
            ask.found |= some
            total += sum(len(index) for index, _ in some.values())
            done(len(ask.found))
            for row, (index, whole) in some.items():
                if not whole:
                    more = f"has more than {len(index):,} solutions" if len(index) else "was not solved in time"
                    raise GivesWay(f"the answer {_answer(ask, row)!r} {more}")
            if total / len(ask.found) * answers > ask.budget.solutions:
                mean = total / len(ask.found)
                raise GivesWay(
                    f"{answers:,} answers with {mean:,.0f} solutions on average are more than the "
                    f"{ask.budget.solutions:,} allowed"
                )
    return _whole(ask), f"{total:,} solutions of {answers:,} answers, proved to be all"


def _listed(ask: Ask, solver: Solved) -> Iterator[dict[Key, Found]]:
    """Lists of some answers at a time: first a few, by one process, then as many as there are processors."""
    most = max(1, min(MOST_EACH, ask.budget.solutions))
    kept = Cache(ask.constraint, ask.space, ask.budget.cache)
    each = min(ask.budget.seconds, max(LEAST, PROBE * ask.budget.seconds / len(ask.answers)))  # seconds for an answer
    lister, missing = solver.lister(most, each, 1), []
    for y in torch.split(ask.answers, 1):
        if known := _known(kept, y, most):
            yield known
        else:
            missing.append(y)
    turns = missing[:PROBE]
    if len(missing) > PROBE:
        turns += torch.split(torch.cat(missing[PROBE:]), ROUND * (os.cpu_count() or 1))
    for turn, y in enumerate(turns):
        if turn == PROBE and len(missing) > PROBE + ROUND:
            lister = solver.lister(most, each, os.cpu_count() or 1)
        if known := _known(kept, y, most):  # another process was faster
            yield known
        y = y[[key not in known for key in keys(y)]]
        if not len(y):
            continue
        found = lister.some_solutions(y)
        for row, (index, whole) in zip(y, found, strict=True):
            if whole:
                kept.write(row, index)
        yield dict(zip(keys(y), found, strict=True))


def _known(kept: Cache, y: Tensor, most: int) -> dict[Key, Found]:
    """The lists of these answers that are kept."""
    found = zip(keys(y), (kept.read(row, most) for row in y), strict=True)
    return {key: (index, True) for key, index in found if index is not None}


def timed(parts: Iterator[dict[Key, Found]], total: int, seconds: float, what: str) -> Iterator[dict[Key, Found]]:
    """The parts of a preparation, as long as all ``total`` answers are expected to finish in time."""
    began, count, first = time.perf_counter(), 0, True
    for part in parts:
        yield part
        count += len(part)
        spent = time.perf_counter() - began
        needs = spent / count * total
        if needs > seconds < WARM * spent and count < total:
            raise GivesWay(
                f"{what} would take {duration(needs)}, more than {duration(seconds)} ({count:,} of {total:,} answers "
                f"took {duration(spent)})"
            )
        if first and count < total:
            told(f"{what[0].upper()}{what[1:]} of {total:,} answers: about {duration(needs)}")
        first = False


@RUNGS.register("circuit")
def circuit(ask: Ask) -> tuple[Inverse, str]:
    """Compile a propositional rule."""
    if not isinstance(ask.constraint, Cnf):
        raise GivesWay("the rule is no Cnf")
    try:
        made = Circuit(ask.constraint, seconds=min(ask.budget.seconds, 1e6))
    except InverseError as error:
        raise GivesWay(str(error)) from error
    return made, f"compiled once: {made!r}"


@RUNGS.register("parts")
def parts(ask: Ask) -> tuple[Inverse, str]:
    """Take the law of every part; the whole rule's inverse is that of chains."""
    own = ask.constraint.parts()
    if not own:
        raise GivesWay("the rule is no conjunction of parts")
    if not composite(ask.constraint, ask.inverse).exact:
        raise GivesWay(f"one of {len(own):,} parts has no law of its own")
    return chains(ask)[0], f"{len(own):,} parts have exact laws; the whole exceeds the budget"


@RUNGS.register("chains")
def chains(ask: Ask) -> tuple[Inverse, str]:
    """Walk; what was listed gives first states."""
    if isinstance(ask.inverse, Solved):
        ask.inverse.refused = True
        ask.inverse.begun = {key[0]: index for key, (index, _) in ask.found.items() if len(index)}
    return ask.inverse, "S_y can be neither listed nor summed within the budget, so that chains walk"


def _answer(ask: Ask, key: Key) -> object:
    return ask.constraint.answer(torch.tensor(key).reshape(ask.answers.shape[1:]))
