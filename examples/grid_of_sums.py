"""A rule of parts: handwritten grids of 4×5 digits of which only the sums of rows and columns are known.

Of 10²⁰ grids, too many have the sums of one to be listed. But each sum by itself has an exact law, and all nine teach.
"""

from typing import Any

import torch

import softground as sg

ROWS = [[5 * row + column for column in range(5)] for row in range(4)]
COLUMNS = [list(column) for column in zip(*ROWS, strict=True)]

space = sg.Categorical([range(10)] * 20)
rule = sg.All([sg.Sum(line) for line in ROWS + COLUMNS], space)  # an answer: four sums of rows, five of columns


def grids(count: int, part: Any) -> sg.Examples:
    """Grids and their sums; training never looks at ``symbols``."""
    digits = torch.randint(10, (count, 20), generator=torch.Generator().manual_seed(len(part)))
    sums = torch.stack([digits[:, line].sum(1) for line in ROWS + COLUMNS], 1)
    return sg.Examples(sg.handwritten(digits, part), sums.tolist(), symbols=digits)


def main(epochs: int = 6, count: int = 1000) -> float:
    """Train from sums; the held-out share of right digits."""
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
