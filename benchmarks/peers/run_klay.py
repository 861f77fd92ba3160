"""MNIST addition with KLay: the sum of two digits as an arithmetic circuit, its log-likelihood as the loss.

The circuit is that of KLay's own experiment (``experiments/mnist_addition/run.py`` in ML-KULeuven/klay): the pairs of
digits with a sum, compiled by PySDD, one root a sum. ``--recipe published`` trains as that experiment does: AdamW at a
constant rate of 3e-4, batches of 128 pairs, inputs normalised. KLay is a layer and has no trainer, so that nothing but
that script says how to train with it; ``--recipe same`` therefore gives it the optimiser of ``run_softground.py``.

Chosen for speed on a CPU: the loop has no data loader, and ``torch.compile``, the library's default, is left off unless
``--compile 1`` asks for it, since it took seconds to compile and gained nothing.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

import klay
import torch
from harness import Run, TimeUp, batches, options, read, sum_accuracy
from network import lenet
from pysdd.sdd import SddManager, Vtree
from torch import Tensor, nn

RECIPES = {
    "published": {"rate": 3e-4, "batch": 128, "decay": 1e-5, "epochs": 0},  # 0: until the time is up
    "same": {"rate": 4e-3, "batch": 128, "decay": 0.01, "epochs": 25},
}
WARM = 0.02


def circuit() -> klay.Circuit:
    """Root s holds where the two digits add up to s; literals 1 … 10 are the first digit's, 11 … 20 the second's."""
    manager = SddManager.from_vtree(Vtree(var_count=20, vtree_type="balanced"))
    digits = [[manager.l(10 * site + digit + 1) for digit in range(10)] for site in range(2)]
    one_each = reduce(and_, [exactly_one(literals) for literals in digits])
    made = klay.Circuit()
    for total in range(19):
        ways = [digits[0][a] & digits[1][total - a] for a in range(10) if 0 <= total - a < 10]
        # A false literal costs nothing, as in the experiment: the positive ones already are a distribution.
        made.add_sdd(reduce(or_, ways) & one_each, true_lits=[-literal for literal in range(1, 21)])
    return made


def exactly_one(literals: list[Any]) -> Any:
    """One of the literals is true and no two are."""
    pairs = [~a | ~b for i, a in enumerate(literals) for b in literals[i + 1 :]]
    return reduce(and_, pairs, reduce(or_, literals))


def main() -> None:
    given = options(__doc__, recipe="published", compile=0, batch=0, rate=0.0, epochs=0, warm=WARM, normalise=1)
    told = {name: value for name in ("rate", "epochs") if (value := getattr(given, name))}
    recipe = RECIPES[given.recipe] | told
    size = given.batch or int(recipe["batch"])
    train, test = read(given, mean=0.1307, sd=0.3081) if given.normalise else read(given)
    network = lenet().to(given.device)
    run = Run(given, len(train.images), lambda: sum_accuracy(network, test))
    layer = circuit().to_torch_module(semiring="log", compile=bool(given.compile)).to(given.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=recipe["rate"], weight_decay=recipe["decay"])
    steps = int(recipe["epochs"]) * -(-len(train.images) // size)
    schedule = steps and torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe["rate"], steps, pct_start=given.warm, cycle_momentum=False, div_factor=25, final_div_factor=4
    )

    def loss(images: Tensor, sums: Tensor) -> Tensor:
        digits = network(images.flatten(0, 1)).log_softmax(-1).view(len(images), -1)
        return nn.functional.nll_loss(layer(digits, torch.zeros_like(digits)), sums)

    loss(train.images[:size], train.answers[:size]).backward()  # warms up, and compiles where asked to
    optimizer.zero_grad()
    run.start("klaycircuits", {"recipe": given.recipe, **recipe, "batch": size, "compile": bool(given.compile)})
    try:
        for step, (_, images, sums) in enumerate(batches(train, size, given.seed), 1):
            loss(images, sums).backward()
            optimizer.step()
            optimizer.zero_grad()
            run.step(len(images))
            if step == steps:
                run.finish("the recipe's epochs were done")
                break
            if schedule:
                schedule.step()
    except TimeUp:
        pass


if __name__ == "__main__":
    main()
