"""Handwritten formulas of length 7 with softground: the counterpart of ``run_ablkit_hwf.py``.

Kernel, optimiser, batch and distortions are those of ``softground train hwf --preset best --network lenet``; the rate
is that of ``settings.py``. It follows the clock in one cycle instead of a number of epochs, so that the cycle is
complete when the time is up, on any machine. Like that preset it reads any symbol at any site; with ``--readings
grammatical`` the network is told where digits and operators stand.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

import torch
from harness import Run, TimeUp, formula_accuracy, options, read
from network import lenet

import softground as sg
from softground.tasks.formulas import formula_task

DECAY, BATCH = 0.01, 128


def main() -> None:
    given = options(__doc__, augment=1, readings="all", rate=8e-3)
    train, test = read(given)
    side = train.images.shape[-1]
    run = Run(given, len(train.images), lambda: formula_accuracy(network, test))
    task = formula_task(length=train.images.shape[1], readings=given.readings)
    network = sg.networks.lenet((1, side, side), outputs=task.space.outputs)
    if repr(network) != repr(lenet(side, 13)):
        raise SystemExit("softground.networks.lenet is no longer the network in network.py; make them the same.")
    cycle = sg.learner.one_cycle()
    stage = sg.Stage(
        "I",
        sg.training.SoftenedGrounding(sg.kernels.Exact(task.inverse), sg.schedules.Constant(1.0)),
        epochs=10**6,
        optimizer=lambda p: torch.optim.AdamW(p, lr=given.rate, weight_decay=DECAY),
        learning_rate=lambda progress: cycle(min(1.0, run.seconds / run.limit)),
    )
    learner = sg.Learner(
        task,
        sg.PerSite(network, (1, side, side)),
        [stage],
        batch_size=BATCH,
        seed=given.seed,
        device=given.device,
        augment=sg.data.RandomAffine() if given.augment else None,
    )

    def observe(event: str, facts: dict[str, Any]) -> None:
        if event == "begin":
            settings = {
                "kernel": "exact, marginals",
                "readings": given.readings,
                "optimizer": "AdamW",
                "rate": given.rate,
                "batch": BATCH,
                "schedule": "one cycle over the time limit",
                "distortions": bool(given.augment),
            }
            run.start("softground", settings, sg.__version__)
        elif event == "batch":
            run.step(min(BATCH, len(train.images) - facts["step"] * BATCH))

    with contextlib.suppress(TimeUp):
        learner.fit(sg.Examples(train.images, [Fraction(*y) for y in train.answers.tolist()]), observer=observe)


if __name__ == "__main__":
    main()
