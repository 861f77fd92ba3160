"""Posterior against enumeration: kinds of rule × precision × γ × known symbols; and as a Distribution of PyTorch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import cpmpy as cp
import pytest
import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence

import softground as sg
from softground import Between, Categorical, Not, OneOf, Task
from softground.constraints.relations import Relation
from softground.errors import ConstraintError, DataError, InfeasibleAnswer, NoLaw, SpaceError
from softground.layer.posterior import Posterior

TOLERANCE = {torch.float64: 1e-9, torch.float32: 3e-5}
RELATED = [5, 0, Not(3), None, OneOf(1, 4), Between(2, 5)]
BITS = [(False, True)] * 4
CLAUSES = [[1, 2], [-2, 3, 4], [-1, -4]]


def holds(bits: tuple[bool, ...]) -> bool:
    return all(any(bits[abs(v) - 1] == (v > 0) for v in clause) for clause in CLAUSES)


def entries(a: int, b: int, c: int) -> tuple[int, int]:
    return a + b, max(b, c)


def program(space: Categorical) -> Any:
    return sg.Program(lambda *z: sum(z), space)


KINDS: dict[str, tuple[Any, Callable[[Categorical], Any], Callable[..., Any], list[Any]]] = {
    "program": ([range(4)] * 3, program, lambda *z: sum(z), RELATED),
    "scan": ([range(4)] * 3, lambda s: sg.Scan(lambda a, b: a + b, s), lambda *z: sum(z), RELATED),
    "mixed": ([range(4), (2, 0, 7), range(3)], program, lambda *z: sum(z), [5, 4, Not(3), None, OneOf(2, 9), 9]),
    "all": (
        [range(3)] * 3,
        lambda s: sg.All([sg.Sum([0, 1]), sg.Value([1, 2], max)], s),
        entries,
        [(2, 2), (0, 1), (None, 1), (OneOf(1, 2), 2), None, (Not(3), 2)],
    ),
    "cpmpy": ([range(4)] * 3, lambda s: sg.CPMpy(lambda z, y: cp.sum(z) == y, s), lambda *z: sum(z), [*RELATED[:5], 7]),
    "smt": (
        [range(4)] * 3,
        lambda s: sg.SMT(lambda z, y: z[0] + z[1] + z[2] == y, s),
        lambda *z: sum(z),
        [*RELATED[:5], 7],
    ),
    "cnf": (BITS, lambda s: sg.Cnf(CLAUSES, s), lambda *z: holds(z), [True, False, None, Not(True), OneOf(True), True]),
}


@cache
def task_of(kind: str) -> Task:
    alphabets, make, _, _ = KINDS[kind]
    space = Categorical(alphabets)
    return Task(space, make(space))


def fits(answer: Any, value: Any) -> bool:
    """Whether a value is what an answer says, without the library's own reading of answers."""
    match answer:
        case None:
            return True
        case Not():
            return not fits(answer.answer, value)
        case OneOf():
            return any(fits(part, value) for part in answer.answers)
        case Between():
            return answer.low <= value <= answer.high
        case tuple():
            return all(fits(part, entry) for part, entry in zip(answer, value, strict=True))
    assert not isinstance(answer, Relation)
    return bool(answer == value)


def enumerated(kind: str, logits: Tensor, gamma: float, known: list[Any] | None) -> tuple[Tensor, Tensor]:
    """All states as codes, and w(z) of every row on S_y, in double precision: [rows, states]."""
    alphabets, _, value, answers = KINDS[kind]
    space = task_of(kind).space
    codes = torch.tensor(list(itertools.product(*(range(len(a)) for a in alphabets))))
    states = [tuple(list(a)[c] for a, c in zip(alphabets, row, strict=True)) for row in codes.tolist()]
    weights = torch.zeros(len(answers), len(states), dtype=torch.float64)
    for row, answer in enumerate(answers):
        for number, state in enumerate(states):
            if not fits(answer, value(*state)):
                continue
            if known is not None and any(k is not None and k != s for k, s in zip(known[row], state, strict=True)):
                continue
            log_p = 0.0
            for site, symbol in enumerate(state):
                own = torch.stack([logits[row, site, space.symbols.index(s)] for s in list(alphabets[site])]).double()
                log_p += float(own.log_softmax(0)[list(alphabets[site]).index(symbol)])
            weights[row, number] = math.exp(log_p / gamma)
    return codes, weights


def known_of(kind: str) -> list[Any]:
    """For each answer one symbol of some state of S_y."""
    alphabets, _, value, answers = KINDS[kind]
    rows = []
    for number, answer in enumerate(answers):
        state = next(s for s in itertools.product(*alphabets) if fits(answer, value(*s)))
        rows.append([s if site == number % len(state) else None for site, s in enumerate(state)])
    return rows


CASES = list(itertools.product(KINDS, TOLERANCE, (0.3, 1.0, 2.5), (False, True)))


@pytest.mark.parametrize(("kind", "dtype", "gamma", "pinned"), CASES, ids=str)
def test_it_agrees_with_enumeration(kind: str, dtype: torch.dtype, gamma: float, pinned: bool) -> None:
    task, answers = task_of(kind), KINDS[kind][3]
    space, close = task.space, TOLERANCE[dtype]
    generator = torch.Generator().manual_seed(CASES.index((kind, dtype, gamma, pinned)))
    logits = torch.randn(len(answers), space.sites, space.outputs, generator=generator, dtype=dtype)
    known = known_of(kind) if pinned else None
    states, w = enumerated(kind, logits, gamma, known)
    mass = w.sum(1)
    q = w / mass[:, None]
    found = task.posterior(logits, answers, gamma=gamma, known=known)

    assert isinstance(found, Distribution)
    torch.testing.assert_close(found.log_mass.double(), mass.log(), rtol=close, atol=close)
    log_prob = found.log_prob(states[:, None])
    assert log_prob.shape == (len(states), len(answers))
    assert torch.equal(log_prob.T.isneginf(), w == 0)
    torch.testing.assert_close(log_prob.T.exp().double(), q, rtol=close, atol=close)
    assert torch.equal(found.support.check(states[:, None]).T, w > 0)
    entropy = -torch.xlogy(q, q).sum(1)
    torch.testing.assert_close(found.entropy().double(), entropy, rtol=close, atol=10 * close)
    hot = torch.nn.functional.one_hot(states, space.width).double()
    torch.testing.assert_close(found.marginals.double(), torch.einsum("bs,snk->bnk", q, hot), rtol=close, atol=close)
    assert torch.equal(found.mode, states[q.argmax(1)])
    listed = found.solutions()
    assert [sorted(map(tuple, z.tolist())) for z in listed] == [
        sorted(map(tuple, states[row > 0].tolist())) for row in w
    ]

    other = torch.randn(logits.shape, generator=generator, dtype=dtype)
    _, v = enumerated(kind, other, 1.0, known)
    r = v / v.sum(1, keepdim=True)
    kl = (torch.xlogy(q, q) - torch.xlogy(q, torch.where(q > 0, r, 1.0))).sum(1)
    second = task.posterior(other, answers, known=known)
    torch.testing.assert_close(kl_divergence(found, second).double(), kl, rtol=close, atol=10 * close)


def test_there_are_84_cases() -> None:
    assert len(CASES) == 84


@pytest.mark.parametrize("kind", KINDS)
def test_draws_follow_it(kind: str) -> None:
    """χ² of 4,000 draws per row, by the global generator."""
    task, answers = task_of(kind), KINDS[kind][3]
    torch.manual_seed(1)
    logits = torch.randn(len(answers), task.space.sites, task.space.outputs)
    known = known_of(kind)
    for pinned in (None, known):
        posterior = task.posterior(logits, answers, gamma=1.5, known=pinned)
        torch.manual_seed(0)
        drawn = posterior.sample((4000,))
        assert drawn.shape == (4000, len(answers), task.space.sites)
        torch.manual_seed(0)
        assert torch.equal(drawn, posterior.sample((4000,)))
        assert bool(posterior.support.check(drawn).all())
        _, w = enumerated(kind, logits, 1.5, pinned)
        count = torch.stack([torch.bincount(i, minlength=w.shape[1]) for i in task.space.index(drawn).T]).double()
        expected = 4000 * w / w.sum(1, keepdim=True)
        usual = expected >= 5
        chi = torch.where(usual, (count - expected) ** 2 / expected.clamp(min=1e-9), 0.0).sum(1)
        free = (usual.sum(1) - 1).clamp(min=1)
        assert bool(((chi - free) / (2 * free).sqrt() < 5).all())


def pair() -> tuple[Task, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return task_of("program"), torch.randn(6, 3, 4, generator=generator, dtype=torch.float64)


def test_slopes_are_right() -> None:
    task, logits = pair()
    some = logits.requires_grad_()
    states = torch.tensor([[1, 2, 2], [0, 0, 0], [1, 1, 2], [3, 1, 1], [1, 0, 0], [2, 0, 1]])
    for ask in (
        lambda x: task.posterior(x, RELATED, gamma=0.7).log_mass,
        lambda x: task.posterior(x, RELATED, gamma=0.7).entropy(),
        lambda x: task.posterior(x, RELATED, gamma=0.7).marginals,
        lambda x: task.posterior(x, RELATED, gamma=0.7).log_prob(states),
    ):
        assert torch.autograd.gradcheck(ask, (some,))
    assert torch.autograd.gradgradcheck(lambda x: task.posterior(x, RELATED).log_mass, (some,))


def test_shapes_are_those_of_a_distribution() -> None:
    task, logits = pair()
    many = task.posterior(logits, RELATED)
    assert (many.batch_shape, many.event_shape) == ((6,), (3,))
    one = task.posterior(logits[0], 5)
    assert (one.batch_shape, one.log_mass.shape, one.mode.shape, one.sample().shape) == ((), (), (3,), (3,))
    torch.testing.assert_close(one.log_mass, many.log_mass[0])
    torch.testing.assert_close(one.marginals, many.marginals[0])
    wide = many.expand((2, 6))
    assert wide.sample((5,)).shape == (5, 2, 6, 3)
    assert torch.equal(wide.entropy(), many.entropy().expand(2, 6))
    assert torch.equal(wide.marginals[1], many.marginals)
    z = many.mode
    assert torch.equal(wide.log_prob(z), many.log_prob(z).expand(2, 6))
    assert one.expand((4,)).sample().shape == (4, 3)
    same = task.posterior(logits[:2], [2, Not(Not(2))]).enumerate_support()
    assert same.shape == (6, 2, 3)
    with pytest.raises(NotImplementedError, match="solutions"):
        many.enumerate_support()
    assert repr(many) == "Posterior(batch_shape: (6,), event_shape: (3,))"
    assert not many.has_rsample


def test_values_that_are_no_states_have_no_probability() -> None:
    task, logits = pair()
    posterior = task.posterior(logits[:1], [3])
    assert posterior.log_prob(torch.tensor([[9, 0, 0]])).item() == -math.inf
    assert posterior.log_prob(torch.tensor([[-1, 2, 2]])).item() == -math.inf
    for wrong in (torch.zeros(1, 3), torch.zeros(1, 2, dtype=torch.long), 3):
        with pytest.raises(ValueError, match="whole numbers"):
            posterior.log_prob(wrong)  # type: ignore[arg-type]


def test_answers_come_in_many_forms() -> None:
    import numpy as np
    import pandas as pd

    task, logits = pair()
    plain = task.log_prob(logits, [5, 0, 3, 3, 2, 9])
    for form in (
        torch.tensor([5, 0, 3, 3, 2, 9]),
        np.array([5, 0, 3, 3, 2, 9]),
        torch.tensor([5.0, 0, 3, 3, 2, 9]),
        pd.Series([5, 0, 3, 3, 2, 9], index=[9, 8, 7, 6, 5, 4]),
        (5, 0, 3, 3, 2, 9),
        sg.layer.answer_codes.Answers([5, 0, 3, 3, 2, 9]),
        [torch.tensor(a) for a in (5, 0, 3, 3, 2, 9)],
    ):
        assert torch.equal(task.log_prob(logits, form), plain)
    missing = task.log_prob(logits, [5, 0, 3, 3, 2, None])
    for form in ([5, 0, 3, 3, 2, float("nan")], np.array([5, 0, 3, 3, 2, np.nan]), pd.Series([5, 0, 3, 3, 2, None])):
        assert torch.equal(task.log_prob(logits, form), missing)
    both = sg.Program(lambda a, b, c: (a + b, c), task.space)
    pairs = Task(task.space, both)
    rows = [(3, 1), (4, 2), (0, 0), (6, 3), (1, 1), (2, 0)]
    wanted = pairs.log_prob(logits, rows)
    left, right = torch.tensor(rows).T
    for columns in ([left, right], (left, right), torch.tensor(rows), pd.DataFrame(rows)):
        assert torch.equal(pairs.log_prob(logits, columns), wanted)
    with pytest.raises(DataError, match="rows or columns"):
        pairs.log_prob(logits[:2], [left[:2], right[:2]])
    assert torch.equal(pairs.log_prob(logits[:2], rows[:2]), wanted[:2])


def test_what_is_wrong_is_said_with_its_row() -> None:
    task, logits = pair()
    with pytest.raises(InfeasibleAnswer, match=r"2 example.* 1 .answer 99.") as found:
        task.posterior(logits[:3], [3, 99, 77])
    assert found.value.examples == (1, 2)
    with pytest.raises(InfeasibleAnswer, match=r"contradict|known symbols") as found:
        task.posterior(logits[:2], [3, 0], known=[None, (1, None, None)])
    assert found.value.examples == (1,)
    with pytest.raises(ConstraintError, match=r"Example 1: .*\(3,\)"):
        task.posterior(logits[:2], [3, (3,)])
    with pytest.raises(ConstraintError, match=r"Example 0: .*tuple"):
        task.posterior(logits[:2], torch.tensor([[3], [4]]))
    with pytest.raises(ConstraintError, match=r"Example 2: .*float"):
        task.posterior(logits[:3], [3, 4, 0.5])
    with pytest.raises(DataError, match="4 rows of logits have 3 answers"):
        task.posterior(logits[:4], [3, 4, 5])
    with pytest.raises(DataError, match="expected one for each"):
        task.posterior(logits[:2], "34")
    with pytest.raises(DataError, match="No answers"):
        task.posterior(logits)
    with pytest.raises(SpaceError, match="ensemble"):
        task.posterior(logits[None], RELATED)
    ensemble = torch.stack([logits, logits], 1)
    torch.testing.assert_close(
        task.posterior(task.space.belief(ensemble), RELATED).log_mass, task.log_prob(logits, RELATED)
    )


def test_a_rule_with_one_answer_needs_none() -> None:
    task = task_of("cnf")
    logits = torch.randn(3, 4, 2)
    torch.testing.assert_close(task.log_prob(logits), task.log_prob(logits, [True] * 3))


def test_half_precision_and_autocast_change_little() -> None:
    space = Categorical(BITS)
    listed = Task(
        space,
        sg.Program(lambda *z: True, space),
        sg.inverses.Listing(space, torch.tensor([[0, 0, 1, 1], [1, 0, 0, 1]])),
    )
    torch.manual_seed(0)
    for task, answers in ((task_of("program"), [5] * 64), (task_of("scan"), [5] * 64), (listed, [True] * 64)):
        logits = 3 * torch.randn(64, task.space.sites, task.space.outputs)
        low = logits.bfloat16()
        for given in (logits, low):
            exact = task.posterior(given.double(), answers)
            with torch.autocast("cpu", torch.bfloat16):
                found = task.posterior(given, answers)
                mass, marginals = found.log_mass, found.marginals
            assert mass.dtype == torch.float32
            torch.testing.assert_close(mass.double(), exact.log_mass, rtol=1e-5, atol=2e-5)
            torch.testing.assert_close(marginals.double(), exact.marginals, rtol=1e-5, atol=2e-5)


def test_inference_mode_is_no_obstacle() -> None:
    space = Categorical([range(4)] * 3)
    for rule in (sg.Scan(lambda a, b: a + b, space), program(space)):
        task, (_, logits) = Task(space, rule), pair()
        with torch.inference_mode():
            posterior = task.posterior(logits, RELATED)
            found = posterior.log_mass, posterior.entropy(), posterior.marginals, posterior.mode, posterior.sample()
        assert torch.isfinite(found[0]).all()
        some = logits.clone().requires_grad_()
        task.log_prob(some, RELATED).sum().backward()  # what was kept in inference mode can be trained with
        assert some.grad is not None


def test_a_law_settles_itself_and_more_answers_join() -> None:
    space = Categorical([range(4)] * 3)
    task = Task(space, sg.CPMpy(lambda z, y: cp.sum(z) == y, space))
    logits = pair()[1]
    first = task.log_prob(logits[:2], [5, 0])
    lists = task.inverse
    second = task.log_prob(logits[2:4], [3, 9])
    torch.testing.assert_close(torch.cat([first, second]), task.log_prob(logits[:4], [5, 0, 3, 9]))
    torch.testing.assert_close(torch.cat([first, second]), task_of("program").log_prob(logits[:4], [5, 0, 3, 9]))
    assert lists is not None


def test_a_rule_without_a_law_says_what_to_do() -> None:
    space = Categorical([range(10)] * 9)
    task = Task(space, sg.Program(lambda *z: sum(d * d for d in z) % 97, space), budget=sg.Budget(seconds=1))
    with pytest.raises(NoLaw, match=r"(?s)no table: .*no list: .*Scan.*Budget.*chains.*Learner"):
        task.posterior(torch.zeros(1, 9, 10), [5])
    reals = sg.reals.Gaussian(2)
    with pytest.raises(NoLaw, match="Learner"):
        Task(reals, sg.reals.Equations([[1, 1]], reals)).posterior(torch.zeros(1, 2), [1.0])


def test_a_planted_fault_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """γ forgotten, S_y forgotten, another row's law in sample: each fails the comparison above."""
    agrees = lambda: test_it_agrees_with_enumeration("program", torch.float64, 0.3, False)  # noqa: E731
    agrees()
    belief = sg.spaces.CategoricalBelief
    with monkeypatch.context() as patch:
        patch.setattr(belief, "tempered", lambda self, gamma: self)
        with pytest.raises(AssertionError):
            agrees()
    with monkeypatch.context() as patch:
        patch.setattr(Task, "feasible", lambda self, z, y: torch.ones(len(z), dtype=torch.bool))
        with pytest.raises(AssertionError):
            agrees()
    law = Posterior._law
    with monkeypatch.context() as patch:
        patch.setattr(Posterior, "_law", lambda self, rows, ask: law(self, rows.flip(0), ask))
        with pytest.raises(AssertionError):
            test_draws_follow_it("program")
