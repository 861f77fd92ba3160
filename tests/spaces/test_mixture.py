"""A mixture of products, and its law on S_y, against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import softground as sg
from exhaustive import Replay
from softground.dice import Dice
from softground.errors import InfeasibleAnswer, InverseError, SpaceError
from softground.inverses import Inverse, law_of
from softground.inverses.law import shannon
from softground.inverses.mixture import MixtureLaw
from softground.kernels import Exact
from softground.spaces import MixtureBelief
from softground.target import Target

SPACE = sg.Categorical([range(4), range(3), range(5)])
STATES = SPACE.states(torch.arange(SPACE.size))
ANSWERS, K, TOLERANCE = [5, 0, 8, 9, 3], 3, 1e-9


def program() -> sg.Program:
    return sg.Program(lambda a, b, c: a + b + c, SPACE, vectorised=True)


LAWS: dict[str, Callable[[], Inverse]] = {
    "ragged": lambda: sg.Table(program(), _padded=False),
    "padded": lambda: sg.Table(program(), _padded=True),
    "recursive": lambda: sg.Scanned(sg.Scan(lambda s, d: s + d, SPACE)),
}


def output(components: int = K, gated: bool = True, batch: int = len(ANSWERS)) -> Tensor:
    shape = (batch, components, 3, 5 + gated)
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def joint(belief: MixtureBelief) -> Tensor:
    """log P of all states by the definition, ``[batch, states]``."""
    each = sum(belief.each[:, :, i, STATES[:, i]] for i in range(3))
    assert isinstance(each, Tensor)
    return (belief.log_weights[..., None] + each).logsumexp(1)


def every(draw: Callable[[Dice, Tensor], Tensor]) -> dict[int, float]:
    """The probability of each state under ``draw(dice, rows)`` for one example, by walking through all outcomes."""
    decided, probability = torch.zeros(1, 0, dtype=torch.long), torch.ones(1, dtype=torch.float64)
    while True:
        dice = Replay(decided)
        drawn = draw(dice, torch.zeros(len(decided), dtype=torch.long))
        if dice.next is None:
            break
        way, outcome = dice.next.nonzero(as_tuple=True)
        probability, decided = (
            probability[way] * dice.next[way, outcome],
            torch.cat([decided[way], outcome[:, None]], 1),
        )
    found = torch.zeros(SPACE.size, dtype=torch.float64).index_add(0, SPACE.index(drawn), probability)
    return {state: float(p) for state, p in enumerate(found) if p}


def test_a_mixture_is_the_sum_of_its_products() -> None:
    belief = SPACE.belief(output())
    assert isinstance(belief, MixtureBelief)
    assert not belief.apart
    p = joint(belief).exp()
    assert torch.allclose(p.sum(1), torch.ones(5, dtype=torch.float64), atol=TOLERANCE)
    for state in (0, 7, 59):
        assert torch.allclose(belief.log_prob(STATES[state].expand(5, -1)), p[:, state].log(), atol=TOLERANCE)
    assert torch.allclose(
        belief.marginals(), torch.einsum("bs,sik->bik", p, one_hot(STATES, 5).double()), atol=TOLERANCE
    )
    drawn = every(lambda dice, rows: belief.rows(rows).sample(dice))
    assert all(abs(drawn[state] - float(p[0, state])) < TOLERANCE for state in range(SPACE.size))
    known = torch.tensor([[2, -1, 1], [-1, -1, -1], [3, 2, 4], [-1, 0, -1], [0, -1, -1]])
    holds = ((known[:, None] == STATES) | (known[:, None] < 0)).all(-1)
    mass = (p * holds).sum(1)
    assert torch.allclose(belief.log_known(known), mass.log(), atol=TOLERANCE)
    assert torch.allclose(joint(belief.given(known)).exp(), p * holds / mass[:, None], atol=TOLERANCE)
    weight = torch.tensor([0.5, 0.0, 1.0, 2.0, 0.1])
    given = output().requires_grad_()
    plain, scaled = SPACE.belief(given).log_prob(STATES[:5]), SPACE.belief(given).weighted(weight).log_prob(STATES[:5])  # type: ignore[union-attr]
    one, two = (torch.autograd.grad(each.sum(), given)[0] for each in (plain, scaled))
    assert torch.allclose(two, weight.double()[:, None, None, None] * one, atol=TOLERANCE)


def test_the_mode_of_a_mixture_beats_every_products_own() -> None:
    belief = SPACE.belief(output())
    assert isinstance(belief, MixtureBelief)
    found = belief.log_prob(belief.mode())
    for k in range(K):
        assert bool((found >= belief.log_prob(belief.component(k).mode())).all())
    assert bool((found <= joint(belief).amax(1) + TOLERANCE).all())


@pytest.mark.parametrize("components", [1, K])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_of_a_mixture_is_that_of_brute_force(name: str, components: int) -> None:
    inverse, given = LAWS[name](), output(components).requires_grad_()
    belief, y = SPACE.belief(given), inverse.constraint.encode(ANSWERS)
    assert isinstance(belief, MixtureBelief)
    law = law_of(inverse, Target.at(belief, y, 1.0))
    inside = torch.stack([inverse.feasible(STATES, one.expand(len(STATES))) for one in y])
    weight = joint(belief).masked_fill(~inside, -math.inf)
    q, sites = weight.softmax(1), one_hot(STATES, 5).double()
    pairs = [
        (law.log_mass(), weight.logsumexp(1)),
        (law.site_entropies(), shannon(torch.einsum("bs,sik->bik", q, sites))),
    ]
    if name != "recursive":
        pairs.append((law.entropy(), shannon(q)))
        assert torch.equal(law.mode(), STATES[weight.argmax(1)])
    for found, expected in pairs:
        assert torch.allclose(found, expected, atol=TOLERANCE, rtol=0)
        one, two = (torch.autograd.grad((part * part).sum(), given, retain_graph=True)[0] for part in (found, expected))
        assert torch.allclose(one, two, atol=TOLERANCE, rtol=0)
    marginals = law.marginals()
    assert marginals.shape == (5, components, 3, 5)
    assert torch.allclose(marginals.sum(1), torch.einsum("bs,sik->bik", q, sites), atol=TOLERANCE)
    feasible = inverse.feasible(law.mode(), y)
    assert bool(feasible.all())
    row = Target(belief.detach().rows(slice(1)), y[:1], 1.0)
    drawn = every(lambda dice, r: law_of(inverse, Target(row.weights.rows(r), row.answers[r], 1.0)).draw(dice))
    assert all(abs(drawn.get(state, 0.0) - float(q[0, state].detach())) < TOLERANCE for state in range(SPACE.size))


def test_one_component_is_the_product() -> None:
    inverse, given = LAWS["ragged"](), output(1)
    y, one, product = inverse.constraint.encode(ANSWERS), SPACE.belief(given), SPACE.belief(given[:, 0, :, :-1])
    pair = [law_of(inverse, Target.at(belief, y, 1.0)) for belief in (one, product)]
    assert isinstance(pair[0], MixtureLaw)
    for ask in (lambda law: law.log_mass(), lambda law: law.entropy(), lambda law: law.mode().double()):
        assert torch.allclose(ask(pair[0]), ask(pair[1]), atol=TOLERANCE)
    assert torch.allclose(pair[0].marginals().squeeze(1), pair[1].marginals(), atol=TOLERANCE)
    assert torch.equal(one.mode(), product.mode())


def test_the_exact_kernels_marginals_have_the_gradient_of_the_log_mass() -> None:
    inverse, given = LAWS["ragged"](), output().requires_grad_()
    belief, y = SPACE.belief(given), inverse.constraint.encode(ANSWERS)
    with torch.no_grad():
        target = Target.at(belief.detach(), y, 1.0)
        _, info = Exact(inverse, draws=False).step(sg.Sampler(0), STATES[:5], target)
    assert info.marginals is not None
    (one,) = torch.autograd.grad(belief.marginal_log_prob(info.marginals).sum(), given, retain_graph=True)
    (two,) = torch.autograd.grad(law_of(inverse, Target(belief, y, 1.0)).log_mass().sum(), given)
    assert bool(one.any())
    assert torch.allclose(one, two, atol=TOLERANCE, rtol=0)


def test_known_symbols_hold_in_the_law() -> None:
    inverse = LAWS["padded"]()
    known = torch.tensor([[3, -1, -1], [0, -1, -1], [-1, 1, -1], [-1, -1, 4], [-1, -1, -1]])
    belief, y = SPACE.belief(output()), inverse.constraint.encode(ANSWERS)
    law = law_of(inverse, Target.at(belief.given(known), y, 1.0))
    sites = (known >= 0).nonzero().T
    assert torch.equal(law.mode()[*sites], known[*sites])
    assert bool(torch.isfinite(law.entropy()).all())
    assert float(law.entropy()[1]) == pytest.approx(0.0, abs=TOLERANCE)  # 0 = 0 + 0 + 0


def test_empty_sets_are_named_by_the_batchs_rows() -> None:
    inverse = LAWS["ragged"]()
    y = inverse.constraint.encode([5, 0, 100, 9, 101])
    law = law_of(inverse, Target.at(SPACE.belief(output()), y, 1.0))
    assert torch.isneginf(law.log_mass()).tolist() == [False, False, True, False, True]
    asked: list[Callable[[], Any]] = [law.marginals, law.mode, law.entropy, lambda: law.draw(sg.Sampler(0))]
    for ask in asked:
        with pytest.raises(InfeasibleAnswer) as caught:
            ask()
        assert caught.value.examples == (2, 4)


def test_members_are_an_equal_mixture() -> None:
    belief = SPACE.belief(output(gated=False))
    assert isinstance(belief, MixtureBelief)
    assert belief.apart
    assert torch.allclose(belief.log_weights.exp(), torch.full((5, K), 1 / K, dtype=torch.float64))


def test_temperatures_that_would_be_wrong_are_refused() -> None:
    belief = SPACE.belief(output())
    with pytest.raises(SpaceError, match=r"γ = 0\.5 was given for a mixture of 3 products"):
        belief.tempered(0.5)
    uniform = belief.tempered(math.inf)
    assert isinstance(uniform, MixtureBelief)
    assert torch.allclose(joint(uniform).diff(dim=1), torch.zeros(5, 59, dtype=torch.float64))


def test_what_needs_a_product_says_so() -> None:
    inverse, scan, belief = LAWS["ragged"](), LAWS["recursive"](), SPACE.belief(output())
    target = Target.at(belief, inverse.constraint.encode(ANSWERS), 1.0)
    with pytest.raises(SpaceError, match="a mixture of 3 products, which has no scores of single sites"):
        sg.Guided(inverse, sg.RandomDrop(SPACE, 1)).step(sg.Sampler(0), STATES[:5], target)
    with pytest.raises(InverseError, match="The entropy of a mixture"):
        law_of(scan, Target.at(belief, scan.constraint.encode(ANSWERS), 1.0)).entropy()
    with pytest.raises(SpaceError, match="expected"):
        SPACE.belief(torch.zeros(2, 3, 3, 9))


@pytest.mark.parametrize("more", [0, 1])  # members of an ensemble, products of a mixture
def test_a_batch_may_have_no_examples(more: int) -> None:
    space = sg.Categorical([range(3), "+-"])
    assert space.belief(torch.zeros(0, 4, 2, space.outputs + more)).mode().shape == (0, 2)
