"""A plain Python function: learn three handwritten digits from the number of steps to reach 1.

The rule is a loop whose length depends on the symbols (halve an even number, else triple it and add one: the Collatz
problem), so it cannot be written as arithmetic on tensors or as a formula. The library calls it once for each of the
thousand states and keeps the answers. ``None`` means that a state has no answer.
"""

from typing import Any

import torch

import softground as sg


def steps(a: int, b: int, c: int) -> int | None:
    """Count the steps from the number abc to 1; 0 never reaches it."""
    number, count = 100 * a + 10 * b + c, 0
    while number > 1:
        number, count = (number // 2 if number % 2 == 0 else 3 * number + 1), count + 1
    return count if number == 1 else None


def examples(count: int, part: Any) -> tuple[torch.Tensor, list[Any], torch.Tensor]:
    """Make images, steps and, for the report only, the true digits."""
    digits = torch.randint(10, (count, 3), generator=torch.Generator().manual_seed(len(part)))
    digits = digits[digits.any(1)]
    return sg.handwritten(digits, part), [steps(*row) for row in digits.tolist()], digits


def main(epochs: int = 8, count: int = 3000) -> float:
    """Train from the numbers of steps; return the held-out digit accuracy."""
    x, y, _ = examples(count, "train")
    model = sg.SoftGrounder(steps, alphabets=[range(10)] * 3, epochs=epochs).fit(x, y)
    x, y, digits = examples(1000, "test")
    right = float((model.predict(x) == digits.numpy()).mean())
    print(f"held-out steps {model.score(x, y):.1%}, digits {right:.1%}")
    return right


if __name__ == "__main__":
    main()
