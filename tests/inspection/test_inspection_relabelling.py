"""Relabellings that keep every S_y: counted against all permutations, and the tasks' own."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch

from inspection_cases import Unlisted
from softground import Categorical, Program, Task
from softground.inspection import inspect
from softground.inspection.renamings import Relabellings, relabellings
from softground.inspection.symbols import RenamableSymbols
from softground.inverses import Enumeration
from softground.tasks.addition import addition_task
from softground.tasks.formulas import formula_task
from softground.tasks.sudoku import sudoku_task
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit


def search(task: Task, answers: object, count: int = 32) -> Relabellings:
    return relabellings(task, take(task, answers, count, 0, TimeLimit()), TimeLimit())  # type: ignore[arg-type]


def by_trying_all(task: Task, answers: list[object]) -> int:
    """Every permutation of the one alphabet, tried on every solution."""
    space, y = task.space, task.constraint.encode(answers)
    everything = space.states(torch.arange(space.size))
    kept = 0
    for images in permutations(range(space.width)):
        renamed = torch.tensor(images)[everything]
        kept += all(
            bool(
                (
                    task.feasible(everything, one.expand(len(everything)))
                    == task.feasible(renamed, one.expand(len(everything)))
                ).all()
            )
            for one in y
        )
    return kept


RULES = {
    "xor": (2, 2, lambda a, b: a ^ b, 2),
    "majority": (3, 2, lambda a, b, c: a + b + c >= 2, 1),
    "all different": (3, 3, lambda a, b, c: len({a, b, c}) == 3, 6),
    "cyclic": (2, 4, lambda a, b: (b - a) % 4, 4),  # rotations, and no exchange of two symbols
    "difference": (2, 4, lambda a, b: min((b - a) % 4, (a - b) % 4), 8),  # rotations and reflections
    "sum": (2, 4, lambda a, b: a + b, 1),
    "equal": (2, 5, lambda a, b: a == b, 120),
    "parity": (3, 4, lambda a, b, c: (a + b + c) % 2, 4),  # 0 with 2, 1 with 3
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "drawn"])
def test_the_group_is_the_one_that_trying_all_finds(name: str, listed: bool) -> None:
    sites, symbols, rule, expected = RULES[name]
    space = Categorical([range(symbols)] * sites)
    program = Program(rule, space)
    task = Task(space, program)
    answers = list({rule(*z) for z in space.decode(space.states(torch.arange(space.size)))})
    if not listed:  # solutions are drawn, none is counted
        task = Task(space, program, Unlisted(Enumeration(space, program)))
    found = search(task, answers)
    assert found.count == expected == by_trying_all(task, answers)
    assert found.finished
    assert found.proved == (listed or expected == 1)


def test_examples_are_relabellings() -> None:
    space = Categorical([range(4)] * 2)
    task = Task(space, Program(lambda a, b: (b - a) % 4, space))
    found = search(task, [0, 1, 2, 3])
    assert found.examples == ("0 → 1 → 2 → 3 → 0",)
    assert not found.identifies


@pytest.mark.parametrize("size", [4, 9])
def test_sudoku_leaves_all_names_open(size: int) -> None:
    found = search(sudoku_task(size), [True])
    assert found.count == math.factorial(size)
    assert found.proved == (size == 4)
    assert found.groups == (" ".join(map(str, range(1, size + 1))),)


@pytest.mark.parametrize("length", [3, 5, 7])
def test_formulas_identify_their_symbols(length: int) -> None:
    found = search(formula_task(length), None)
    assert found.identifies
    assert found.proved
    assert found.examples == ()
    assert len(found.groups) == 2  # digits and operators


@pytest.mark.parametrize("digits", [1, 2, 15])
def test_addition_identifies_its_digits(digits: int) -> None:
    """The two numbers may change places, but that moves sites; no renaming of digits keeps every sum."""
    largest = 2 * (10**digits - 1)
    answers = sorted({round(k * largest / 40) for k in range(41)})
    assert search(addition_task(digits), answers).identifies


def test_a_sample_that_says_too_little_leaves_names_open() -> None:
    """Only sums of 9: each digit occurs as often as any other, and pairs may be exchanged."""
    found = search(addition_task(1), [9])
    assert found.count == 2**5 * math.factorial(5)
    assert found.proved


def test_symbols_stay_in_their_alphabets() -> None:
    """Sites with different alphabets that overlap: 2 stands in both, and may change places with neither."""
    space = Categorical([(1, 2), (2, 3)])
    task = Task(space, Program(lambda a, b: 0, space))
    assert search(task, [0]).count == 1
    own = Categorical([(1, 2), (1, 2)], head="site")  # a head a site: each may rename for itself
    found = search(Task(own, Program(lambda a, b: 0, own)), [0])
    assert found.count == 4
    shared = Categorical([(1, 2), (1, 2)])
    assert search(Task(shared, Program(lambda a, b: 0, shared)), [0]).count == 2


def test_a_search_that_is_cut_short_says_so() -> None:
    task = sudoku_task(4)
    sample = take(task, [True], 1, 0, TimeLimit())
    found = relabellings(task, sample, TimeLimit(), work=1)
    assert not found.finished
    assert not found.proved
    assert not found.identifies
    assert found.count < 24


def test_symbols_rename_and_return() -> None:
    space = Categorical([(1, 2, 3), "+-", (1, 2, 3)])
    symbols = RenamableSymbols(space)
    z = space.encode([(1, "+", 3), (2, "-", 2)])
    images = torch.tensor([1, 2, 0, 4, 3])
    renamed = symbols.relabelled(z, images)
    assert space.decode(renamed) == [(2, "-", 1), (3, "+", 3)]
    assert torch.equal(symbols.relabelled(renamed, images.argsort()), z)


def test_what_is_lost_is_said() -> None:
    """Three shapes and three colours under a Boolean rule that treats them alike: no symbol can be named."""
    space = Categorical(
        [("disc", "cone", "cube"), ("red", "green", ""), ("disc", "cone", "cube"), ("red", "green", "")]
    )
    task = Task(space, Program(lambda a, b, c, d: a == c and b == d, space))
    found = inspect(task, [True, False])
    assert found.identification is not None
    assert (found.identification.count, found.identification.nameless) == (36, True)
    text = " ".join(str(found).split())
    assert "No symbol can be named from y alone" in text
    assert "{red green ''}" in text  # the empty symbol is seen
    partly = inspect(Task(space, Program(lambda a, b, c, d: (a == "disc", b == d), space)))
    assert partly.identification is not None
    assert not partly.identification.nameless
    assert "y cannot tell apart {cone cube} and {red green ''}" in " ".join(str(partly).split())


def test_symbols_of_two_heads_are_searched_together() -> None:
    """Each site has its own alphabet; a solution is tried as soon as its own two symbols are assigned."""
    space = Categorical([range(10), range(10)], head="site")
    task = Task(space, Program(lambda a, b: (a - b) % 10, space))
    found = search(task, list(range(10)))
    assert found.finished
    assert found.count == 10  # the shifts
