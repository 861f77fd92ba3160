"""Hierarchical labels: learn fifteen labels of an image from one of them and clauses that relate them.

Labels are Boolean: ten digits and five groups above them. Exactly one digit holds, and it is in its groups only. For
each image, it is known whether it is in one of the groups. The digit is never known; it follows from the clauses.
"""

from typing import Any

import torch

import softground as sg

# even, five or more, prime, drawn with straight lines, divisible by three
GROUPS = [{0, 2, 4, 6, 8}, {5, 6, 7, 8, 9}, {2, 3, 5, 7}, {1, 4, 7}, {0, 3, 6, 9}]
LABELS = torch.tensor([[d == e for e in range(10)] + [d in group for group in GROUPS] for d in range(10)]).long()

one_digit = [list(range(1, 11))] + [[-a, -b] for a in range(1, 11) for b in range(1, a)]
its_groups = [[-(d + 1), n + 1 if LABELS[d, n] else -(n + 1)] for d in range(10) for n in range(10, 15)]
space = sg.Categorical([(False, True)] * 15, head="site")
rule = sg.Cnf(one_digit + its_groups, space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make images with one known group each; the answer: the clauses hold. Training never uses ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    labels = LABELS[digits := torch.randint(10, (count,), generator=chance)]
    told = torch.randint(10, 15, (count, 1), generator=chance)
    known = torch.full_like(labels, -1).scatter(1, told, labels.gather(1, told))
    return sg.Examples(sg.handwritten(digits, part), [True] * count, symbols=labels, known=known)


def main(epochs: int = 30, count: int = 3000) -> float:
    """Train from clauses and single groups; return the held-out share of images with all labels correct."""
    train, test = examples(count, "train"), examples(1000, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs))
    learner.fit(train)
    right = space.encode(learner.predict(test.x)) == test.symbols
    whole = right.all(1).double().mean().item()
    print(f"held-out images with all labels right {whole:.1%}, labels {right.double().mean():.1%}")
    return whole


if __name__ == "__main__":
    main()
