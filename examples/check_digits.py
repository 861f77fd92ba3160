"""Check digits: learn digits from valid card numbers, and see why validity alone is not enough.

The last digit of such a number is chosen so that Luhn's sum is a multiple of ten. Validity alone is not enough, for two
reasons. A fresh network gets no hint: while one digit is unread, all sums are equally likely. And success would be
invisible: a network that reads **everything as 0** calls every number valid, because 000000 is valid. (Invalid numbers
hardly help: nine in ten numbers are invalid.)

A few labels help. Here a clerk has typed thirty numbers; the others are only known to be valid. Answers express both:
"457891" was typed, "??????" is only valid, and "45?8?1" would also work. The script trains three times: on valid
numbers alone, on the typed ones alone, and on both.
"""

from typing import Any

import torch

import softground as sg

LENGTH = 6
space = sg.Categorical([range(10)] * LENGTH)


def luhn(total: int, digit: int, site: int, typed: str) -> int | None:
    """Luhn's sum modulo ten: every second digit counts double, and a double's digits are added."""
    if typed not in ("?", str(digit)):
        return None  # the clerk typed another digit
    return (total + (digit if site % 2 else sum(divmod(2 * digit, 10)))) % 10


rule = sg.Scan(luhn, space, cue=lambda shown, site: shown[site], accept=lambda total, shown: total == 0)


def numbers(count: int, part: Any) -> torch.Tensor:
    """Make valid numbers: five random digits and a check digit."""
    digits = torch.randint(10, (count, LENGTH), generator=torch.Generator().manual_seed(len(part)))
    worth = torch.where(torch.arange(LENGTH) % 2 == 1, digits, 2 * digits // 10 + 2 * digits % 10)
    digits[:, -1] = -worth[:, :-1].sum(1) % 10  # the last site counts single
    return digits


def main(epochs: int = 15, count: int = 1000, typed: int = 30) -> dict[str, float]:
    """Train three times; return the held-out digit accuracies."""
    truth, test, valid = numbers(count, "train"), numbers(1000, "test"), "?" * LENGTH
    x, unseen = sg.handwritten(truth, "train"), sg.handwritten(test, "test")
    texts = ["".join(map(str, row)) for row in truth[:typed].tolist()]
    few, rest, often = torch.arange(typed), torch.arange(typed, count), count // typed
    data = {
        "valid alone": (x, [valid] * count),
        "typed alone": (x[few.repeat(often)], texts * often),
        "both": (
            x[torch.cat([few.repeat(4), rest])],
            texts * 4 + [valid] * len(rest),
        ),  # repeated four times, for more weight
    }
    reached = {}
    for name, (images, answers) in data.items():
        model = sg.SoftGrounder(rule, epochs=epochs).fit(images, answers)
        found, reached[name] = model.score(unseen, [valid] * len(test)), (model.predict(unseen) == test.numpy()).mean()
        print(f"{name}: held-out numbers found valid {found:.1%}, digits {reached[name]:.1%}")
    return reached


if __name__ == "__main__":
    main()
