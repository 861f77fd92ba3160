"""Readings: a network that may read any symbol at any site. What is no state is wrong, and known to nobody else."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from lessons import Lesson
from papers.li2023.baselines import MAPO, BackSearch, Reinforce
from papers.li2023.baselines.back_search import correct_one
from problems import PROBLEMS
from softground import Categorical, Scan, Task
from softground.dice import Sampler
from softground.errors import SpaceError
from softground.inverses import Inverse, Scanned
from softground.kernels import Exact
from softground.schedules import Constant
from softground.target import Target
from softground.training import SemanticLoss, SoftenedGrounding, Supervised, Teacher, ZeroDegree

PROBLEM = PROBLEMS[4]  # formulas of three symbols, digits 1 … 4 and + - *
SPACE, PLAIN = PROBLEM.space, PROBLEMS[1].space
TASK = Task(SPACE, PROBLEM.program, PROBLEM.table)
STRINGS = list(itertools.product(SPACE.symbols, repeat=3))  # all 343, formulas or not


def random_output(rows: int = 1, seed: int = 0) -> Tensor:
    return 1.5 * torch.randn(rows, 3, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def output_for(*strings: tuple[object, ...]) -> Tensor:
    """An output whose most probable strings are these."""
    places = torch.tensor([[SPACE.symbols.index(symbol) for symbol in string] for string in strings])  # type: ignore[arg-type]
    return 3 * torch.nn.functional.one_hot(places, 7).double()


def string_probability(output: Tensor, string: tuple[object, ...]) -> Tensor:
    """The plain product of softmaxes over all symbols."""
    rows = output.log_softmax(-1)
    return sum(rows[i, SPACE.symbols.index(s)] for i, s in enumerate(string)).exp()  # type: ignore[union-attr, arg-type]


def codes(string: tuple[object, ...]) -> Tensor:
    return torch.tensor([[SPACE.named[i].index(s) for i, s in enumerate(string)]])  # type: ignore[arg-type]


def value(a: object, op: object, b: object) -> int | None:
    if not (isinstance(a, int) and isinstance(op, str) and isinstance(b, int)):
        return None
    return {"+": a + b, "-": a - b, "*": a * b}[op]


def scan() -> Scan:
    """The same rule, read from left to right."""

    def step(memory: tuple[int, str], symbol: int | str, site: int) -> tuple[int, str]:
        if isinstance(symbol, str):
            return memory[0], symbol
        return {"+": memory[0] + symbol, "-": memory[0] - symbol, "*": memory[0] * symbol}[memory[1]], "+"

    return Scan(step, SPACE, start=(0, "+"), accept=lambda memory, y: memory[0] == y)


@pytest.mark.parametrize("make", [lambda: PROBLEM.table, lambda: PROBLEM.enumeration, lambda: PROBLEM.ragged])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_the_law_is_that_of_brute_force_over_all_strings(make: type[Inverse], gamma: float) -> None:
    """Q* over 343 strings of which only formulas are feasible: mass, marginals and mode."""
    output, y = random_output(), PROBLEM.program.encode([4])
    right = [s for s in STRINGS if value(*s) == 4]
    weight = torch.stack([string_probability(output[0], s) ** (1 / gamma) for s in right])
    law = make().law(Target.at(SPACE.belief(output), y, gamma))
    assert float(law.log_mass().exp()) == pytest.approx(float(weight.sum()))
    marginals = law.marginals()[0]
    for site, alphabet in enumerate(SPACE.alphabets):
        for code, symbol in enumerate(alphabet):
            share = sum(w for w, s in zip(weight, right, strict=True) if s[site] == symbol) / weight.sum()
            assert float(marginals[site, code]) == pytest.approx(float(share))
    assert SPACE.decode(law.mode()) == [right[int(weight.argmax())]]


def test_all_strings_have_probability_one_and_the_states_less() -> None:
    output = random_output()
    belief = SPACE.belief(output)
    found = torch.cat([belief.log_prob(codes(s)) for s in STRINGS]).exp()
    assert torch.allclose(found, torch.stack([string_probability(output[0], s) for s in STRINGS]))
    assert float(found.sum()) == pytest.approx(1.0)
    everything = SPACE.states(torch.arange(SPACE.size))
    assert float(belief.rows(torch.zeros(SPACE.size).long()).log_prob(everything).exp().sum()) < 0.9
    assert float(belief.marginals().sum(-1).min()) == pytest.approx(1.0)


def test_a_reading_has_a_name_and_no_place_among_the_states() -> None:
    z = SPACE.belief(output_for(("-", 3, 2), (1, "+", 4))).mode()
    assert SPACE.decode(z) == [("-", 3, 2), (1, "+", 4)]
    assert SPACE.holds(z).tolist() == [False, True]
    y = TASK.constraint.encode([5, 5])
    assert TASK.feasible(z, y).tolist() == [False, True]
    assert TASK.admissible(z).tolist() == [False, True]
    assert TASK.compute(z) == [None, 5]
    with pytest.raises(SpaceError, match="has '-' at site 0"):
        SPACE.encode([("-", 3, 2)])


@pytest.mark.parametrize("kind", ["table", "enumeration", "scan"])
def test_no_rule_takes_a_strange_reading_for_another_state(kind: str) -> None:
    """A code beyond an alphabet has the index of some state, and some entry of every table."""
    rule = scan() if kind == "scan" else PROBLEM.program
    inverse = {
        "table": lambda: PROBLEM.table,
        "enumeration": lambda: PROBLEM.enumeration,
        "scan": lambda: Scanned(rule),
    }
    task = Task(SPACE, rule, inverse[kind]())  # type: ignore[arg-type]
    z = torch.cat([codes(s) for s in STRINGS])
    for answer in (4, 5, -1):
        y = rule.encode([answer]).expand(len(z))
        assert task.feasible(z, y).tolist() == [value(*s) == answer for s in STRINGS]


def test_samples_are_strings_with_their_probabilities() -> None:
    output = random_output(seed=3)
    counts = dict.fromkeys(STRINGS, 0)
    for s in SPACE.decode(SPACE.belief(output.expand(20_000, -1, -1)).sample(Sampler(0))):
        counts[s] += 1
    expected = torch.stack([string_probability(output[0], s) for s in STRINGS])
    seen = torch.tensor(list(counts.values())).double() / 20_000
    # Each count is binomial; five standard deviations of 343 of them: one false alarm in 5,000 seeds.
    assert bool(((seen - expected).abs() <= 5 * (expected / 20_000).sqrt() + 1e-3).all())
    assert float(seen[[value(*s) is None for s in STRINGS]].sum()) > 0.1


TEACHERS: dict[str, Teacher] = {
    "grounding": SoftenedGrounding(Exact(PROBLEM.table), Constant(1.0)),
    "chains": SoftenedGrounding(Exact(PROBLEM.table, marginals=False), Constant(1.0)),
    "semantic": SemanticLoss(),
    "sup": Supervised(),
    "zero": ZeroDegree(),
    "ngs": BackSearch(),
    "mapo": MAPO(),
}


@pytest.mark.parametrize("name", TEACHERS)
def test_every_loss_pushes_strange_symbols_down(name: str) -> None:
    """Of the outputs, those of symbols that cannot stand at a site fall; with grammatical readings they stay."""
    formulas = [(1, "+", 3), (4, "*", 1)]
    z, output = SPACE.encode(formulas), random_output(2, seed=1)
    if name in ("zero", "ngs", "mapo"):  # which learn from what the network finds by itself
        output = output_for(*formulas)
    gradients = []
    for space in (SPACE, PLAIN):
        leaf = output.clone().requires_grad_()
        problem = PROBLEM if space is SPACE else PROBLEMS[1]
        task = Task(space, problem.program, problem.table)
        lesson = Lesson(TEACHERS[name], task, task.constraint.encode([4, 4]))
        if name == "mapo":
            known = lesson.memory
            known["memory"][:, 0], known["rewards"][:, 0], known["held"][:] = z, 1.0, 1
        (found,) = torch.autograd.grad(lesson.loss(space.belief(leaf), symbols=z).loss, leaf)
        gradients.append(torch.cat([found[:, ::2, 4:].flatten(), found[:, 1, :4].flatten()]))
    if name == "mapo":  # an outside draw pulls too, by less than the memory pushes
        assert float(gradients[0].sum()) > 0
    else:
        assert bool((gradients[0] > 0).all())
    assert bool((gradients[1] == 0).all())


def test_a_policy_is_paid_nothing_for_what_is_no_formula() -> None:
    """REINFORCE draws from all strings: with reward 1 for every answer, only formulas would be paid."""
    output = torch.zeros(1, 3, 7, dtype=torch.float64)
    output[..., 4:] = 9.0  # operators everywhere
    lesson = Lesson(Reinforce(), TASK, TASK.constraint.encode([4]))
    outcome = lesson.loss(SPACE.belief(output.expand(500, -1, -1)), torch.zeros(500).long())
    assert float(outcome.figures["reward"].max()) == 0.0


def test_back_search_mends_one_strange_symbol_and_not_two() -> None:
    belief = SPACE.belief(output_for(("-", "+", 3), (2, 2, 2), (2, 2, "+")))
    y = TASK.constraint.encode([4, 4, 4])
    found = correct_one(TASK.inverse, belief, belief.mode(), y)
    assert found.found.tolist() == [True, True, False]
    assert SPACE.decode(found.z)[0] == (1, "+", 3)
    assert SPACE.decode(found.z)[1] in [(2, "+", 2), (2, "*", 2)]
    assert torch.equal(found.z[2], belief.mode()[2])


def test_a_correction_is_the_most_probable_formula_one_symbol_away() -> None:
    output, y = random_output(400, seed=5), TASK.constraint.encode([4] * 400)
    belief = SPACE.belief(output)
    found = correct_one(TASK.inverse, belief, belief.mode(), y)
    for row, read in enumerate(SPACE.decode(belief.mode())):
        near = [s for s in STRINGS if value(*s) == 4 and sum(a != b for a, b in zip(s, read, strict=True)) <= 1]
        assert bool(found.found[row]) == bool(near)
        best = max(near, key=lambda s: float(string_probability(output[row], s)), default=read)
        assert SPACE.decode(found.z[row : row + 1]) == [best]


def test_weights_of_chains_know_nothing_of_other_readings() -> None:
    belief = SPACE.belief(random_output())
    for gamma in (0.5, 1.0, math.inf):
        weights = belief.tempered(gamma)
        assert weights.scores.shape[-1] == SPACE.width
        assert bool(SPACE.holds(weights.sample(Sampler(0))).all())
        assert bool(SPACE.holds(weights.mode()).all())
    assert bool(SPACE.holds(SPACE.uniform(2, torch.device("cpu")).sample(Sampler(0))).all())


def test_the_other_mode_is_that_of_the_other_readings() -> None:
    output = random_output(50)
    both = SPACE.belief(output), PLAIN.belief(output)
    assert torch.equal(both[0].other_mode(), both[1].mode())
    assert torch.equal(both[1].other_mode(), both[0].mode())
    assert not torch.equal(both[0].mode(), both[1].mode())
    assert torch.equal(both[0].rows(torch.tensor([7])).detach().mode(), both[0].mode()[7:8])


def test_where_all_sites_are_alike_there_is_no_difference() -> None:
    alike = Categorical([range(3)] * 2, readings="all")
    output = torch.randn(4, 2, 3)
    assert not alike.mixed
    assert torch.equal(alike.belief(output).scores, Categorical([range(3)] * 2).belief(output).scores)


def test_a_wide_alphabet_beside_a_narrow_one_is_mixed() -> None:
    """The widest alphabet may be the union itself."""
    space = Categorical([(1, 2, "+"), (1, 2)], readings="all")
    assert space.mixed
    output = torch.zeros(1, 2, 3)
    output[..., 2] = 9.0
    z = space.belief(output).mode()
    assert space.decode(z) == [("+", "+")]
    assert space.holds(z).tolist() == [False]


@pytest.mark.parametrize(("head", "readings"), [("shared", "some"), ("site", "all")])
def test_readings_that_there_are_not(head: str, readings: str) -> None:
    with pytest.raises(SpaceError, match=f"readings='{readings}' was given; expected 'grammatical'"):
        Categorical([(1, 2), "+-"], head, readings)  # type: ignore[arg-type]
