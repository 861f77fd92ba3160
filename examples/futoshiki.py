"""Futoshiki: learn digits from handwritten 4×4 squares and some signs < between neighbours.

Every row and column shows four different digits. The digit on a sign's open side is larger. The answer is a square's
signs, which differ from square to square.
"""

from typing import Any

import cpmpy as cp
import torch

import softground as sg
from softground.inverses import solutions

CELLS = torch.arange(16).view(4, 4)
LINES = [line.tolist() for line in (*CELLS, *CELLS.T)]
NEIGHBOURS = [(line[i], line[i + 1]) for line in LINES for i in range(3)]

space = sg.Categorical([range(1, 5)] * 16)


def futoshiki(z: Any, signs: Any) -> list[Any]:
    """Constrain rows, columns and the (smaller, larger) pair of every sign; ``z`` holds CPMpy variables."""
    return [cp.AllDifferent(z[line]) for line in LINES] + [z[a] < z[b] for a, b in signs]


rule = sg.CPMpy(futoshiki, space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make squares with a sign between two of three neighbours; training never uses ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    every = space.states(solutions(sg.inverses.CPSAT(rule), rule.encode([()])).index)  # no signs: all 576 squares
    codes = every[torch.randint(len(every), (count,), generator=chance)]
    shown = (torch.rand(count, len(NEIGHBOURS), generator=chance) < 2 / 3).tolist()
    signs = [
        tuple((a, b) if square[a] < square[b] else (b, a) for (a, b), sign in zip(NEIGHBOURS, row, strict=True) if sign)
        for square, row in zip(codes, shown, strict=True)
    ]
    return sg.Examples(sg.handwritten(codes + 1, part), signs, symbols=codes)


def main(epochs: int = 12, count: int = 300) -> float:
    """Train from signs; return the held-out digit accuracy."""
    train, test = examples(count, "train"), examples(count, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out squares {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
