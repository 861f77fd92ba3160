"""Growth in time on handwritten formulas (embedded digits).

- **length**: seconds of one step of the guided and the collapsed kernel, 256 chains, random pairs of sites dropped.
  Fibres by enumeration at every length, and by a table of the whole space up to 7: the two at lengths 3 and 7 show what
  switching from one to the other costs.
- **data**: seconds of a whole training step (preset best, batches of 128) against the number of formulas, and of what
  comes before the first step.
- **batch**: seconds of one step of the exact and the guided kernel on length-7 formulas against the batch.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from measure import timed, wait
from torch import Tensor

from softground.data import Examples
from softground.dice import Sampler
from softground.inverses import Enumeration, Table
from softground.kernels import Collapsed, Exact, Guided, Kernel
from softground.learner.stopwatch import Stopwatch
from softground.networks import PerSite, convnet
from softground.objectives import SoftenedGrounding
from softground.objectives.base import Batch
from softground.projections import ChangeOne, RandomDrop
from softground.schedules import Constant
from softground.target import Target
from softground.task import Task
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.data import load

LENGTHS = (3, 7, 11, 15, 19, 25)
DATA = (1_000, 10_000, 100_000)
BATCHES = (64, 256, 1024, 4096, 8192)
IMAGE = (1, 8, 8)


def length(device: str, quick: bool, seed: int) -> dict[str, Any]:
    """Seconds of a kernel step against formula length, per kernel and inverse."""
    series: dict[str, Any] = {}
    for sites in (3, 7) if quick else LENGTHS:
        program = formula_program(sites)
        z, y = formulas(program, 32 if quick else 256, seed)
        inverses: dict[str, Any] = {"enumeration": Enumeration(program.space, program)}
        if sites <= 7:
            inverses["table"] = Table(program)
        for kind, inverse in inverses.items():
            for name, kernel in walks(inverse, program.space).items():
                seconds = kernel_seconds(kernel, program.space, z, y, device, 3 if quick else 20)
                series.setdefault(f"{name}, {kind}", []).append({"size": sites, "seconds": seconds})
    return series


def batch(device: str, quick: bool, seed: int) -> dict[str, Any]:
    """Seconds of a kernel step against the batch, length 7."""
    program = formula_program(7)
    table, everywhere = Table(program), Enumeration(program.space, program)
    pairs = RandomDrop(program.space, 2)
    kernels: dict[str, Kernel] = {
        "exact, table": Exact(table),
        "guided, table": Guided(table, pairs),
        "guided, enumeration": Guided(everywhere, pairs),
    }
    series: dict[str, Any] = {name: [] for name in kernels}
    for size in BATCHES[:2] if quick else BATCHES:
        z, y = formulas(program, size, seed)
        for name, kernel in kernels.items():
            seconds = kernel_seconds(kernel, program.space, z, y, device, 3 if quick else 7)
            series[name].append({"size": size, "seconds": seconds})
    return series


def data(device: str, quick: bool, seed: int) -> dict[str, Any]:
    """Seconds of a training step, and of what comes before the first, against the number of formulas."""
    steps, before = [], []
    for size in (100, 1_000) if quick else DATA:
        train = load("digits", length=7, train_size=size, test_size=1, image_size=IMAGE[1], seed=seed).train
        began = time.perf_counter()
        step = training_step(train, device, seed)
        wait(device)
        before.append({"size": size, "seconds": {"median": time.perf_counter() - began}})
        steps.append({"size": size, "seconds": timed(step, 3 if quick else 20, 3, device)})
    return {"training step": steps, "before the first step": before}


def training_step(train: Examples, device: str, seed: int) -> Any:
    """One gradient step on 128 formulas drawn from all, as the learner makes it (exact kernel)."""
    program = formula_program(7)
    table = Table(program)
    task = Task(program.space, program, table)
    torch.manual_seed(seed)
    network = PerSite(convnet(IMAGE, program.space.outputs), IMAGE).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
    objective, dice, chance = SoftenedGrounding(Exact(table), Constant(1.0)), Sampler(seed, device), torch.Generator()
    x, y, stopwatch = train.x.to(device), program.encode(train.y).to(device), Stopwatch(torch.device(device))
    objective.begin(task, y, seed)

    def step() -> None:
        index = torch.randint(len(y), (128,), generator=chance).to(device)
        belief = program.space.belief(network(x[index]))
        loss = objective.loss(Batch(index, belief, y[index], None, 0, dice, stopwatch)).loss
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()

    return step


def walks(inverse: Any, space: Any, marginals: bool = False) -> dict[str, Kernel]:
    """The guided and the collapsed kernel with random pairs dropped."""
    pairs = RandomDrop(space, 2)
    return {
        "guided": Guided(inverse, pairs, marginals=marginals),
        "collapsed": Collapsed(inverse, pairs, ChangeOne(space), marginals=marginals),
    }


def formulas(program: Any, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Formulas drawn uniformly, and their encoded values."""
    train = load("digits", length=program.space.sites, train_size=count, test_size=1, image_size=8, seed=seed).train
    assert train.symbols is not None
    return train.symbols, program.encode(train.y)


def kernel_seconds(kernel: Kernel, space: Any, z: Tensor, y: Tensor, device: str, repeats: int) -> dict[str, Any]:
    """Seconds of one step of all chains, under random beliefs."""
    scores = torch.randn(len(z), space.sites, space.outputs, generator=torch.Generator().manual_seed(0))
    target = Target.at(space.belief(scores.to(device)), y.to(device), 1.0)
    step = partial(kernel.step, Sampler(0, device), z.to(device), target)
    return timed(step, repeats, 2, device)
