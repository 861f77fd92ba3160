"""A plain Python function: three handwritten digits, and how many steps their number takes to reach 1.

The rule is a loop whose length depends on the symbols (halve an even number, else triple it and add one: the Collatz
problem), so it cannot be written as arithmetic on tensors, nor as a formula. It need not be: the library calls it once
for each of the thousand states and keeps the answers. ``None`` says that a state has no answer.
"""

from typing import Any

import torch

import softground as sg


def steps(a: int, b: int, c: int) -> int | None:
    """Steps from the number abc to 1; 0 never gets there."""
    number, count = 100 * a + 10 * b + c, 0
    while number > 1:
        number, count = (number // 2 if number % 2 == 0 else 3 * number + 1), count + 1
    return count if number == 1 else None


def examples(count: int, part: Any) -> tuple[torch.Tensor, list[Any], torch.Tensor]:
    """Images, steps and, for the report only, the true digits."""
    digits = torch.randint(10, (count, 3), generator=torch.Generator().manual_seed(len(part)))
    digits = digits[digits.any(1)]
    return sg.handwritten(digits, part), [steps(*row) for row in digits.tolist()], digits


def main(epochs: int = 8, count: int = 3000) -> float:
    """Train from the numbers of steps; the held-out share of right digits."""
    x, y, _ = examples(count, "train")
    model = sg.SoftGrounder(steps, alphabets=[range(10)] * 3, epochs=epochs).fit(x, y)
    x, y, digits = examples(1000, "test")
    right = float((model.predict(x) == digits.numpy()).mean())
    print(f"held-out steps {model.score(x, y):.1%}, digits {right:.1%}")
    return right


if __name__ == "__main__":
    main()
