"""Digits of which only some combinations occur: what is drawn, which rules hold, and what else explains the answers."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.cli import main
from softground.data.digits import load_digits
from softground.data.idx import Digits
from softground.dice import Sampler
from softground.errors import ConstraintError, DataError
from softground.experiments import Experiment
from softground.inverses import Scanned
from softground.spaces import Categorical
from softground.target import Target
from softground.tasks.shortcuts import EvenOdd, Half, MNLogic, MNMath, data

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
    for problem in (Half(), MNMath(train_size=50), MNLogic(train_size=50)):
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


def booleans(row: tuple[int, ...]) -> tuple[bool, bool]:
    a, b, c, d, e, f, g, h = row
    return a + b == c + d, e * f == g * h


def test_equations_equal_brute_force() -> None:
    problem = MNMath(digits=(0, 2, 3))
    task, every = problem.task(), list(product((0, 2, 3), repeat=8))
    assert task.compute(problem.space.encode(every)) == [booleans(row) for row in every]
    answers = list(product((False, True), repeat=2))
    uniform = problem.space.uniform(4, torch.device("cpu"))
    mass = problem.rule.log_partition(uniform, problem.rule.encode(answers)).exp()
    counts = [sum(booleans(row) == answer for row in every) for answer in answers]
    assert mass.round().tolist() == counts
    whole = MNMath()
    rows = torch.randint(10, (500, 8), generator=torch.Generator().manual_seed(0))
    assert whole.rule.compute(rows) == [booleans(tuple(row)) for row in rows.tolist()]
    drawn = whole.load(0).train
    assert min(drawn.y.count(answer) for answer in answers) > 400  # of 2,000, uniform over the four
    assert [booleans(tuple(row)) for row in drawn.symbols.tolist()] == drawn.y


def test_weighted_sums_with_rows_that_occur() -> None:
    given: dict[str, Any] = {"weights": (2, 1, 1, 1), "digits": (0, 1, 2), "occurring": ("0120", "2101", "0002")}
    problem = MNMath(**given, train_size=30)
    split = problem.load(0)
    assert (len(split.train), len(split.validation), len(split.test), len(split.more["ood"])) == (30, 6, 9, 9)
    assert {tuple(row) for row in split.train.symbols.tolist()} == {(0, 1, 2, 0), (2, 1, 0, 1), (0, 0, 0, 2)}
    assert not {*map(tuple, split.more["ood"].symbols.tolist())} & {*map(tuple, split.train.symbols.tolist())}
    for part in (split.train, split.more["ood"]):
        assert part.y == [(2 * a + b, c + d) for a, b, c, d in part.symbols.tolist()]
    figures = problem.task().figures(torch.tensor([[0, 1, 2, 0]]), torch.tensor([0]), torch.tensor([[0, 1, 0, 0]]))
    assert figures["label_accuracy"] == 0.5
    assert MNMath(**given | {"occurring": ()}, train_size=9).support() is None


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("xor", lambda row: sum(row) % 2 == 1),
        ("and", all),
        ("or", any),
        ("majority", lambda row: sum(row) >= 2),
        ("one", lambda row: sum(row) == 1),
    ],
)
def test_formulas_that_count_ones(rule: Any, holds: Any) -> None:
    every = torch.tensor(list(product(range(2), repeat=3)))
    assert MNLogic(rule=rule, bits=3).formula.compute(every) == [holds(row) for row in every.tolist()]


def test_every_row_of_bits_occurs_equally_often() -> None:
    split = MNLogic().load(0)
    assert (len(split.train), len(split.validation), len(split.test), split.more) == (2000, 400, 600, {})
    assert set(torch.unique(split.train.symbols, dim=0, return_counts=True)[1].tolist()) == {125}
    wide = MNLogic(bits=40, train_size=20).load(0).train
    assert wide.symbols.shape == (20, 40)
    assert wide.y == [sum(row) % 2 == 1 for row in wide.symbols.tolist()]


def test_a_formula_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rule.cnf"
    file.write_text("p cnf 3 2\n1 -3 0\n2 -3 0\n")  # (a ∧ b) ∨ ¬c
    problem = MNLogic(cnf=str(file), occurring=("001", "010", "000"), train_size=30)
    split = problem.load(0)
    assert split.train.y == [bool((a and b) or not c) for a, b, c in split.train.symbols.tolist()]
    assert len(torch.unique(split.more["ood"].symbols, dim=0)) == 5
    assert problem.task().feasible(split.test.symbols, problem.task().constraint.encode(split.test.y)).all()
    task = problem.task()
    mass = task.inverse.law(
        Target(task.space.uniform(2, torch.device("cpu")), task.constraint.encode([True, False]), 1.0)
    )
    assert mass.log_mass().exp().round().tolist() == [5, 3]
    with pytest.raises(ConstraintError, match="cannot be read"):
        MNLogic(cnf=str(tmp_path / "none.cnf")).load(0)


def test_a_large_formula_is_compiled(tmp_path: Path) -> None:
    pytest.importorskip("pysdd")
    file = tmp_path / "chain.cnf"
    file.write_text("p cnf 20 19\n" + "".join(f"-{v} {v + 1} 0\n" for v in range(1, 20)))  # sorted rows: 21
    problem = MNLogic(cnf=str(file), train_size=4)
    task = problem.task()
    law = task.inverse.law(Target(task.space.uniform(1, torch.device("cpu")), task.constraint.encode([True]), 1.0))
    assert round(float(law.log_mass().exp())) == 21
    assert problem.load(0).train.symbols.shape == (4, 20)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (EvenOdd(train_size=7000), "1 to 6,720"),
        (Half(data="mnist"), "not built in"),
        (MNMath(train_size=0), "positive number"),
        (MNMath(digits=(1, 1)), "each once"),
        (MNMath(weights=(1, 2, 3)), "3 weights were given for 2 equations"),
        (MNMath(occurring=("01",)), "expected 8 digits"),
        (MNLogic(bits=0), "expected 1 to 1,000"),
        (MNLogic(occurring=("0000", "0000")), "give each once"),
        (MNLogic(occurring=("0002",)), "each of 0, 1"),
        (MNLogic(bits=30, occurring=("0" * 30,)), "too many to list"),
    ],
)
def test_data_that_are_refused(problem: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        problem.load(0)


def test_a_digit_without_images_is_refused() -> None:
    space, empty = Categorical([range(2)]), Digits(np.zeros((1, 8, 8), np.uint8), np.zeros(1, np.uint8))
    with pytest.raises(DataError, match="hold no 1"):
        data.shown(empty, space, np.array([[1]]), lambda z: z[:, 0].tolist(), np.random.default_rng(0))


def test_the_papers_walk_drops_the_last_digit_of_every_equation() -> None:
    for problem, sites in ((MNMath(), [3, 7]), (MNMath(weights=(1, 2, 3) * 2), [2, 5])):
        walk = problem.walk(problem.task())
        assert walk.drop.draw(Sampler(0), 1, torch.device("cpu")).sites.tolist() == [sites]


def test_scans_of_the_tasks_have_exact_laws() -> None:
    for problem in (MNMath(), MNLogic()):
        assert isinstance(problem.task().inverse, Scanned)
    assert EvenOdd().task().inverse.exact


@pytest.mark.parametrize("task", ["evenodd", "half", "mnmath", "mnlogic"])
def test_tiny_runs(task: str, tmp_path: Path) -> None:
    tiny = ["--train-size", "24", "--epochs", "1", "--network", "lenet", "--device", "cpu", "--quiet"]
    more = ["--known-pairs"] if task == "evenodd" else []
    assert main(["train", task, *tiny, *more, "--anchor-symbols", "1", "--out", str(tmp_path / "best")]) == 0
    paper: Any = Experiment.named(task, "paper", train_size=24, epochs=1, zero_epochs=1)
    assert len(paper.train) == 24
