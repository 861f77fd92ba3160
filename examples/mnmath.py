"""Equations: learn eight handwritten digits from whether a + b = c + d and e · f = g · h hold.

A false equation says little about its digits, and a true one not much more. So one labelled image of each digit helps
at the start; the network learns the rest from the two truth values. After rsbench's MNMath.
"""

from typing import Any

import torch

import softground as sg

space = sg.Categorical([range(10)] * 8)
same_sum = sg.Value(range(4), lambda a, b, c, d: a + b == c + d)
same_product = sg.Value(range(4, 8), lambda e, f, g, h: e * f == g * h)
rule = sg.All([same_sum, same_product], space)  # an answer: two truth values


def examples(count: int, part: Any) -> sg.Examples:
    """Make equally many rows of each of the four answers; training never uses ``symbols``."""
    digits = torch.randint(10, (400 * count, 8), generator=torch.Generator().manual_seed(len(part)))
    a, b, c, d, e, f, g, h = digits.T
    holds = torch.stack([a + b == c + d, e * f == g * h], 1).long()
    kind = holds @ torch.tensor([1, 2])
    chosen = torch.cat([(kind == answer).nonzero()[: count // 4, 0] for answer in range(4)])
    answers = [tuple(row) for row in holds[chosen].bool().tolist()]
    return sg.Examples(sg.handwritten(digits[chosen], part), answers, symbols=digits[chosen])


def main(epochs: int = 10, count: int = 1000) -> float:
    """Train from truth values and ten labelled images; return the held-out digit accuracy."""
    train, test = examples(count, "train"), examples(400, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=32)
    learner.fit(train, anchors=sg.Anchors(sg.handwritten(range(10), "train"), list(range(10))))
    figures = learner.evaluate(test)
    print(f"held-out rows answered {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
