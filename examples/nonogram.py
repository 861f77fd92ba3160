"""Nonograms: learn to read pictures of 5×5 cells from the clues of their rows and columns.

A filled cell shows a handwritten 8, an empty one a 3. A clue lists the lengths of a line's runs of filled cells in
order: ``(2, 1)`` is two cells, a gap, and one cell. A clue is a function of its line, with an exact distribution.
"""

from typing import Any

import torch

import softground as sg

CELLS = torch.arange(25).view(5, 5)
LINES = [line.tolist() for line in (*CELLS, *CELLS.T)]
space = sg.Categorical([("empty", "filled")] * 25)


def runs(*line: str) -> tuple[int, ...]:
    """Compute the clue of a line."""
    return tuple(map(len, "".join(cell[0] for cell in line).replace("e", " ").split()))


rule = sg.All([sg.Value(line, runs) for line in LINES], space)  # an answer: five clues of rows, five of columns


def examples(count: int, part: Any) -> sg.Examples:
    """Make pictures with their clues; training never uses ``symbols``."""
    filled = torch.randint(2, (count, 25), generator=torch.Generator().manual_seed(len(part)))
    return sg.Examples(sg.handwritten(3 + 5 * filled, part), rule.compute(filled), symbols=filled)


def main(epochs: int = 6, count: int = 300) -> float:
    """Train from clues; return the held-out accuracy of cells."""
    train, test = examples(count, "train"), examples(count, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out pictures {figures['answer_accuracy']:.1%}, cells {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
