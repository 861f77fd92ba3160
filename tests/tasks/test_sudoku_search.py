"""Searches among boards: all boards, the most probable reading, puzzles; by brute force on 4×4."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch

from softground.data.digits import load_digits
from softground.errors import DataError, LearnerError
from softground.inverses import most_probable as mode_of
from softground.learner import Learner
from softground.networks import PerSite, lenet
from softground.target import Target
from softground.tasks.sudoku import search, sudoku_task
from softground.tasks.sudoku.boards import random_boards
from softground.tasks.sudoku.puzzles import Puzzles, dug, inked, puzzle_figures
from softground.tasks.sudoku.search import each_most_probable, most_probable, solutions
from sudoku_cases import BOARDS

GIVEN_UP = torch.zeros(1, 81, 9)  # nothing is more probable than anything else


def sure(boards: np.ndarray, wrong: int, rng: np.random.Generator, size: int = 9) -> torch.Tensor:
    """Log-probabilities of readings of which so many of each board are wrong, with the truth close behind."""
    scores = rng.normal(size=(*boards.shape, size))
    np.put_along_axis(scores, boards[..., None], 8.0, 2)
    for row in range(len(boards)):
        for cell in rng.choice(boards.shape[1], wrong, replace=False):
            scores[row, cell, (boards[row, cell] + 1) % size] = 9.0
    return torch.from_numpy(scores).log_softmax(-1)


def test_solutions_are_all_boards_with_the_digits() -> None:
    rng = np.random.default_rng(0)
    assert len(list(solutions(4, [-1] * 16))) == 288
    for _ in range(50):
        clues = np.where(rng.random(16) < 0.3, rng.integers(0, 4, 16), -1)
        expected = BOARDS[((torch.from_numpy(clues) == BOARDS) | torch.from_numpy(clues < 0)).all(1)]
        assert sorted(solutions(4, clues.tolist())) == expected.tolist()


def test_the_most_probable_board_is_that_of_all_boards() -> None:
    scores = 2 * torch.randn(60, 16, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for row in scores:
        found = most_probable(4, (-row).tolist(), range(16), 10**6)
        best = row.gather(1, BOARDS.T).sum(0).argmax()
        assert found is not None
        assert found[1] == BOARDS[best].tolist()


def test_the_most_probable_givens_have_one_solution_and_no_others_are_more_probable() -> None:
    rng, corrected = np.random.default_rng(3), 0
    for board in random_boards(4, 25, rng):
        clues = dug(board, 5, rng)
        shown = np.flatnonzero(clues >= 0).tolist()
        score = rng.normal(size=(16, 4)) + 2 * np.eye(4)[board]
        best, winner = -math.inf, None
        for digits in product(range(4), repeat=len(shown)):
            total = sum(score[cell, digit] for cell, digit in zip(shown, digits, strict=True))
            if total > best:
                tried = torch.full((16,), -1)
                tried[shown] = torch.tensor(digits)
                fits = BOARDS[((tried == BOARDS) | (tried < 0)).all(1)]
                if len(fits) == 1:
                    best, winner = total, (tried.tolist(), fits[0].tolist())
        found = most_probable(4, (-score).tolist(), shown, 10**6)
        assert found == winner
        corrected += found is not None and any(found[0][c] != score[c].argmax() for c in shown)
    assert corrected > 3


def test_misread_boards_are_mended_by_the_rule() -> None:
    rng = np.random.default_rng(5)
    boards, task = random_boards(9, 6, rng), sudoku_task(9)
    scores, y = sure(boards, 3, rng), torch.zeros(6, dtype=torch.long)
    assert not bool(task.feasible(scores.argmax(2), y).any())
    found = mode_of(task.inverse, Target(task.space.belief(scores), y, 1.0))
    assert torch.equal(found, torch.from_numpy(boards))


def test_known_digits_stay_and_an_answer_about_which_nothing_is_known_is_left_to_others() -> None:
    task, board = sudoku_task(9), random_boards(9, 1, np.random.default_rng(1))
    noise = torch.randn(1, 81, 9, generator=torch.Generator().manual_seed(0))
    known = torch.from_numpy(np.where(np.arange(81) % 3, board, -1))
    belief = task.space.belief(noise).given(known)
    found = mode_of(task.inverse, Target(belief, torch.zeros(1, dtype=torch.long), 1.0))
    assert found is not None
    assert torch.equal(found[known >= 0], known[known >= 0])
    assert bool(task.constraint.admissible(found).all())
    assert mode_of(task.inverse, Target(belief, ~torch.zeros(1, dtype=torch.long), 1.0)) is None


def test_a_search_that_gives_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "NODES", 30)
    board = random_boards(9, 1, np.random.default_rng(0))
    scores = torch.cat([GIVEN_UP.expand(6, -1, -1), sure(board, 0, np.random.default_rng(0))])
    *lost, found = each_most_probable(9, scores, [range(81)] * 7)  # those that come after are not lost with them
    assert lost == [None] * 6
    assert found == (board[0].tolist(), board[0].tolist())
    torch.manual_seed(0)
    learner = Learner(sudoku_task(9), PerSite(lenet((1, 16, 16), 9), (1, 16, 16)), device="cpu")
    learner.fitted = True
    with pytest.raises(LearnerError, match="Example 0: no feasible state was found"):
        learner.predict(torch.zeros(1, 81, 1, 16, 16), constrained=True)


def test_puzzles_have_one_solution_and_blank_cells() -> None:
    puzzles = Puzzles.of(load_digits("digits", None)[1], 9, 3, 30, np.random.default_rng(0))
    shown = inked(puzzles.x)
    assert shown.sum(1).tolist() == [30] * 3
    for board, cells in zip(puzzles.boards, shown, strict=True):
        assert list(solutions(9, torch.where(cells, board, -1).tolist())) == [board.tolist()]
    for name, given in (("givens", (9, 1, 16)), ("givens", (4, 1, 17)), ("count", (9, 0, 30))):
        with pytest.raises(DataError, match=f"{name}="):
            Puzzles.of(load_digits("digits", None)[1], *given, np.random.default_rng(0))


def test_puzzle_figures_count_under_one_renaming_and_tell_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "NODES", 30)
    rng = np.random.default_rng(7)
    puzzles = Puzzles.of(load_digits("digits", None)[1], 9, 4, 32, rng)
    shown, names = inked(puzzles.x), rng.permutation(9)
    scores = sure(names[puzzles.boards.numpy()], 0, rng)
    misread = int(shown[0].nonzero()[0])  # one given of the first puzzle; blank cells are never looked at
    scores[0, misread] = scores[0, misread].roll(1)
    scores[0, misread, names[puzzles.boards[0, misread]]] = -0.5
    scores[1][~shown[1]] = scores[1][~shown[1]].roll(1, 1)
    figures = puzzle_figures(puzzles, scores)
    assert figures["relabelled_puzzle_accuracy"] == 1.0
    assert figures["uncorrected_relabelled_puzzle_accuracy"] == 0.75
    assert (figures["corrected"], figures["given_up"], figures["puzzle_accuracy"]) == (0.25, 0.0, 0.0)
    assert puzzle_figures(puzzles, GIVEN_UP.expand(4, -1, -1))["given_up"] == 1.0
