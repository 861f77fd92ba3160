"""Learn short, read long: trained on formulas of 5 symbols and their values, it reads formulas of 15.

A formula of 5 symbols is one of 11,664, so that all explanations of a value are summed up exactly; one of 15 is one of
700,000,000,000. But a network that reads every symbol by itself does not know how many there are. A family made by a
function makes the task of any other length when formulas of that length are to be read.

Digits are read as digits and operators as operators, since each site has its own alphabet. What the network reads where
any of the 13 symbols may stand anywhere is printed beside it: that is the harder question.
"""

from fractions import Fraction
from typing import Any

import softground as sg

DIGITS, OPERATORS = range(1, 10), "+-*/"


def value(*symbols: Any) -> Fraction:
    """What a formula is worth, exactly: * and / extend a term, + and - begin the next one."""
    done, term = Fraction(0), Fraction(symbols[0])
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        if operator in "+-":
            done, term = done + term, Fraction(digit if operator == "+" else -digit)
        else:
            term = term * digit if operator == "*" else term / digit
    return done + term


def formulas(length: int) -> sg.Task:
    """Digits and operators in turn; one network reads the symbols of every length."""
    alphabets = [OPERATORS if site % 2 else DIGITS for site in range(length)]
    space = sg.Categorical(alphabets, symbols=[*DIGITS, *OPERATORS])
    return sg.Task(space, sg.Program(value, space))


def main(epochs: int = 8, count: int = 2000) -> dict[str, float]:
    """Train on 5 symbols; the held-out shares of right symbols, any symbol anywhere, at 5, 9 and 15."""
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
