"""A rule in Z3: handwritten 3×3 squares whose rows, columns and diagonals all have the same, known total.

A formula says what holds and not how to find it; Z3 does that. The one thing to choose is the projection: a walk that
changes one digit of a magic square never meets another. So seven cells are dropped, the walk moves in the two that are
left, and Z3 fills in the rest, once for each question that comes up.
"""

from typing import Any

import torch

import softground as sg

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

space = sg.Categorical([range(10)] * 9)


def magic(cells: list[Any], total: Any) -> list[Any]:
    """All eight lines have the total; ``cells`` are Z3 expressions."""
    return [sum(cells[i] for i in line) == total for line in LINES]


rule = sg.SMT(magic, space)
task = sg.Task(space, rule, sg.inverses.Z3(rule, tries=0))
kernel = sg.kernels.Composed([sg.kernels.Guided(task.inverse, sg.projections.Drop(space, range(2, 9)))] * 4)


def squares(count: int, part: Any) -> sg.Examples:
    """Squares c + (a, −a−b, b; b−a, 0, a−b; −b, a+b, −a) and three times c; training never looks at ``symbols``."""
    every = torch.cartesian_prod(torch.arange(10), torch.arange(-4, 5), torch.arange(-4, 5))
    c, a, b = every.T
    cells = c[:, None] + torch.stack([a, -a - b, b, b - a, 0 * a, a - b, -b, a + b, -a], 1)
    cells = cells[((cells >= 0) & (cells <= 9)).all(1)]
    digits = cells[torch.randint(len(cells), (count,), generator=torch.Generator().manual_seed(len(part)))]
    return sg.Examples(sg.handwritten(digits, part), (3 * digits[:, 4]).tolist(), symbols=digits)


def main(epochs: int = 15, count: int = 300) -> float:
    """Train from totals; the held-out share of right digits."""
    train, test = squares(count, "train"), squares(300, "test")
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    stages = sg.grounding_stages(task, kernel, epochs=epochs)
    learner = sg.Learner(task, network, stages, batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    asked, remembered = task.inverse.queries, task.inverse.hits
    print(f"Z3 solved {asked - remembered:,} different questions; {remembered:,} times the answer was known")
    print(f"held-out squares {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
