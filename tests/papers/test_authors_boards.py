"""The boards of the paper's authors, and images of another size."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from papers.li2023.__main__ import main
from papers.li2023.baselines import authors_boards
from softground.data.digits import embedded_digits
from softground.data.images import resize
from softground.errors import DataError
from softground.tasks.sudoku.boards import all_boards, draw_images, load

Board = tuple[int, ...]
REACHED = {tuple(board) for board in authors_boards().tolist()}


def pattern(board: Board) -> Board:
    """A board up to the names of its digits: they are named in the order in which they appear."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(digit, len(names)) for digit in board)


def generated(chance: random.Random) -> Board:
    """A board as the generator is described: a cyclic one, shuffled 8 to 15 times, each time transposed."""
    board = [[(2 * row + row // 2 + column) % 4 for column in range(4)] for row in range(4)]
    for _ in range(chance.randint(8, 15)):
        one, other = chance.sample(range(4), 2)
        board = [[{one: other, other: one}.get(digit, digit) for digit in row] for row in board]
        for _ in range(2):
            band = chance.choice((0, 2))
            board[band], board[band + 1] = board[band + 1], board[band]
            board = [list(column) for column in zip(*board, strict=True)]
        board = [list(column) for column in zip(*board, strict=True)]
    return tuple(digit for row in board for digit in row)


def test_there_are_48_valid_ones_of_four_patterns_twelve_each() -> None:
    assert len(REACHED) == len(authors_boards()) == 48
    assert {tuple(board) for board in all_boards(4).tolist()} > REACHED
    assert sorted(Counter(map(pattern, REACHED)).values()) == [12] * 4
    assert len({pattern(tuple(board)) for board in all_boards(4).tolist()}) == 12


def test_they_are_what_the_generator_reaches() -> None:
    """2,000 draws miss one of 48 boards with a probability below 48 (47/48)²⁰⁰⁰ = 3e-17."""
    chance = random.Random(0)
    drawn = Counter(generated(chance) for _ in range(2000))
    assert set(drawn) == REACHED
    # Uniform: χ² with 47 degrees of freedom is below 105 with a probability of 1 − 3e-6.
    assert sum((count - 2000 / 48) ** 2 / (2000 / 48) for count in drawn.values()) < 105


@pytest.mark.parametrize(("pairs", "completed"), [(5, 8 / 15), (6, 4 / 9)])
def test_their_five_pairs_walk_as_far_as_our_six(pairs: int, completed: float) -> None:
    """Switches inside the two kept boxes reach every board; how many can be completed is on the page."""
    boards = [tuple(board) for board in all_boards(4).tolist()]
    kept = [[0, 1, 4, 5], [10, 11, 14, 15]]
    inside = [pair for pair in combinations(range(4), 2) if pairs == 6 or pair != (1, 2)]
    found = {tuple(board[cell] for box in kept for cell in box): board for board in boards}
    steps: dict[Board, list[Board]] = {board: [] for board in boards}
    for board in boards:
        for box in kept:
            for one, other in inside:
                moved = list(board)
                moved[box[one]], moved[box[other]] = moved[box[other]], moved[box[one]]
                if (end := found.get(tuple(moved[cell] for b in kept for cell in b))) is not None:
                    steps[board].append(end)
    assert sum(map(len, steps.values())) / (288 * 2 * pairs) == pytest.approx(completed)
    reached, new = set[Board](), {boards[0]}
    while new:
        reached |= new
        new = {end for board in new for end in steps[board]} - reached
    assert len(reached) == 288


def test_examples_show_them_alone() -> None:
    data = load("digits", None, 4, 200, 100, 0, which="authors")
    for part in (data.train, data.test):
        assert part.symbols is not None
        shown = {tuple(board) for board in part.symbols.tolist()}
        assert shown <= REACHED
        assert len({pattern(board) for board in shown}) == 4
    everything = load("digits", None, 4, 200, 100, 0)
    assert everything.train.symbols is not None
    assert not {tuple(board) for board in everything.train.symbols.tolist()} <= REACHED


def test_images_are_resized() -> None:
    plain, large = (load("digits", None, 4, 3, 2, 0, image_size=size) for size in (None, 32))
    assert large.train.x.shape == (3, 16, 1, 32, 32)
    assert large.test.x.shape == (2, 16, 1, 32, 32)
    assert large.train.x.dtype == torch.uint8
    wanted = resize(plain.train.x.reshape(-1, 16, 16).numpy(), 32)
    assert np.array_equal(large.train.x.reshape(-1, 32, 32).numpy(), wanted)
    assert torch.equal(large.train.symbols, plain.train.symbols)  # type: ignore[arg-type]


def test_a_cell_shows_an_image_of_its_digit() -> None:
    pool, _ = embedded_digits()
    codes = authors_boards()
    assert np.array_equal(pool.labels[draw_images(pool, codes, np.random.default_rng(0))], codes + 1)


def test_what_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="size=9 was given; the authors' boards have size 4"):
        load("digits", None, 9, 3, 3, 0, which="authors")
    for size in (0, 3, 2000):
        with pytest.raises(DataError, match=f"image_size={size} was given; give 4 to 1,024"):
            load("digits", None, 4, 3, 3, 0, image_size=size)
    assert main(["train", "sudoku", "--boards", "authors", "--size", "9", "--device", "cpu"]) == 2
    said = capsys.readouterr().err
    assert "authors' boards have size 4" in said
    assert "--size 9 was given" in said
