"""A rule of parts: learn digits from handwritten 4×5 grids and the sums of their rows and columns.

Too many of the 10²⁰ grids have the same sums to be listed. But each sum has an exact distribution, and all nine teach.
"""

from typing import Any

import torch

import softground as sg

ROWS = [[5 * row + column for column in range(5)] for row in range(4)]
COLUMNS = [list(column) for column in zip(*ROWS, strict=True)]

space = sg.Categorical([range(10)] * 20)
rule = sg.All([sg.Sum(line) for line in ROWS + COLUMNS], space)  # an answer: four sums of rows, five of columns


def grids(count: int, part: Any) -> sg.Examples:
    """Make grids with their sums; training never uses ``symbols``."""
    digits = torch.randint(10, (count, 20), generator=torch.Generator().manual_seed(len(part)))
    sums = torch.stack([digits[:, line].sum(1) for line in ROWS + COLUMNS], 1)
    return sg.Examples(sg.handwritten(digits, part), sums.tolist(), symbols=digits)


def main(epochs: int = 6, count: int = 1000) -> float:
    """Train from sums; return the held-out digit accuracy."""
    train, test = grids(count, "train"), grids(300, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out grids {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
