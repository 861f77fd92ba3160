"""Learn short, read long: train on formulas of 5 symbols and their values, and read formulas of 15.

There are 11,664 formulas of 5 symbols, so sums over all explanations of a value are exact. There are 700,000,000,000 of
15. But a network that reads single symbols does not depend on the length. A family defined by a function makes the task
of any further length when it is needed.

Each site has its own alphabet, of digits or of operators. The script also prints the accuracy when any of the 13
symbols may be read at any site, which is harder.
"""

from fractions import Fraction
from typing import Any

import softground as sg

DIGITS, OPERATORS = range(1, 10), "+-*/"


def value(*symbols: Any) -> Fraction:
    """Compute a formula's exact value: * and / extend a term, + and - begin the next one."""
    done, term = Fraction(0), Fraction(symbols[0])
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        if operator in "+-":
            done, term = done + term, Fraction(digit if operator == "+" else -digit)
        else:
            term = term * digit if operator == "*" else term / digit
    return done + term


def formulas(length: int) -> sg.Task:
    """Make the task of a length: digits and operators in turn, with one network for all lengths."""
    alphabets = [OPERATORS if site % 2 else DIGITS for site in range(length)]
    space = sg.Categorical(alphabets, symbols=[*DIGITS, *OPERATORS])
    return sg.Task(space, sg.Program(value, space))


def main(epochs: int = 8, count: int = 2000) -> dict[str, float]:
    """Train on 5 symbols; return the unrestricted held-out symbol accuracies at 5, 9 and 15."""
    train = sg.tasks.TASKS["hwf"](lengths=(5,), train_size=count).load(seed=0).train  # type: ignore[call-arg]
    test = sg.tasks.TASKS["hwf"](lengths=(5, 9, 15), test_size=1500).load(seed=0).test  # type: ignore[call-arg]
    family = sg.Family(formulas, [5])
    with sg.seeded(0):
        network = sg.default_network(train.parts[5].x, family[5].space)
    learner = sg.Learner(family, network, lambda task: sg.grounding_stages(task, epochs=epochs)).fit(train)
    figures, reached = learner.evaluate(test), {}
    for length in (5, 9, 15):
        right, plain = (figures[f"shape_{length}_{kind}answer_accuracy"] for kind in ("", "plain_"))
        print(f"{length} symbols: held-out formulas {right:.1%}, any symbol anywhere {plain:.1%}")
        reached[str(length)] = figures[f"shape_{length}_plain_symbol_accuracy"]
    return reached


if __name__ == "__main__":
    main()
