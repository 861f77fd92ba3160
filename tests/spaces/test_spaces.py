"""Categorical spaces: alphabets per site, masking, codes and indices."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from softground.errors import NonFiniteOutput, SpaceError
from softground.inverses.codes import codes_of, joint_scores
from softground.spaces import Categorical

FORMULA = Categorical([range(1, 10), "+-*/", range(1, 10)])


def test_a_shared_head_is_masked_to_each_sites_alphabet() -> None:
    output = torch.randn(5, 3, 13, generator=torch.Generator().manual_seed(0))
    belief = FORMULA.belief(output)
    assert torch.allclose(belief.scores.exp().sum(-1), torch.ones(5, 3))
    digits, operators = output[:, 0, :9].log_softmax(-1), output[:, 1, 9:].log_softmax(-1)
    assert torch.allclose(belief.scores[:, 0], digits)
    assert torch.allclose(belief.scores[:, 1, :4], operators)
    assert bool(torch.isneginf(belief.scores[:, 1, 4:]).all())


def test_a_head_per_site_reads_its_own_order() -> None:
    space = Categorical([(1, 2, 3), "+-"], head="site")
    output = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0))
    belief = space.belief(output)
    assert torch.allclose(belief.scores[:, 0], output[:, 0].log_softmax(-1))
    assert torch.allclose(belief.scores[:, 1, :2], output[:, 1, :2].log_softmax(-1))


def test_log_prob_is_the_sum_over_sites() -> None:
    belief = FORMULA.belief(torch.randn(2, 3, 13, generator=torch.Generator().manual_seed(1)))
    z = FORMULA.encode([(1, "*", 9), (5, "-", 5)])
    expected = [sum(float(belief.scores[b, i, z[b, i]]) for i in range(3)) for b in range(2)]
    assert belief.log_prob(z).tolist() == pytest.approx(expected)


def test_tempering_divides_scores_and_infinity_is_uniform() -> None:
    belief = FORMULA.belief(torch.randn(2, 3, 13))
    assert torch.equal(belief.tempered(0.5).scores, belief.scores / 0.5)
    hot = belief.tempered(math.inf).scores
    assert bool(((hot == 0) | torch.isneginf(hot)).all())
    assert torch.equal(torch.isneginf(hot), torch.isneginf(belief.scores))
    with pytest.raises(SpaceError, match="positive"):
        belief.tempered(0.0)


def test_gradients_flow_only_to_symbols_of_the_alphabet() -> None:
    output = torch.zeros(1, 3, 13, requires_grad=True)
    FORMULA.belief(output).log_prob(FORMULA.encode([(1, "+", 1)])).sum().backward()
    assert output.grad is not None
    assert bool(torch.isfinite(output.grad).all())
    assert bool((output.grad[0, 0, 9:] == 0).all())
    assert bool((output.grad[0, 1, :9] == 0).all())


def test_a_rule_sees_numbers_where_symbols_are_numbers_and_codes_elsewhere() -> None:
    space = Categorical([(5, 7, 9), "+-", range(4), (True, False)])
    z = space.encode([(9, "-", 3, False), (5, "+", 0, True)])
    assert [part.tolist() for part in space.arguments(z)] == [[9, 5], [1, 0], [3, 0], [0, 1]]
    assert [part.tolist() for part in space.arguments(z[None])] == [[[9, 5]], [[1, 0]], [[3, 0]], [[0, 1]]]
    plain = Categorical([range(3)] * 2)
    assert [part.tolist() for part in plain.arguments(torch.tensor([[2, 1]]))] == [[2], [1]]
    huge = Categorical([(0, 2**70), range(2)])  # no number that a tensor holds
    with pytest.raises(SpaceError, match=r"1180591620717411303424.*64 bits"):
        huge.arguments(huge.encode([(0, 1)]))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 2**31))
def test_index_and_states_are_inverse(sizes: list[int], number: int) -> None:
    space = Categorical([range(size) for size in sizes])
    index = torch.tensor([number % space.size, 0, space.size - 1])
    assert torch.equal(space.index(space.states(index)), index)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=8), st.integers(0, 1000))
def test_runs_of_sites_look_up_the_same_log_prob(sizes: list[int], seed: int) -> None:
    space = Categorical([range(size) for size in sizes])
    generator = torch.Generator().manual_seed(seed)
    belief = space.belief(torch.randn(3, len(sizes), space.outputs, generator=generator, dtype=torch.float64))
    index = torch.randint(space.size, (20,), generator=generator)
    owner = torch.randint(3, (20,), generator=generator)
    each = [belief.scores[:, site, :size] for site, size in enumerate(space.sizes)]
    runs = zip(joint_scores(each, space.sizes), codes_of(index, space.sizes), strict=True)
    found = sum(scores[owner, codes.long()] for scores, codes in runs)
    assert torch.allclose(found, belief.rows(owner).log_prob(space.states(index)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("alphabets", "message"), [([], "at least one site"), ([[]], "at least one symbol"), ([(1, 1)], "each once")]
)
def test_impossible_alphabets(alphabets: list[list[int]], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Categorical(alphabets)


def test_outputs_that_do_not_fit() -> None:
    with pytest.raises(SpaceError, match=r"shape \(2, 3, 10\); expected \(batch, 3 sites, 13 outputs\)"):
        FORMULA.belief(torch.zeros(2, 3, 10))
    with pytest.raises(SpaceError, match="expected"):
        FORMULA.belief(torch.zeros(2, 39))
    bad = torch.zeros(4, 3, 13)
    bad[2, 1, 0] = math.nan
    with pytest.raises(NonFiniteOutput, match="row 2"):
        FORMULA.belief(bad)


def test_symbols_that_do_not_fit() -> None:
    with pytest.raises(SpaceError, match="State 0 has 0 at site 0"):
        FORMULA.encode([(0, "+", 1)])
    with pytest.raises(SpaceError, match="has 2 symbols; this space has 3"):
        FORMULA.encode([(1, "+")])


def test_a_huge_space_says_that_it_has_no_index() -> None:
    board = Categorical([range(9)] * 81)
    with pytest.raises(SpaceError, match="64 bits"):
        board.index(torch.zeros(1, 81, dtype=torch.long))


def test_expected_scores_are_finite_where_a_known_symbol_leaves_others_none() -> None:
    space = Categorical([range(3)] * 2)
    belief = space.belief(torch.randn(1, 2, 3, generator=torch.Generator().manual_seed(0)))
    known = belief.given(torch.tensor([[1, -1]]))
    assert [belief.finite, known.finite] == [True, False]
    law = known.marginals()
    assert torch.equal(law[0, 0], torch.tensor([0.0, 1.0, 0.0]))
    assert torch.allclose(
        known.marginal_log_prob(law), belief.rows(slice(None)).marginal_log_prob(law) - belief.scores[:, 0, 1]
    )
