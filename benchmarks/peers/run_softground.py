"""MNIST addition with softground, through its public interface: the rule is a line, the kernel is the library's choice.

That is the exact kernel with marginals at γ = 1, for a rule of 100 states. AdamW with a one-cycle rate is the library's
default; the rate rises over the first 2 % of the run instead of 20 %, since the task is easy, and inputs are normalised
as the recipes of KLay and ABLkit do. ``settings.py`` has what was tried beside warm-up, batch, rate, epochs and
normalisation as they are here.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from harness import Run, TimeUp, options, read, sum_accuracy
from network import lenet

import softground as sg

IMAGE = (1, 28, 28)


def main() -> None:
    given = options(__doc__, epochs=25, batch=128, rate=4e-3, warm=0.02, normalise=1)
    train, test = read(given, mean=0.1307, sd=0.3081) if given.normalise else read(given)
    space = sg.Categorical([range(10)] * 2)
    network = sg.networks.lenet(IMAGE, outputs=space.outputs)
    if repr(network) != repr(lenet()):
        raise SystemExit("softground.networks.lenet is no longer the network in network.py; make them the same.")
    run = Run(given, len(train.images), lambda: sum_accuracy(network, test))
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space))
    grounding = sg.grounding_stages(task)[0].objective

    def adamw(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=given.rate, fused=True)

    stage = sg.Stage("I", grounding, given.epochs, adamw, sg.learner.one_cycle(given.warm))
    learner = sg.Learner(
        task, sg.PerSite(network, IMAGE), [stage], batch_size=given.batch, seed=given.seed, device=given.device
    )

    def observe(event: str, facts: dict[str, Any]) -> None:
        if event == "begin":
            settings = {
                "kernel": "exact, marginals",
                "optimizer": "AdamW",
                "rate": given.rate,
                "schedule": "one cycle",
                "warm": given.warm,
                "batch": given.batch,
                "epochs": given.epochs,
                "normalised": bool(given.normalise),
            }
            run.start("softground", settings, sg.__version__)
        elif event == "batch":
            run.step(min(given.batch, len(train.images) - facts["step"] * given.batch))

    with contextlib.suppress(TimeUp):
        learner.fit(sg.Examples(train.images, train.answers.tolist()), observer=observe)
        run.finish("the recipe's epochs were done")


if __name__ == "__main__":
    main()
