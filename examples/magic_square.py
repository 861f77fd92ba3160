"""A rule in Z3: learn digits from handwritten magic squares, whose eight lines have the same, known total.

A formula states what holds, and Z3 finds solutions. The user chooses the projection: a walk that changes one digit of a
magic square never reaches another one. So seven cells are dropped, the walk moves in the other two, and Z3 completes
the square, once for each distinct query.
"""

from typing import Any

import torch

import softground as sg

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

space = sg.Categorical([range(10)] * 9)


def magic(cells: list[Any], total: Any) -> list[Any]:
    """Constrain all eight lines to the total; ``cells`` are Z3 expressions."""
    return [sum(cells[i] for i in line) == total for line in LINES]


rule = sg.SMT(magic, space)
task = sg.Task(space, rule, sg.inverses.Z3(rule, tries=0))
kernel = sg.kernels.Composed([sg.kernels.Guided(task.inverse, sg.projections.Drop(space, range(2, 9)))] * 4)


def squares(count: int, part: Any) -> sg.Examples:
    """Make squares c + (a, −a−b, b; b−a, 0, a−b; −b, a+b, −a) and totals 3c; training never uses ``symbols``."""
    every = torch.cartesian_prod(torch.arange(10), torch.arange(-4, 5), torch.arange(-4, 5))
    c, a, b = every.T
    cells = c[:, None] + torch.stack([a, -a - b, b, b - a, 0 * a, a - b, -b, a + b, -a], 1)
    cells = cells[((cells >= 0) & (cells <= 9)).all(1)]
    digits = cells[torch.randint(len(cells), (count,), generator=torch.Generator().manual_seed(len(part)))]
    return sg.Examples(sg.handwritten(digits, part), (3 * digits[:, 4]).tolist(), symbols=digits)


def main(epochs: int = 15, count: int = 300) -> float:
    """Train from totals; return the held-out digit accuracy."""
    train, test = squares(count, "train"), squares(300, "test")
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    stages = sg.grounding_stages(task, kernel, epochs=epochs)
    learner = sg.Learner(task, network, stages, batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    asked, remembered = task.inverse.queries, task.inverse.hits
    print(f"Z3 solved {asked - remembered:,} different queries; {remembered:,} answers came from its memory")
    print(f"held-out squares {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
