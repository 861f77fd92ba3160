"""Addition: learn digits from the sums of two handwritten two-digit numbers, with two forms of the rule.

As a **program** the rule is any function from symbols to the answer; the library tabulates its 10,000 states. As a
**scan** it is read column by column with a carry, as at school. Nothing is tabulated, so numbers of fifty digits only
need more columns. Both learn the same digits.
"""

from typing import Any

import torch

import softground as sg

space = sg.Categorical([range(10)] * 4)  # tens and ones of the first number, then of the second

program = sg.Program(lambda a, b, c, d: 10 * a + b + 10 * c + d, space)


def column(state: tuple[int, Any], digit: int, site: int, due: int) -> Any:
    """Read one more digit. The state is the carry and, within a column, the column's upper digit."""
    carry, upper = state
    if upper is None:
        return carry, digit
    carry, written = divmod(carry + upper + digit, 10)
    return (carry, None) if written == due else None  # None: these digits cannot be correct


scan = sg.Scan(
    column,
    space,
    start=(0, None),
    order=[1, 3, 0, 2],  # ones of both numbers first, then tens
    cue=lambda total, site: total // 10 ** (1 - site % 2) % 10,  # the total's digit in this column
    accept=lambda state, total: state[0] == total // 100,
)


def examples(count: int, part: Any) -> sg.Examples:
    """Pairs of numbers; training never looks at ``symbols``."""
    digits = torch.randint(10, (count, 4), generator=torch.Generator().manual_seed(len(part)))
    totals = digits @ torch.tensor([10, 1, 10, 1])
    return sg.Examples(sg.handwritten(digits, part), totals.tolist(), symbols=digits)


def main(epochs: int = 8, count: int = 3000) -> dict[str, float]:
    """Train with each form of the rule; return the held-out digit accuracies."""
    train, test, reached = examples(count, "train"), examples(1000, "test"), {}
    for name, rule in {"program": program, "scan": scan}.items():
        task = sg.Task(space, rule)
        with sg.seeded(0):
            network = sg.default_network(train.x, space)
        learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs))
        learner.fit(train)
        figures = learner.evaluate(test)
        reached[name] = figures["symbol_accuracy"]
        print(f"{name}: held-out sums {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return reached


if __name__ == "__main__":
    main()
