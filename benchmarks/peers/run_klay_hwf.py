"""Handwritten formulas of length 7 with KLay: the formulas of each value as a circuit, its log-likelihood as the loss.

The softmax at each site runs over all 13 symbols, so that nothing tells the network where digits and operators stand.
KLay has no example with formulas and is a layer without a trainer: optimiser, rate over the clock, batches and
distortions are those of ``run_softground_hwf.py``. The circuit (``formula_circuit.py``) is written with KLay's own
nodes; it has a root for each value among the training answers and takes a fraction of a second to make.

``--compile 1`` asks for the library's default, ``torch.compile`` with CUDA graphs: with it every size of a batch is
compiled and run a few times before the clock starts.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction

import torch
from formula_circuit import SYMBOLS, Formulas
from harness import Part, Run, TimeUp, batches, formula_accuracy, options, read
from network import lenet
from recipe import distorted, one_cycle
from torch import Tensor, nn

DECAY, BATCH = 0.01, 128
WARMING = 3  # steps of each size before the clock starts, where compiled; CUDA graphs are recorded by then


def roots(part: Part) -> tuple[list[Fraction], Tensor]:
    """The values among the answers, and the place of each example's among them."""
    answers = [Fraction(*answer) for answer in part.answers.tolist()]
    values = sorted(set(answers))
    places = {value: place for place, value in enumerate(values)}
    return values, torch.tensor([places[answer] for answer in answers], device=part.answers.device)


def main() -> None:
    given = options(__doc__, augment=1, compile=0, rate=8e-3)
    train, test = read(given)
    network = lenet(train.images.shape[-1], SYMBOLS).to(given.device)
    run = Run(given, len(train.images), lambda: formula_accuracy(network, test))
    values, places = roots(train)
    train = Part(train.images, train.symbols, places)
    made = Formulas(train.images.shape[1], values).made
    made.remove_unused_nodes()
    if given.compile:
        torch._dynamo.config.automatic_dynamic_shapes = False  # two sizes of batches, a graph for each
    layer = made.to_torch_module(semiring="log", compile=bool(given.compile)).to(given.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=given.rate, weight_decay=DECAY)
    generator = torch.Generator(given.device).manual_seed(given.seed)

    def loss(images: Tensor, answers: Tensor) -> Tensor:
        symbols = network(images.flatten(0, 1)).log_softmax(-1).view(len(images), -1)
        return nn.functional.nll_loss(layer(symbols, torch.zeros_like(symbols)), answers)

    for size in (BATCH, len(train.images) % BATCH or BATCH):
        for _ in range(WARMING if given.compile else 1):
            loss(train.images[:size], places[:size]).backward()
            optimizer.zero_grad()
    run.start(
        "klaycircuits",
        {
            "readings": "all",
            "optimizer": "AdamW",
            "rate": given.rate,
            "batch": BATCH,
            "schedule": "one cycle over the time limit",
            "distortions": bool(given.augment),
            "compile": bool(given.compile),
            "roots": len(values),
            "nodes": made.nb_nodes(),
        },
    )
    with contextlib.suppress(TimeUp):
        for _, images, answers in batches(train, BATCH, given.seed):
            for group in optimizer.param_groups:
                group["lr"] = given.rate * one_cycle(min(1.0, run.seconds / run.limit))
            loss(distorted(images, generator) if given.augment else images, answers).backward()
            optimizer.step()
            optimizer.zero_grad()
            run.step(len(images))


if __name__ == "__main__":
    main()
