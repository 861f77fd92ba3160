"""Digits of which only some combinations occur: what is drawn, which rules hold, and what else explains the answers."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.cli import main
from softground.data.digits import Digits, load_digits
from softground.errors import DataError
from softground.experiments import Experiment
from softground.spaces import Categorical
from softground.tasks import shortcuts
from softground.tasks.shortcuts import EvenOdd, Half

SIZES = {"evenodd": (6720, 1920, 960, 5040, 420), "half": (2940, 840, 420, 1080, 180)}


@pytest.mark.parametrize("problem", [EvenOdd(), Half(), Half(outputs=10)], ids=["evenodd", "half", "half of ten"])
def test_published_sizes_and_pairs(problem: Any) -> None:
    split = problem.load(0)
    sets = (split.train, split.validation, split.test, split.more["ood"], split.more["seen_sums"])
    assert tuple(map(len, sets)) == SIZES[problem.name]
    occur, counts = {tuple(row) for row in problem.support().tolist()}, (420, 120, 60, 60, 60)
    assert len(occur) == len(sets[0]) // 420
    for part, each in zip(sets, counts, strict=True):
        rows, found = torch.unique(part.symbols, dim=0, return_counts=True)
        assert set(found.tolist()) == {each}
        assert ({tuple(row) for row in rows.tolist()} == occur) == (each != 60 or part is split.test)
        assert part.y == part.symbols.sum(1).tolist()
    outside = {tuple(row) for row in split.more["ood"].symbols.tolist()}
    assert not outside & occur
    assert outside | occur == set(product(problem.digits, repeat=2))
    assert {sum(pair) for pair in occur} >= set(split.more["seen_sums"].y)


def test_evenodds_other_tests_are_kept_apart() -> None:
    split = EvenOdd().load(0)
    unseen = {(2, 4), (4, 2), (3, 3), (5, 5), (5, 7), (7, 5), (6, 6)}
    assert {tuple(row) for row in split.more["seen_sums"].symbols.tolist()} == unseen
    mixed = split.more["mixed"]
    assert len(mixed) == 960
    assert len(torch.unique(mixed.symbols, dim=0)) == 50
    assert all(total % 2 for total in mixed.y)
    test = load_digits("digits", None)[1]
    shown = sorted(bytes(image) for image in split.more["images"].x.flatten(0, 1).numpy())
    assert len(shown) == len(test.labels) // 2 * 2
    assert set(shown) <= {bytes(image) for image in test.images[:, None]}
    assert len(set(shown)) == len(shown)


def test_images_show_their_digits_and_one_seed_decides_them() -> None:
    pool = load_digits("digits", None)[0]
    digit = {bytes(image): int(label) for image, label in zip(pool.images[:, None], pool.labels, strict=True)}
    for problem in (Half(), EvenOdd()):
        one, again, other = problem.load(3), problem.load(3), problem.load(4)
        seen = [digit[bytes(image)] for image in one.train.x.flatten(0, 1).numpy()]
        assert seen == one.train.symbols.flatten().tolist()
        for first, second in [(one.train, again.train), (one.test, again.test), (one.validation, again.validation)]:
            assert torch.equal(first.x, second.x)
            assert first.y == second.y
        assert not torch.equal(one.train.x, other.train.x)
        assert {name: len(part) for name, part in one.more.items()} == {
            name: len(part) for name, part in other.more.items()
        }
    assert torch.equal(Half().load(3).more["ood"].x, Half().load(3).more["ood"].x)


def test_readings_that_explain_every_half() -> None:
    counted = {}
    for outputs in (5, 10):
        pairs = Half(outputs=outputs).support().numpy()  # type: ignore[arg-type]
        maps = np.array(list(product(range(outputs), repeat=5)))
        fits = (maps[:, pairs].sum(-1) == pairs.sum(-1)).all(-1)
        counted[outputs] = [maps[fits].tolist(), sum(len(set(row)) == 5 for row in maps[fits].tolist())]
    assert counted[5] == [[[0, 1, 2, 3, 4], [0, 1, 3, 2, 3], [0, 1, 4, 1, 2]], 1]
    assert len(counted[10][0]) == 6
    assert counted[10][1] == 1


@pytest.mark.parametrize(("known", "sizes"), [(False, [7, 9, 7]), (True, [4, 8, 4])])
def test_a_rule_may_know_which_pairs_occur(known: bool, sizes: list[int]) -> None:
    task = EvenOdd(known_pairs=known).task()
    states = task.space.states(torch.arange(100))
    found = [int(task.feasible(states, task.constraint.encode([y]).expand(100)).sum()) for y in (6, 10, 12)]
    assert found == sizes


def test_evenodds_figures_count_the_better_of_two_readings() -> None:
    task = EvenOdd(known_pairs=True).task()
    symbols = torch.tensor([[0, 6], [3, 4]])
    y = task.constraint.encode([6, 7])
    shifted = task.figures((symbols + 5) % 10, y, symbols)
    assert shifted == {"sum_accuracy": 0.5, "symbol_accuracy": 0.0, "up_to_shift_accuracy": 1.0}
    assert task.figures(symbols, y, symbols)["sum_accuracy"] == 1.0  # though S_y does not hold (3, 4)
    assert Half().task().figures(symbols, y, None).keys() == {"sum_accuracy"}


@pytest.mark.parametrize(
    ("problem", "words"), [(EvenOdd(train_size=7000), "1 to 6,720"), (Half(data="mnist"), "not built in")]
)
def test_data_that_are_refused(problem: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        problem.load(0)


def test_a_digit_without_images_is_refused() -> None:
    space, empty = Categorical([range(2)]), Digits(np.zeros((1, 8, 8), np.uint8), np.zeros(1, np.uint8))
    with pytest.raises(DataError, match="hold no 1"):
        shortcuts.shown(empty, space, np.array([[1]]), lambda z: z[:, 0].tolist(), np.random.default_rng(0))


@pytest.mark.parametrize("task", ["evenodd", "half"])
def test_tiny_runs(task: str, tmp_path: Path) -> None:
    tiny = ["--train-size", "24", "--epochs", "1", "--network", "lenet", "--device", "cpu", "--quiet"]
    more = ["--known-pairs"] if task == "evenodd" else []
    assert main(["train", task, *tiny, *more, "--anchor-symbols", "1", "--out", str(tmp_path / "best")]) == 0
    paper: Any = Experiment.named(task, "paper", train_size=24, epochs=1, zero_epochs=1)
    assert len(paper.train) == 24
