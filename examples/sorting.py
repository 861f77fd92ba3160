"""Sorting: learn digits from which of two handwritten two-digit numbers is larger.

The order alone distinguishes the ten digits. Answers are words here: an answer may be an int, a Fraction, a string or a
tuple of these.
"""

from typing import Any

import torch

import softground as sg


def larger(a: int, b: int, c: int, d: int) -> str:
    """Name the larger of the numbers ab and cd."""
    first, second = 10 * a + b, 10 * c + d
    return "neither" if first == second else "first" if first > second else "second"


space = sg.Categorical([range(10)] * 4)
rule = sg.Program(larger, space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make pairs of numbers; training never uses ``symbols``."""
    digits = torch.randint(10, (count, 4), generator=torch.Generator().manual_seed(len(part)))
    return sg.Examples(sg.handwritten(digits, part), [larger(*row) for row in digits.tolist()], symbols=digits)


def main(epochs: int = 15, count: int = 4000) -> float:
    """Train from comparisons; return the held-out share of correct ones."""
    train, test = examples(count, "train"), examples(1000, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs))
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out comparisons {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
