"""Scans against brute force: feasibility, the log-partition and its gradient, draws, fibres, the most probable z."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from automata import Automaton, random_automaton
from exhaustive import transition_matrix
from lessons import Lesson
from softground import Categorical, Examples, Learner, Program, Scan, Task, grounding_stages
from softground.constraints.scan.messages import OneByOne, suffix
from softground.constraints.scan.tree import Tree
from softground.dice import Sampler
from softground.errors import ConstraintError, InfeasibleAnswer
from softground.inverses import Enumeration, Scanned, most_probable
from softground.kernels import Exact, default_kernel
from softground.projections import Dropped
from softground.spaces import CategoricalBelief
from softground.target import Target
from softground.tasks.addition import addition_scan
from softground.training import SemanticLoss

CPU = torch.device("cpu")
SEEDS = range(60)


def automaton(seed: int) -> Automaton:
    """One to six sites, one to four states, with and without cues, plain and vectorised."""
    return random_automaton(
        seed,
        sites=1 + seed % 6,
        states=1 + seed % 4,
        symbols=2 + seed % 3,
        cued=seed % 2 == 0,
        vectorised=seed % 3 == 0,
    )


def recursions(case: Automaton) -> list[Any]:
    """All ways to compute the sums, whichever the rule would choose; sites by themselves, in pairs, all together."""
    layers: Any = case.scan.tables(CPU).layers
    return [OneByOne(layers), *(Tree.of(layers, width) for width in (1, 2, 4, len(layers)))]


def mass_of(scan: Scan, belief: CategoricalBelief, y: Tensor) -> Tensor:
    return Scanned(scan).law(Target(belief, y, 1.0)).log_mass()


@pytest.mark.parametrize("seed", SEEDS)
def test_feasible_states_are_those_read_by_hand(seed: int) -> None:
    case = automaton(seed)
    z, tables = case.everything, case.scan.tables(CPU)
    for answer in range(3):
        expected = torch.tensor([case.accepted(row, answer) for row in z.tolist()])
        y = case.scan.encode([answer]).expand(len(z))
        assert torch.equal(case.scan.feasible(z, y), expected)
        for recursion in recursions(case):
            end = recursion.final_state(tables.cues[y], z[:, tables.order])
            assert torch.equal(tables.accepts[y, end], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_log_partition_and_its_gradient_are_those_of_brute_force(seed: int) -> None:
    case = automaton(seed)
    belief, y = case.belief(3, seed), case.scan.encode([0, 1, 2])
    scores = belief.scores.detach().requires_grad_()
    expected = torch.stack(
        [
            CategoricalBelief(case.space, scores).rows(torch.full((len(s),), row)).log_prob(s).logsumexp(0)
            if len(s := case.solutions(row))
            else torch.tensor(-math.inf, dtype=torch.float64)
            for row in range(3)
        ]
    )
    found = mass_of(case.scan, CategoricalBelief(case.space, scores), y)
    assert torch.allclose(found, expected, atol=1e-12)
    finite = torch.isfinite(expected)
    if not bool(finite.any()):
        return
    gradient = [torch.autograd.grad(v[finite].sum(), scores, retain_graph=True)[0] for v in (found, expected)]
    allowed = case.space.layout(CPU).allowed
    assert torch.allclose(gradient[0], gradient[1].masked_fill(~allowed, 0.0), atol=1e-12)
    tables, read = case.scan.tables(CPU), case.scan.read(belief.scores)
    for recursion in recursions(case):
        at = recursion.shown(tables.cues[y], tables.accepts[y])
        value = recursion.log_partition(*at, read)
        assert torch.allclose(value[finite], expected[finite], atol=1e-12)
        assert bool((value[~finite] < -1e29).all())
        if isinstance(recursion, Tree):
            z, marginals = recursion.sample(*at, read, Sampler(seed)), recursion.marginals(*at, read)
            wanted = gradient[1].masked_fill(~allowed, 0.0)[finite]
            assert torch.allclose(case.scan.unread(marginals)[finite], wanted, atol=1e-12)
            assert bool(case.scan.feasible(case.scan.unread(z), y)[finite].all())


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize(("sites", "states"), [(37, 2), (23, 3), (75, 1)])
def test_marginals_of_long_scans_are_those_of_the_recursion_site_by_site(sites: int, states: int, scale: float) -> None:
    """Through several levels, the last blocks of which are not full; also where no double holds the probabilities."""
    space = Categorical([range(4)] * sites)
    scan = Scan(lambda s, d, site: (s * (site + 1) + d) % states if d + site % 3 else None, space)
    y, layers = scan.encode(list(range(states))), scan.tables(CPU).layers
    output = scale * torch.randn(states, sites, 4, generator=torch.Generator().manual_seed(sites)).double()
    scores, at = scan.read(output.log_softmax(-1)).requires_grad_(), scan.tables(CPU).at(y)
    total = suffix(layers, *at, scores)[0][:, 0]
    (expected,) = torch.autograd.grad(total.sum(), scores)
    for width in (1, 2, 3):
        tree = Tree.of(list(layers), width)
        assert len(tree.levels) > 2
        given = tree.shown(*at)
        assert torch.allclose(tree.log_partition(*given, scores), total, rtol=1e-12)
        many = tree.log_partition(*(part.repeat(200, *[1] * (part.ndim - 1)) for part in (*given, scores)))
        assert torch.allclose(many, total.repeat(200), rtol=1e-12)  # where plain products may be faster
        z, marginals = tree.sample(*given, scores, Sampler(0)), tree.marginals(*given, scores)
        assert torch.allclose(marginals, expected, atol=1e-11)
        assert bool((marginals.gather(2, z[..., None]) > 0).all())
        assert bool(scan.feasible(z, y).all())


@pytest.mark.parametrize("digits", [1, 4])
def test_a_batch_may_be_empty(digits: int) -> None:
    scan = addition_scan(digits)
    law = Scanned(scan).law(Target(scan.space.uniform(0, CPU), scan.encode([7])[:0], 1.0))
    z, marginals = law.draw(Sampler(0)), law.marginals()
    assert [part.shape for part in (z, marginals, law.log_mass())] == [(0, 2 * digits), (0, 2 * digits, 10), (0,)]


def test_blocks_are_as_long_as_pays() -> None:
    """Columns of digits are blocks; so is all of a short scan. Running sums have too many states."""
    assert [_width(addition_scan(digits), 10**digits) for digits in (1, 4)] == [2, 2]
    parity = Scan(lambda s, d: (s + d) % 2, Categorical([range(10)] * 40))
    short = Scan(lambda s, d: (s + d) % 2, Categorical([range(2)] * 3))
    total = Scan(lambda s, d: s + d, Categorical([range(10)] * 6))
    assert [_width(scan, 1) for scan in (parity, short, total)] == [1, 3, None]


def _width(scan: Scan, answer: int) -> int | None:
    scan.encode([answer])
    recursion = scan.tables(CPU).recursion
    return recursion.width if isinstance(recursion, Tree) else None


@pytest.mark.parametrize("gamma", [1.0, 0.3, math.inf])
@pytest.mark.parametrize("seed", range(24))
def test_every_step_is_a_draw_from_the_softened_grounding(seed: int, gamma: float) -> None:
    """All outcomes of the code that draws, with their probabilities: Q* from every state, to 1e-12."""
    tries = (
        random_automaton(seed + 100 * k, sites=1 + seed % 5, states=1 + seed % 3, symbols=2, cued=seed % 2 == 0)
        for k in range(100)
    )
    case, answer = next((c, a) for c in tries for a in range(3) if len(c.solutions(a)))
    states, belief = case.solutions(answer), case.belief(1)

    def target(batch: int) -> Target[CategoricalBelief]:
        rows, y = torch.zeros(batch, dtype=torch.long), case.scan.encode([answer])
        return Target.at(belief.rows(rows), y.expand(batch), gamma)

    log_p = belief.rows(torch.zeros(len(states), dtype=torch.long)).log_prob(states)
    law = (torch.zeros_like(log_p) if math.isinf(gamma) else log_p / gamma).softmax(0)
    tables = case.scan.tables(CPU)
    for recursion in recursions(case):
        case.scan._tables[CPU] = replace(tables, recursion=recursion)
        matrix = transition_matrix(Exact(Scanned(case.scan)), states, target, case.space)
        assert float((matrix - law).abs().max()) < 1e-12
    marginals = Scanned(case.scan).law(target(1)).marginals()
    hot = torch.nn.functional.one_hot(states, case.space.width).double()
    assert torch.allclose(marginals[0], (law[:, None, None] * hot).sum(0), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_fibres_are_those_of_enumeration(seed: int) -> None:
    case = automaton(seed)
    z = case.everything[torch.randperm(case.space.size, generator=torch.Generator().manual_seed(seed))[:20]]
    y = torch.arange(len(z)) % 3
    for width in range(1, case.space.sites + 1):
        dropped = torch.stack([torch.randperm(case.space.sites)[:width] for _ in z])
        one, other = (
            Scanned(case.scan).fibre(z, y, Dropped(dropped)),
            Enumeration(case.space, case.scan).fibre(z, y, Dropped(dropped)),
        )
        assert bool(one.complete.all())
        for row in range(len(z)):
            assert one.values[row][one.mask[row]].tolist() == other.values[row][other.mask[row]].tolist()


def test_a_fibre_beyond_the_cap_is_cut_and_says_so() -> None:
    space = Categorical([range(10)] * 4)
    total = Scan(lambda s, d: s + d, space)
    fibre = Scanned(total, cap=5).fibre(
        torch.zeros(2, 4, dtype=torch.long), total.encode([18, 0]), Dropped(torch.arange(4).expand(2, -1))
    )
    assert fibre.complete.tolist() == [False, True]
    assert fibre.count.tolist() == [5, 1]
    assert bool((fibre.values[0].sum(-1) == 18).all())


def test_a_fibre_is_whole_from_the_cap_that_it_needs() -> None:
    """21 ways to make 5 of three digits, and every cap from 1 to 23."""
    total = Scan(lambda s, d: s + d, Categorical([range(10)] * 3))
    z, y, dropped = torch.zeros(1, 3, dtype=torch.long), total.encode([5]), Dropped(torch.arange(3)[None])
    for cap in range(1, 24):
        fibre = Scanned(total, cap=cap).fibre(z, y, dropped)
        assert fibre.complete.tolist() == [cap >= 21]
        assert fibre.count.tolist() == [min(cap, 21)]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_probable_solution_is_the_best_of_all(seed: int) -> None:
    case = automaton(seed)
    belief = case.belief(3, seed)
    for row in range(3):
        solutions, target = case.solutions(row), Target(belief.rows(slice(row, row + 1)), case.scan.encode([row]), 1.0)
        if not len(solutions):
            with pytest.raises(InfeasibleAnswer):
                most_probable(Scanned(case.scan), target)
        else:
            (z,) = Scanned(case.scan).law(target).mode()
            scores = belief.rows(torch.full((len(solutions),), row)).log_prob(solutions)
            assert torch.equal(z, solutions[scores.argmax()])


@pytest.mark.parametrize("seed", SEEDS)
def test_starts_are_feasible_or_proved_impossible(seed: int) -> None:
    case = automaton(seed)
    y = torch.arange(3).repeat(5)
    start = Scanned(case.scan).start(y, seed)
    possible = torch.tensor([len(case.solutions(a)) > 0 for a in range(3)])[y]
    assert torch.equal(start.found, possible)
    assert bool(start.proved.all())
    assert bool(case.scan.feasible(start.z, y)[possible].all())


def addition(digits: int) -> Scan:
    """Two numbers, most significant digit first, and their sum; read from the last digits on."""

    def step(state: tuple[int, int | None], digit: int, site: int, due: int) -> tuple[int, int | None] | None:
        carry, first = state
        if first is None:
            return carry, digit
        carry, last = divmod(carry + first + digit, 10)
        return (carry, None) if last == due else None

    order = [site for k in reversed(range(digits)) for site in (k, digits + k)]
    return Scan(
        step,
        Categorical([range(10)] * (2 * digits)),
        start=(0, None),
        order=order,
        cue=lambda total, site: total // 10 ** (digits - 1 - site % digits) % 10,
        accept=lambda state, total: state[0] == total // 10**digits,
    )


def test_sums_of_hundred_digits_are_exact() -> None:
    """A space of 10²⁰⁰ states; the count of solutions of a sum is known in closed form."""
    scan = addition(100)
    total = int("1" + "9" * 100)
    y = scan.encode([total, 0, 10**101])
    scores = torch.zeros(3, 200, 10, dtype=torch.float64)
    counted = mass_of(scan, CategoricalBelief(scan.space, scores), y)
    assert torch.isinf(counted[[0, 2]]).all()  # no two such numbers have so large a sum
    assert counted[1].item() == pytest.approx(0.0, abs=1e-9)  # 0 = 0 + 0 only
    middle = scan.encode([10**100 - 1])
    ways = mass_of(scan, CategoricalBelief(scan.space, scores[:1]), middle)
    assert ways.item() == pytest.approx(100 * math.log(10), rel=1e-12)  # every first summand has one second
    start = Scanned(scan).start(middle.expand(4), 0)
    rows = [[int("".join(map(str, z[:100]))), int("".join(map(str, z[100:])))] for z in start.z.tolist()]
    assert all(sum(row) == 10**100 - 1 for row in rows)
    assert len({tuple(row) for row in rows}) == 4


@pytest.mark.parametrize("digits", [1, 2])
def test_addition_agrees_with_the_same_rule_as_a_program(digits: int) -> None:
    scan = addition(digits)

    def total(*symbols: Tensor) -> Tensor:
        weights = [10 ** (digits - 1 - i) for i in range(digits)] * 2
        return torch.stack([w * s for w, s in zip(weights, symbols, strict=True)]).sum(0)

    program = Program(total, scan.space, vectorised=True)
    z = scan.space.states(torch.arange(scan.space.size))
    for answer in (0, 5, 10**digits, 2 * (10**digits - 1)):
        assert torch.equal(
            scan.feasible(z, scan.encode([answer]).expand(len(z))),
            program.feasible(z, program.encode([answer]).expand(len(z))),
        )


def test_far_apart_weights_do_not_vanish() -> None:
    """Log-weights of −10⁵ at every site: nothing underflows on the way to the only solution."""
    scan = addition(15)
    y = scan.encode([0])
    scores = torch.zeros(1, 30, 10, dtype=torch.float64)
    scores[:, :, 0] = -1e5
    belief = CategoricalBelief(scan.space, scores)
    assert mass_of(scan, belief, y).item() == pytest.approx(-30e5)
    assert Scanned(scan).law(Target(belief, y, 1.0)).marginals()[0, :, 0].tolist() == pytest.approx([1.0] * 30)


def test_an_empty_set_of_solutions_is_an_error_that_names_the_row() -> None:
    scan = addition(1)
    target = Target.at(CategoricalBelief(scan.space, torch.zeros(2, 2, 10)), scan.encode([3, 25]), 1.0)
    with pytest.raises(InfeasibleAnswer, match=r"row\(s\) \[1\]"):
        Exact(Scanned(scan)).step(None, torch.zeros(2, 2, dtype=torch.long), target)  # type: ignore[arg-type]


def test_marginals_need_no_draws() -> None:
    scan = addition(1)
    target = Target.at(CategoricalBelief(scan.space, torch.zeros(1, 2, 10)), scan.encode([3]), 1.0)
    marginals = Exact(Scanned(scan)).marginals_of(target)
    assert marginals[0, 0, :5].tolist() == pytest.approx([0.25] * 4 + [0.0])


def test_a_task_finds_the_inverse_and_the_kernel_of_a_scan() -> None:
    scan = addition(2)
    task = Task(scan.space, scan)
    assert isinstance(task.inverse, Scanned)
    assert isinstance(default_kernel(task.inverse, task.space), Exact)


def test_new_cues_and_answers_may_come_later() -> None:
    scan = addition(1)
    z = torch.tensor([[4, 3], [4, 4]])
    assert scan.feasible(z, scan.encode([7, 7])).tolist() == [True, False]
    assert scan.feasible(z, scan.encode([7, 8])).tolist() == [True, True]
    assert scan.answer(scan.encode([8])[0]) == 8
    assert scan.admissible(z).tolist() == [True, True]


def test_a_rule_with_one_answer_says_which_states_are_admissible() -> None:
    space = Categorical([range(3)] * 2)
    even = Scan(lambda s, d: (s + d) % 2, space, accept=lambda s, y: s == 0)
    even.encode(["valid"])
    assert even.admissible(torch.tensor([[1, 1], [1, 2]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": lambda a: a}, "takes 1 arguments"),
        ({"step": lambda a, b, c, d: a}, "takes 4 arguments"),
        ({"step": lambda a, b: a, "cue": lambda y, i: 0}, "expected four"),
        ({"step": lambda a, b: a, "order": [0, 0]}, "each of the sites"),
        ({"step": lambda a, b: a // 0}, "ZeroDivisionError"),
        ({"step": lambda a, b: [a]}, "hashing"),
        ({"step": lambda a, b: 0.5 * b, "vectorised": True}, "float32"),
        ({"step": lambda a, b: 0, "vectorised": True}, "vectorised=False"),
        ({"step": lambda a, b: 100 * a + b, "space": Categorical([range(100)] * 5), "vectorised": True}, "small state"),
    ],
)
def test_bad_rules_are_refused(arguments: dict[str, Any], message: str) -> None:
    arguments = {"space": Categorical([range(2)] * 2)} | arguments

    def use() -> None:
        scan = Scan(arguments.pop("step"), arguments.pop("space"), **arguments)
        scan.feasible(torch.zeros(1, scan.space.sites, dtype=torch.long), scan.encode([0]))

    with pytest.raises(ConstraintError, match=message):
        use()


def test_a_float_answer_is_refused_with_its_example() -> None:
    with pytest.raises(ConstraintError, match="Example 1"):
        addition(1).encode([3, 3.5])


def test_the_semantic_loss_of_a_scan_needs_no_list() -> None:
    """The gradient of −log Z for a space that cannot be listed."""
    scan = addition(12)
    task = Task(scan.space, scan)
    y = scan.encode([123456789012, 999999999998])
    output = torch.randn(2, 24, 10, dtype=torch.float64, requires_grad=True)
    loss = Lesson(SemanticLoss(), task, y).loss(scan.space.belief(output)).loss
    expected = -mass_of(scan, scan.space.belief(output), y).mean() / 24
    (ours,), (theirs,) = (torch.autograd.grad(each, output) for each in (loss, expected))
    assert torch.allclose(ours, theirs, atol=1e-12)


def test_learning_to_add_from_sums() -> None:
    """Noisy one-hot digits, two-digit numbers, sums only: the digits are found."""
    scan = addition(2)
    generator = torch.Generator().manual_seed(0)
    z = torch.randint(10, (600, 4), generator=generator)
    x = torch.nn.functional.one_hot(z, 10).float() + 0.2 * torch.randn(600, 4, 10, generator=generator)
    y = (10 * z[:, 0] + z[:, 1] + 10 * z[:, 2] + z[:, 3]).tolist()
    torch.manual_seed(0)
    task = Task(scan.space, scan)
    stages = grounding_stages(task, optimizer=lambda p: torch.optim.Adam(p, lr=0.05), epochs=8)
    learner = Learner(task, torch.nn.Linear(10, 10), stages, batch_size=32, device="cpu")
    learner.fit(Examples(x[:500], y[:500]))
    figures = learner.evaluate(Examples(x[500:], y[500:], z[500:]))
    assert figures["symbol_accuracy"] > 0.99
    wrong = learner.predict(x[:5], y[:5])
    assert [10 * a + b + 10 * c + d for a, b, c, d in wrong] == y[:5]


def test_a_cue_that_fails_names_the_answer() -> None:
    space = Categorical([range(3)] * 2)
    scan = Scan(lambda state, symbol, site, cue: state, space, cue=lambda answer, site: answer // 2)
    with pytest.raises(ConstraintError, match="cue failed for the answer 'seven': TypeError"):
        scan.encode(["seven"])
    with pytest.raises(ConstraintError, match="cue failed for the answer 3: TypeError: unhashable"):
        Scan(lambda state, symbol, site, cue: state, space, cue=lambda answer, site: [answer]).encode([3])


def test_an_accept_that_fails_names_the_state_and_the_answer() -> None:
    scan = Scan(lambda state, symbol: symbol, Categorical([range(3)]), accept=lambda state, answer: state == answer % 2)
    with pytest.raises(ConstraintError, match="accept failed for the state 0 and the answer 'seven': TypeError"):
        scan.has_solution(scan.encode(["seven"]))


@pytest.mark.parametrize("order", ["abc", [0, 1], [0, 1, 1], [0, None, 2], 3])
def test_an_order_that_is_none(order: Any) -> None:
    with pytest.raises(ConstraintError, match="expected each of the sites 0 … 2 once"):
        Scan(operator.add, Categorical([range(3)] * 3), order=order)
