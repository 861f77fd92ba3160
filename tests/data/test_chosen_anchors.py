"""Which symbols have anchors, and which inputs show them."""

from __future__ import annotations

import pytest
import torch

from softground import Anchors, Categorical, Examples
from softground.data.examples import Split
from softground.errors import DataError
from softground.experiments import Experiment


def test_anchors_of_chosen_symbols() -> None:
    space = Categorical([range(3)] * 2)
    data = Examples(torch.arange(6.0).view(3, 2), [0, 0, 0], torch.tensor([[1, 0], [0, 1], [1, 1]]))
    chosen = Anchors.of(data, space, 2, 0, ["1", 0])
    assert chosen.symbols == [1, 1, 0, 0]
    assert set(chosen.inputs[2:].tolist()) == {1.0, 2.0}
    drawn = {tuple(Anchors.of(data, space, 1, seed, [1]).inputs.tolist()) for seed in range(40)}
    assert drawn == {(0.0,), (3.0,), (4.0,), (5.0,)}
    assert set(Anchors.of(data, space, 9, 0).symbols) == {0, 1}
    with pytest.raises(DataError, match="no training example shows them"):
        Anchors.of(data, space, 1, 0, ["2"])
    with pytest.raises(DataError, match="'7' was given; expected some of 0, 1, 2"):
        Anchors.of(data, space, 1, 0, ["7"])


def test_a_recipe_says_which_symbols_have_anchors() -> None:
    for given, count in (({"anchor_symbols": ("0", "1")}, 2), ({"anchors": 3, "anchor_symbols": ("4",)}, 3)):
        made = Experiment.named("addition", train_size=200, **given)
        assert made.anchors is not None
        assert len(made.anchors) == count
        assert {str(symbol) for symbol in made.anchors.symbols} == set(made.recipe.anchor_symbols)  # type: ignore


def test_a_validation_part_is_kept() -> None:
    part = Examples(torch.zeros(4, 1), range(4))
    split = Split(part, part, "", validation=part.subset(2))
    assert split.hold_out(0.5, seed=0) is split
    assert len(Experiment.named("half", train_size=60, validation=0.1, keep="validation").validation) == 840  # type: ignore
