"""MNIST addition with ABLkit: predict, abduce the digits with the known sum, train on them, segment by segment.

Knowledge base, ``SimpleBridge``, RMSprop at 3e-4 with a one-cycle rate over two loops, label smoothing 0.2, batches of
32 images, segments of a hundredth of the data and normalisation are those of the library's own example
(``examples/mnist_add/main.py`` and its ``datasets`` in AbductiveLearning/ABLkit). ``--loops`` asks for more passes than
the example's two. Evaluation and log lines between segments are left out; they would only cost it time.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any

import torch
from ablkit.bridge import SimpleBridge
from ablkit.data.structures import ListData
from ablkit.learning import ABLModel, BasicNN
from ablkit.reasoning import KBBase, Reasoner
from ablkit.utils import ABLLogger
from harness import Run, TimeUp, options, read, sum_accuracy
from network import lenet
from torch import nn

RATE, ALPHA, SMOOTHING, BATCH, SEGMENT = 3e-4, 0.9, 0.2, 32, 0.01


class Addition(KBBase):
    """The sum of the digits."""

    def __init__(self) -> None:
        super().__init__(list(range(10)))

    def logic_forward(self, digits: list[int]) -> int:
        return sum(digits)


class ClockedBridge(SimpleBridge):
    """ABLkit's own training pipeline, which tells the run of each segment and evaluates nothing itself."""

    run: Run

    def _train_one_segment(self, sub_data_examples: ListData, *rest: Any) -> None:
        count = len(sub_data_examples)
        super()._train_one_segment(sub_data_examples, *rest)
        self.run.step(count)

    def _maybe_eval(self, *ignored: Any) -> None:
        """The run evaluates."""


def silence() -> None:
    """Keep warnings and errors of ABLkit's logger, not its line for every segment."""
    ABLLogger.get_current_instance().setLevel(logging.WARNING)


def main() -> None:
    given = options(__doc__, loops=2)
    silence()
    train, test = read(given, mean=0.1307, sd=0.3081)
    network = lenet().to(given.device)
    run = Run(given, len(train.images), lambda: sum_accuracy(network, test))
    images = [list(pair) for pair in train.images.cpu()]  # ABLkit reads lists of lists of tensors, and moves them
    optimizer = torch.optim.RMSprop(network.parameters(), lr=RATE, alpha=ALPHA)
    # A step a segment; rounding may leave one more segment than a hundred.
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=RATE, pct_start=0.15, total_steps=given.loops * (int(1 / SEGMENT) + 1)
    )
    loss, device = nn.CrossEntropyLoss(label_smoothing=SMOOTHING), torch.device(given.device)
    model = BasicNN(network, loss, optimizer, schedule, device=device, batch_size=BATCH, num_epochs=1)
    base = Addition()
    bridge = ClockedBridge(ABLModel(model), Reasoner(base), [])
    bridge.run = run
    settings = {
        "optimizer": "RMSprop",
        "rate": RATE,
        "schedule": "one cycle",
        "label_smoothing": SMOOTHING,
        "batch": BATCH,
        "segment": SEGMENT,
        "loops": given.loops,
    }
    run.start("ablkit", settings)
    with contextlib.suppress(TimeUp):
        bridge.train((images, None, train.answers.tolist()), loops=given.loops, segment_size=SEGMENT)
        run.finish("the recipe's loops were done")


if __name__ == "__main__":
    main()
