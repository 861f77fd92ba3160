"""Handwritten formulas of length 7 with ABLkit: abduce the formula of the known value nearest to the prediction.

``SimpleBridge``, Adam at 1e-3, batches of 128 images, label smoothing 0.2, three passes over each segment of 1,000
formulas and normalisation are those of the library's own example (``examples/hwf`` in AbductiveLearning/ABLkit); loops
go on until the time is up, past the example's three.

``--base ground`` is the example's ``--ground`` with one change, made so that it runs at all: ABLkit would list and keep
all 13 ** 7 sequences of symbols, 62.7 million of them, before it starts; here only the 419,904 that are formulas are
listed. ``--base search`` is the example's default, which looks for formulas by changing more and more symbols of the
prediction: seconds for a single formula while the network knows nothing yet.
"""

from __future__ import annotations

import contextlib
from itertools import product

import torch
from ablkit.learning import ABLModel, BasicNN
from ablkit.reasoning import GroundKB, KBBase, Reasoner
from harness import Run, TimeUp, formula_accuracy, options, read
from network import lenet
from run_ablkit import ClockedBridge, silence
from torch import nn

DIGITS, OPERATORS = list("123456789"), list("+-*/")
SYMBOLS = DIGITS + OPERATORS
SMOOTHING, BATCH, PASSES, SEGMENT, LENGTH = 0.2, 128, 3, 1000, 7


def value(formula: list[str]) -> float | None:
    """The value of digits and operators in turn, or None for any other sequence."""
    sites = (DIGITS if site % 2 == 0 else OPERATORS for site in range(len(formula)))
    if len(formula) % 2 == 0 or not all(symbol in allowed for symbol, allowed in zip(formula, sites, strict=True)):
        return None
    total, term = 0.0, float(formula[0])
    for operator, symbol in zip(formula[1::2], formula[2::2], strict=True):
        digit = float(symbol)
        if operator == "*":
            term *= digit
        elif operator == "/":
            term /= digit
        else:
            total, term = total + term, digit if operator == "+" else -digit
    return total + term


class Searched(KBBase):
    """The example's default: candidates by exhaustive search around the prediction."""

    def __init__(self) -> None:
        super().__init__(SYMBOLS)

    def logic_forward(self, formula: list[str]) -> float | None:
        return value(formula)


class Ground(GroundKB):
    """The example's ground base, made from grammatical sequences alone."""

    def __init__(self) -> None:
        super().__init__(SYMBOLS, [LENGTH])

    def logic_forward(self, formula: list[str]) -> float | None:
        return value(formula)

    def _get_GKB(self) -> tuple[list[tuple[str, ...]], list[float]]:
        formulas = product(*(DIGITS if site % 2 == 0 else OPERATORS for site in range(LENGTH)))
        listed = sorted(((value(list(formula)), formula) for formula in formulas), key=lambda pair: pair[0])
        return [formula for _, formula in listed], [found for found, _ in listed]


def main() -> None:
    given = options(__doc__, base="ground", rate=1e-3)
    silence()
    train, test = read(given)
    # The example's normalisation, on its own polarity: dark ink on white, less 0.5.
    for part in (train, test):
        part.images.neg_().add_(0.5)
    network = lenet(train.images.shape[-1], len(SYMBOLS)).to(given.device)
    run = Run(given, len(train.images), lambda: formula_accuracy(network, test))
    images = [list(formula) for formula in train.images]
    answers = [over / under for over, under in train.answers.tolist()]
    optimizer = torch.optim.Adam(network.parameters(), lr=given.rate)
    loss = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    device = torch.device(given.device)
    model = ABLModel(BasicNN(network, loss, optimizer, device=device, batch_size=BATCH, num_epochs=PASSES))
    bridge = ClockedBridge(model, Reasoner(Ground() if given.base == "ground" else Searched()), [])
    bridge.run = run
    run.start(
        "ablkit",
        {
            "base": given.base,
            "optimizer": "Adam",
            "rate": given.rate,
            "label_smoothing": SMOOTHING,
            "batch": BATCH,
            "passes": PASSES,
            "segment": SEGMENT,
        },
    )
    with contextlib.suppress(TimeUp):
        bridge.train((images, None, answers), loops=10**6, segment_size=SEGMENT)


if __name__ == "__main__":
    main()
