"""Receipts: learn digits from the totals of handwritten amounts.

A receipt has four amounts from 0.00 to 9.99: twelve handwritten digits, 10¹² possibilities, one total. The rule is a
scan that adds up the columns from the right, as on paper. It never lists the possibilities: its state is the column's
sum so far, one of at most 40 numbers.
"""

from typing import Any

import torch

import softground as sg

ITEMS, PLACES = 4, 3  # amounts on a receipt, and digits of an amount in cents

space = sg.Categorical([range(10)] * (ITEMS * PLACES))  # the first amount's digits, then the second's …


def add_up(total: int, digit: int, site: int, due: int) -> Any:
    """Add a digit to its column; below the last amount, the column must show the total's digit."""
    total += digit
    if site < (ITEMS - 1) * PLACES:
        return total
    return total // 10 if total % 10 == due else None  # carry, or: these digits cannot be correct


rule = sg.Scan(
    add_up,
    space,
    order=[item * PLACES + place for place in reversed(range(PLACES)) for item in range(ITEMS)],
    cue=lambda cents, site: cents // 10 ** (PLACES - 1 - site % PLACES) % 10,
    accept=lambda carry, cents: carry == cents // 10**PLACES,
)


def examples(count: int, part: Any) -> sg.Examples:
    """Make receipts with their totals in cents; training never uses ``symbols``."""
    digits = torch.randint(10, (count, ITEMS * PLACES), generator=torch.Generator().manual_seed(len(part)))
    cents = digits @ torch.tensor([100, 10, 1] * ITEMS)
    return sg.Examples(sg.handwritten(digits, part), cents.tolist(), symbols=digits)


def main(epochs: int = 15, count: int = 2000) -> float:
    """Train from the totals; return the held-out digit accuracy."""
    train, test = examples(count, "train"), examples(500, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=32)
    learner.fit(train)
    figures = learner.evaluate(test)
    [read] = learner.predict(test.x[:1])
    amounts = [f"{read[i]}.{read[i + 1]}{read[i + 2]}" for i in range(0, len(read), PLACES)]
    print(f"a receipt of {test.y[0] / 100:.2f} reads {' + '.join(amounts)}")
    print(f"held-out totals {figures['answer_accuracy']:.1%}, digits {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
