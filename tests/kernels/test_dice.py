"""The dice that training uses: exact at the edges of every option, and resumed where they were."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from softground.dice import Sampler, any_of

BELOW = 1 - 2**-53  # the largest number below 1


class Told(Sampler):
    """A sampler whose uniform numbers are told."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(0)
        self.numbers = torch.tensor(numbers, dtype=torch.float64)

    def uniform(self, rows: int) -> Tensor:
        assert rows == len(self.numbers)
        return self.numbers


def test_an_option_owns_its_share_of_the_unit_interval() -> None:
    numbers = [0.0, 0.2499, 0.25001, 0.7499, 0.75001, BELOW]
    weights = torch.tensor([0.25, 0.0, 0.5, 0.0, 0.25, 0.0]).log().expand(6, -1)
    assert Told(*numbers).categorical(weights).tolist() == [0, 0, 2, 2, 4, 4]
    assert Told(*numbers).categorical(weights + 100).tolist() == [0, 0, 2, 2, 4, 4]  # unnormalised
    halves = torch.zeros(3, 2)
    assert Told(0.5 - 2**-41, 0.5, 0.5 + 2**-41).categorical(halves).tolist() == [0, 1, 1]  # to the last of 40 bits
    empty_first = torch.tensor([[-math.inf, 0.0]])
    assert Told(0.0).categorical(empty_first).tolist() == [1]


def test_a_ragged_row_owns_its_own_part() -> None:
    weights = torch.tensor([0.5, 0.5, 1.0, 0.0, 0.25, 0.75])
    offsets = torch.tensor([0, 2, 3, 6])
    assert Told(0.0, 0.0, 0.0).segment(weights, offsets).tolist() == [0, 2, 4]
    assert Told(0.4999, 0.5, 0.2499).segment(weights, offsets).tolist() == [0, 2, 4]
    assert Told(0.5, BELOW, 0.25).segment(weights, offsets).tolist() == [1, 2, 5]
    assert Told(BELOW, BELOW, BELOW).segment(weights, offsets).tolist() == [1, 2, 5]


@pytest.mark.parametrize("options", [1024, 1025, 1087, 5000])
def test_wide_rows_are_drawn_from_in_stretches_to_the_same_end(options: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = torch.Generator().manual_seed(options)
    weights = 4 * torch.randn(300, options, generator=chance)
    weights[torch.rand(300, options, generator=chance) < 0.4] = -math.inf
    weights[:100, 70 : options - 3] = -math.inf  # whole stretches without an option, and rows that end with some
    weights[100:110, :-1] = -math.inf
    weights[:110, -1] = 0.0
    numbers = [0.0, BELOW, 0.5, *torch.rand(297, generator=chance, dtype=torch.float64).tolist()]
    expected = Told(*numbers).categorical(weights)
    monkeypatch.setattr("softground.dice._in_stretches", lambda weights: True)  # as on a GPU
    found = Told(*numbers).categorical(weights)
    assert torch.equal(found, expected)
    assert Sampler(0).categorical(weights[:0]).shape == (0,)
    assert not torch.isinf(weights.gather(1, found[:, None])).any()


def test_what_is_too_improbable_to_count_is_never_drawn() -> None:
    """Probabilities are whole multiples of 2⁻⁴⁰."""
    assert Told(0.0).categorical(torch.tensor([[1.5 * 2.0**-41, 1.0]], dtype=torch.float64).log()).tolist() == [1]
    assert Told(0.0).categorical(torch.tensor([[1.5 * 2.0**-40, 1.0]], dtype=torch.float64).log()).tolist() == [0]


def test_a_ratio_is_accepted_with_its_own_probability() -> None:
    ratio = torch.tensor([0.5, 0.5, 1.0, 0.0, 7.0, 0.0], dtype=torch.float64).log()
    accepted = Told(0.4999, 0.5, BELOW, 0.0, BELOW, BELOW).accept(ratio)
    assert accepted.tolist() == [True, False, True, False, True, False]


def test_uniform_numbers_are_doubles_from_the_seed_alone() -> None:
    numbers, torchs = (
        Sampler(7).uniform(4),
        torch.rand(4, generator=torch.Generator().manual_seed(7), dtype=torch.float64),
    )
    assert torch.equal(numbers, torchs)
    assert not torch.equal(numbers, Sampler(8).uniform(4))
    with torch.device("meta"):
        assert torch.equal(Sampler(7).uniform(4), numbers)


@pytest.mark.parametrize("way", ["restore", "renew"])
def test_dice_continue_where_their_state_was_taken(way: str) -> None:
    dice = Sampler(3)
    dice.uniform(5)
    state = dice.state()
    expected, generator = dice.uniform(5), dice.generator
    many = torch.stack([state, state])  # checkpoints hold views into larger tensors
    getattr(dice, way)(many[1])
    assert torch.equal(dice.uniform(5), expected)
    assert (dice.generator is generator) is (way == "restore")
    assert dice.generator.device == generator.device


def test_any_usable_option_is_as_likely_as_any_other() -> None:
    usable = torch.tensor([[False, True, True, False, True, True]] * 4)
    assert any_of(Told(0.1, 0.3, 0.6, 0.9), usable).tolist() == [1, 2, 4, 5]


def test_dice_are_on_the_device_asked_for_and_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    made, new = [], torch.Generator

    class Generator:
        def __init__(self, device: torch.device) -> None:
            made.append(device)
            self.device, self.inner = device, new()

        def manual_seed(self, seed: int) -> None:
            self.inner.manual_seed(seed)

        def set_state(self, state: Tensor) -> None:
            self.inner.set_state(state)

    monkeypatch.setattr(torch, "Generator", Generator)
    place = torch.device("cuda", 1)
    dice = Sampler(5, place)
    dice.renew(new().manual_seed(9).get_state())
    assert made == [place, place]
    assert torch.equal(dice.generator.inner.get_state(), new().manual_seed(9).get_state())  # type: ignore[attr-defined]
