"""A rule in CPMpy: learn digits from handwritten 4×4 Killer Sudoku with its cages and totals.

Every row, column and box shows four different digits; every cage of neighbouring cells shows different digits that add
up to its total. The rule is written as for a solver, and the library chooses how to learn from it.
"""

from typing import Any

import cpmpy as cp
import torch

import softground as sg
from softground.inverses import solutions

CELLS = torch.arange(16).view(4, 4)
BOXES = [CELLS[r : r + 2, c : c + 2].flatten() for r in (0, 2) for c in (0, 2)]
GROUPS = [group.tolist() for group in (*CELLS, *CELLS.T, *BOXES)]

space = sg.Categorical([range(1, 5)] * 16)


def killer(z: Any, cages: Any) -> list[Any]:
    """Constrain the groups of Sudoku and (cells, total) of every cage; ``z`` holds CPMpy variables."""
    cages = [(z[list(cells)], total) for cells, total in cages]
    different = [cp.AllDifferent(cells) for cells in (*(z[group] for group in GROUPS), *(cells for cells, _ in cages))]
    return different + [cp.sum(cells) == total for cells, total in cages]


rule = sg.CPMpy(killer, space)


def boards(count: int, part: Any) -> sg.Examples:
    """Make boards, each cut into dominoes with totals; training never uses ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    every = space.states(
        solutions(sg.inverses.CPSAT(rule), rule.encode([()])).index
    )  # no cages: all 288 boards of Sudoku
    codes = every[torch.randint(len(every), (count,), generator=chance)]
    answers = []
    for board in codes + 1:
        rows = [[(4 * r + c, 4 * r + c + 1) for c in (0, 2)] for r in range(4)]
        turned = torch.rand(2, 2, generator=chance) < 0.5
        cages = [pair for r in range(4) for b, pair in enumerate(rows[r]) if not turned[r // 2, b]]
        cages += [(c + 8 * h, c + 8 * h + 4) for h in range(2) for c in range(4) if turned[h, c // 2]]
        answers.append(tuple((cage, int(board[list(cage)].sum())) for cage in cages))
    return sg.Examples(sg.handwritten(codes + 1, part), answers, symbols=codes)


def main(epochs: int = 12, count: int = 300) -> float:
    """Train from cages; return the held-out digit accuracy."""
    train, test = boards(count, "train"), boards(300, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out boards {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
