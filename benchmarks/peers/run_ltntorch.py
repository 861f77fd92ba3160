"""MNIST addition with LTNtorch: for all pairs there are digits with the known sum which the images show.

The axiom, its operators, the schedule of p, Adam at 1e-3 and batches of 32 are those of the library's own example
(``examples/4-semi-supervised_pattern_recognition.ipynb`` in tommasocarraro/LTNtorch), with the network of this
comparison in place of the notebook's. ``--grounding images`` states the predicate as the notebook does, on images and
labels: the network then reads every image once for each of the ten labels that it is asked about.
``--grounding once`` grounds the variables in the network's probabilities, so that it reads every image once: the same
truth values and gradients, several times faster.

``settings.py`` has what was tried beside ``--grounding once --batch 128 --normalise 1``. Seeds differ a lot.
"""

from __future__ import annotations

import ltn
import torch
from harness import Run, TimeUp, batches, options, read, sum_accuracy
from network import lenet
from torch import Tensor, nn

EPOCHS = 20
P = {0: 1, 4: 2, 8: 4, 12: 6}  # from which epoch on the existential quantifier takes which p


class Digit(nn.Module):
    """digit(x, d): the probability that image x shows digit d."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor, digit: Tensor) -> Tensor:
        return self.network(images).softmax(1).gather(1, digit)


def main() -> None:
    given = options(__doc__, grounding="images", batch=32, normalise=0, rate=1e-3, first_p=1)
    train, test = read(given, mean=0.1307, sd=0.3081) if given.normalise else read(given)
    schedule = {epoch: max(p, given.first_p) for epoch, p in P.items()}
    ltn.device = torch.device(given.device)
    network = lenet().to(given.device)
    run = Run(given, len(train.images), lambda: sum_accuracy(network, test))
    if given.grounding == "images":
        digit = ltn.Predicate(Digit(network))
    else:
        digit = ltn.Predicate(func=lambda probabilities, label: probabilities.gather(1, label))
    conjunction = ltn.Connective(ltn.fuzzy_ops.AndProd())
    exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
    forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    first, second = (ltn.Variable(name, torch.arange(10)) for name in ("d1", "d2"))
    optimizer = torch.optim.Adam(network.parameters(), lr=given.rate)

    def satisfaction(images: Tensor, sums: Tensor, p: int) -> Tensor:
        grounding = images.unbind(1)
        if given.grounding == "once":
            grounding = network(images.flatten(0, 1)).softmax(1).view(len(images), 2, 10).unbind(1)
        x, y = ltn.Variable("x", grounding[0]), ltn.Variable("y", grounding[1])
        n = ltn.Variable("n", sums)
        return forall(
            ltn.diag(x, y, n),
            exists(
                [first, second],
                conjunction(digit(x, first), digit(y, second)),
                cond_vars=[first, second, n],
                cond_fn=lambda a, b, total: torch.eq(a.value + b.value, total.value),
                p=p,
            ),
        ).value

    satisfaction(train.images[: given.batch], train.answers[: given.batch], 1).backward()  # warms up
    optimizer.zero_grad()
    run.start(
        "LTNtorch",
        {
            "grounding": given.grounding,
            "optimizer": "Adam",
            "rate": given.rate,
            "batch": given.batch,
            "normalised": bool(given.normalise),
            "epochs": EPOCHS,
            "p": schedule,
        },
    )
    try:
        for epoch, images, sums in batches(train, given.batch, given.seed):
            if epoch == EPOCHS:
                run.finish("the recipe's epochs were done")
                break
            optimizer.zero_grad()
            (1.0 - satisfaction(images, sums, schedule[max(e for e in schedule if e <= epoch)])).backward()
            optimizer.step()
            run.step(len(images))
    except TimeUp:
        pass


if __name__ == "__main__":
    main()
