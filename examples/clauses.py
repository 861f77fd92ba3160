"""Clauses: learn handwritten zeros and ones from whether each row satisfies a formula of logic.

The formula is in conjunctive normal form, as in a solver: each list is a clause, 3 is the third bit, −3 its negation.
Rows that violate it teach as well; their S_y is the complement.
"""

from typing import Any

import torch

import softground as sg

space = sg.Categorical([(False, True)] * 6)
rule = sg.Cnf([[1, 2], [-2, 3], [-3, 4, 5], [-4, -5], [6, -1]], space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make random rows with truth values; training never uses ``symbols``."""
    bits = torch.randint(2, (count, 6), generator=torch.Generator().manual_seed(len(part)))
    holds = rule.feasible(bits, rule.encode([True] * count)).tolist()
    return sg.Examples(sg.handwritten(bits, part), holds, symbols=bits)


def main(epochs: int = 8, count: int = 1000) -> float:
    """Train from truth values; return the held-out accuracy of bits."""
    train, test = examples(count, "train"), examples(500, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=32)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out rows answered {figures['answer_accuracy']:.1%}, bits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
