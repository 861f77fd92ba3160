"""First states of formulas that are too long to tabulate."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from softground.constraints import Between, Not, OneOf, Program
from softground.errors import InverseError
from softground.inverses import Enumeration, Table
from softground.inverses.table import TABULATE_VECTORISED
from softground.projections import Dropped
from softground.tasks.formulas import Formulas, completions, formula_program, formula_task
from softground.tasks.formulas.completions import DENOMINATOR_BOUND, LongFormulas, missing
from softground.tasks.formulas.problem import LONGEST_TABULATED
from softground.training import TrainingSet
from softground.training.first_states import first_states


def drawn(length: int, count: int, seed: int) -> tuple[Program, Tensor, Tensor]:
    """Random formulas and their values."""
    program, generator = formula_program(length), torch.Generator().manual_seed(seed)
    truth = (torch.rand(count, length, generator=generator) * torch.tensor(program.space.sizes)).long()
    tops, bottoms = program.function(*program.space.arguments(truth))
    values = [Fraction(n, d) for n, d in zip(tops.tolist(), bottoms.tolist(), strict=True)]
    return program, truth, program.encode(values)


@pytest.mark.parametrize("length", [9, 11, 19, 25, 35])
def test_first_states_are_feasible_and_not_the_truth(length: int) -> None:
    program, truth, y = drawn(length, 60, seed=length)
    start = LongFormulas(program).start(y, seed=0)
    assert bool(start.found.all())
    assert bool(program.feasible(start.z, y).all())
    assert (start.z != truth)[start.found].double().mean() > 0.3
    again, other = (LongFormulas(program).start(y, seed=seed) for seed in (0, 1))
    assert torch.equal(again.z, start.z)
    assert not torch.equal(other.z, start.z)


HARD = [  # a rare denominator, or a large number; one draw in 10¹⁰ would meet them, if any
    "5/9/6*4/7-1+2",
    "1/8/9-3*9*6-2",
    "9/4/8-4*9+1+1",
    "8*6*9*7*5*9",
    "9*9*9*9*9*9*9*9*9*9*9*9*9",
    "6/8/7/6/9/5/1/8/2-9+6-2/5",
    "4+5-7/9/8/6/9/9/5-2-4/6+9",
    "4/9-4*7*8*5*2*8-6-9-8-6/9",
    "4+4/3/5*7*6/9+6*1*3*9*7*6",
]


@pytest.mark.parametrize("text", HARD)
def test_hard_values_are_found_by_one_of_their_terms(text: str) -> None:
    program = formula_program(len(text))
    truth = program.space.encode([[int(s) if s.isdigit() else s for s in text]])
    y = program.encode(program.compute(truth))
    start = LongFormulas(program, draws=0).start(y, seed=0)
    assert start.found.tolist() == [True]
    assert program.feasible(start.z, y).tolist() == [True]


def test_terms_are_all_there_and_written_as_themselves() -> None:
    values = [Fraction(1)]
    for digits in range(1, 4):
        ways = [Fraction(d) for d in range(1, 10)]
        values = [v * w for v in values for w in ways] + ([v / w for v in values for w in ways] if digits > 1 else [])
        known = completions.term_values(digits)
        assert len(known) == len(set(values))
        for term in known.tolist():
            codes = completions.written(term, digits)
            text = "".join(str(c + 1) if site % 2 == 0 else "+-*/"[c] for site, c in enumerate(codes))
            before, last = split_last_term(text)
            assert before == 0
            assert last in values
            assert completions.whole_term(last, digits) == codes


def test_nothing_that_a_term_can_leave_is_missed() -> None:
    y = Fraction(7, 18)
    found = {(way.digits, way.operator, way.last, way.rest) for way in completions.peeled(y, 2, denominator=9, size=9)}
    for a, b in itertools.product(range(1, 10), repeat=2):
        for term in (Fraction(a * b), Fraction(a, b)):
            for way in ((2, 0, False, y - term), (2, 1, False, term - y), (2, 1, True, y + term)):
                assert (way in found) == (way[-1].denominator <= 9 and abs(way[-1]) <= 9)


@pytest.mark.parametrize("length", [11, 15, 25])
def test_a_run_on_long_formulas_starts_with_all_examples(length: int) -> None:
    problem = Formulas(length=length, train_size=300, test_size=1, image_size=4)
    task, train = problem.task(), problem.load(0).train
    y = task.constraint.encode(train.y)
    memory = first_states(TrainingSet(task, y), seed=0)
    assert memory.keys() == {"chains"}
    assert bool(task.feasible(memory["chains"], y).all())


def test_relations_among_long_formulas() -> None:
    program = formula_program(15)
    y = program.encode([Fraction(5133, 40), Between(10, 20), Not(7), None, OneOf(1, 2)])
    start = LongFormulas(program).start(y, seed=0)
    assert bool(start.found.all())
    assert bool(program.feasible(start.z, y).all())


def test_values_that_no_formula_has_get_no_state() -> None:
    program = formula_program(11)
    y = program.encode([Fraction(1, 101), Fraction(2**40, 7), Fraction(9)])
    start = LongFormulas(program, draws=512).start(y, seed=0)
    assert start.found.tolist() == [False, False, True]
    assert not bool(start.proved.any())


def test_fibres_are_those_of_enumeration() -> None:
    program, truth, y = drawn(11, 5, seed=0)
    dropped = torch.tensor([2, 7]).expand(5, -1)
    ours, theirs = (
        LongFormulas(program).fibre(truth, y, Dropped(dropped)),
        Enumeration(program.space, program).fibre(truth, y, Dropped(dropped)),
    )
    assert torch.equal(ours.mask, theirs.mask)
    assert bool((ours.count >= 1).all())


def test_the_task_takes_them_where_a_table_would_be_too_large() -> None:
    assert isinstance(formula_task(7).inverse, Table)
    assert isinstance(formula_task(11).inverse, LongFormulas)
    assert type(formula_task(5, "enumeration").inverse) is Enumeration
    with pytest.raises(InverseError, match="5 symbols are not long"):
        LongFormulas(formula_program(5))


@pytest.mark.parametrize("operator", range(4))
def test_a_prefix_and_what_it_lacks_make_the_value(operator: int) -> None:
    """Whatever the value and the prefix, a fraction that is looked up does what it should."""
    generator = torch.Generator().manual_seed(operator)
    program, _, y = drawn(13, 200, seed=operator)
    prefix = (torch.rand(200, 1, 5, generator=generator) * torch.tensor(program.space.sizes[:5])).long()
    top, bottom = program.numbers(y)[:, :1], program.numbers(y)[:, 1:]
    above, below = missing(top, bottom, prefix, operator)
    symbols = [part.flatten().tolist() for part in formula_program(5).space.arguments(prefix)]
    for a, b, answer, *parts in zip(above.tolist(), below.tolist(), map(program.answer, y), *symbols, strict=True):
        if b[0] == DENOMINATOR_BOUND:
            continue
        text = "".join(str(part) if site % 2 == 0 else "+-*/"[part] for site, part in enumerate(parts))
        before, last = split_last_term(text)
        done = before + last * Fraction(a[0], b[0]) if operator > 1 else before + last + Fraction(a[0], b[0])
        assert done == answer


def split_last_term(text: str) -> tuple[Fraction, Fraction]:
    """The value of all terms but the last, and the last term's, by hand."""
    terms = [Fraction(0)]
    sign, factor, times = 1, Fraction(1), True
    for symbol in text + "+":
        if symbol.isdigit():
            factor = factor * int(symbol) if times else factor / int(symbol)
        elif symbol in "*/":
            times = symbol == "*"
        else:
            terms.append(sign * factor)
            sign, factor, times = 1 if symbol == "+" else -1, Fraction(1), True
    return sum(terms[:-1], Fraction(0)), terms[-1]


def test_chains_begin_where_the_default_table_ends() -> None:
    sizes = [formula_program(length).space.size for length in (LONGEST_TABULATED, LONGEST_TABULATED + 2)]
    assert sizes[0] <= TABULATE_VECTORISED < sizes[1]


def test_they_are_learnt_by_chains_unless_another_kernel_is_asked_for() -> None:
    assert (Formulas().recipe().kernel, Formulas(length=9).recipe().kernel) == ("exact", "exact")
    long = Formulas(length=11)
    assert (long.recipe().kernel, long.recipe().steps, long.recipe().wait) == ("several", 0, 200)
    assert long.recipe(steps=2).steps == 2
    assert long.recipe(kernel="collapsed").kernel == "collapsed"
    assert long.recipe("paper").kernel == "metropolis"
