r"""Chain quality on formulas of any length: the share of rightly grounded training symbols after a fixed budget.

- **half-trained**: one network, stopped early in training on length-5 formulas, and 50 rounds of a guided and a
  collapsed step at γ = 1 for every chain. Beside it: the network's own reading (the rule not asked), a draw from it,
  and where S_y can be listed the share that the exact Q* gives, which no number of rounds can be expected to pass.
- **from scratch**: a new network at each length, learning from values alone for 200 gradient steps on 64 formulas, each
  after one guided and three collapsed steps.

Random pairs of sites are dropped and completed by enumeration, at every length. Chains begin where the
task's own inverse puts them, which looks at no label; formulas for which that finds no state are left out, and
``started`` is the share of the others.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from growth_formulas import IMAGE, LENGTHS, walks
from torch import Tensor

from softground.data import Examples
from softground.dice import Sampler
from softground.inverses import Enumeration, Start, Table
from softground.kernels import Composed, Exact
from softground.learner import Learner, Stage, one_cycle
from softground.networks import PerSite, convnet
from softground.objectives import SoftenedGrounding
from softground.schedules import Constant
from softground.target import Target
from softground.task import Task
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.data import load
from softground.tasks.formulas.long import enumeration

UPDATES = 32  # gradient steps of the half-trained network


def quality(device: str, quick: bool, seed: int) -> dict[str, Any]:
    """Share of rightly grounded symbols after fixed budgets, against formula length."""
    half, scratch = [], []
    network = half_trained(device, quick, seed)
    for sites in (3, 9) if quick else LENGTHS:
        started = Started(sites, 30 if quick else 600, seed, device)
        half.append({"size": sites} | after_rounds(started, network, 5 if quick else 50, seed))
        scratch.append({"size": sites} | from_scratch(started, 3 if quick else 200, seed))
        print(f"{device} quality, length {sites}: {half[-1]} {scratch[-1]}", flush=True)
    return {"half-trained": half, "from scratch": scratch}


class Started:
    """Formulas of a length with their first states, fixed so that every use begins at the same place."""

    def __init__(self, sites: int, count: int, seed: int, device: str) -> None:
        self.device = device
        self.program = formula_program(sites)
        every = load("digits", length=sites, train_size=count, test_size=1, image_size=8, seed=seed).train
        start = enumeration(self.program).start(self.program.encode(every.y), seed)
        kept = start.found.nonzero().flatten()
        self.found = len(kept) / count
        self.z = start.z[kept].to(device)
        assert every.symbols is not None
        self.symbols = every.symbols[kept].to(device)
        self.train = Examples(every.x[kept], [every.y[i] for i in kept.tolist()], every.symbols[kept])
        self.y = self.program.encode(self.train.y).to(device)
        self.inverse = Fixed(self.program.space, self.program)
        self.inverse.first = self.z

    def right(self, z: Tensor) -> float:
        return (z == self.symbols).double().mean().item()


class Fixed(Enumeration):
    """Enumeration with first states that were found before."""

    first: Tensor

    def start(self, y: Tensor, seed: int) -> Start:
        yes = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(self.first.clone(), yes, yes)


def half_trained(device: str, quick: bool, seed: int) -> PerSite:
    """A network after ``UPDATES`` gradient steps on length-5 formulas, from their values alone."""
    program = formula_program(5)
    table = Table(program)
    task = Task(program.space, program, table)
    count = 64 * (3 if quick else UPDATES)
    train = load("digits", length=5, train_size=count, test_size=1, image_size=8, seed=seed).train
    network = small(program.space.outputs, seed)
    stage = Stage("I", SoftenedGrounding(Exact(table), Constant(1.0)), 1, adam, one_cycle())
    Learner(task, network, [stage], batch_size=64, seed=seed, device=device).fit(train)  # type: ignore[arg-type]
    return network


def after_rounds(started: Started, network: PerSite, rounds: int, seed: int) -> dict[str, Any]:
    """Chains under the half-trained network: where the rounds leave them, beside the network alone and exact Q*."""
    space, dice = started.program.space, Sampler(seed, started.device)
    network.eval()
    with torch.no_grad():
        belief = space.belief(network(started.train.x.to(started.device)))
    target = Target.at(belief, started.y, 1.0)
    state, accepted = started.z, []
    round_ = Composed([*walks(started.inverse, space).values()])
    for _ in range(rounds):
        state, info = round_.step(dice, state, target)
        accepted.append(info.acceptance.mean().item())
    figures = {
        "grounded": started.right(state),
        "at_start": started.right(started.z),
        "network": started.right(belief.mode()),
        "network_draw": belief.scores.gather(2, started.symbols[..., None]).exp().mean().item(),
        "acceptance": sum(accepted) / len(accepted),
        "started": started.found,
    }
    if space.sites <= 7:
        _, exact = Exact(Table(started.program)).step(dice, state, target)
        assert exact.marginals is not None
        figures["exact"] = exact.marginals.gather(2, started.symbols[..., None]).mean().item()
    return figures


def from_scratch(started: Started, updates: int, seed: int) -> dict[str, Any]:
    """A new network and its chains after a fixed number of gradient steps of 64 formulas."""
    space = started.program.space
    task = Task(space, started.program, started.inverse)
    guided, collapsed = walks(started.inverse, space, marginals=True).values()
    network = small(space.outputs, seed)
    per_epoch = -(-len(started.train) // 64)
    epochs = max(1, round(updates / per_epoch))
    objective = SoftenedGrounding(Composed([guided] + [collapsed] * 3), Constant(1.0))
    learner = Learner(
        task,
        network,
        [Stage("I", objective, epochs, adam, one_cycle())],
        batch_size=64,
        seed=seed,
        device=started.device,  # type: ignore[arg-type]
    )
    began = time.perf_counter()
    learner.fit(started.train)
    last = learner.history_[-1]
    return {
        "grounded": last["grounded_symbols"],
        "network": last["train_symbol_accuracy"],
        "updates": epochs * per_epoch,
        "wall": time.perf_counter() - began,
    }


def small(outputs: int, seed: int) -> PerSite:
    torch.manual_seed(seed)
    return PerSite(convnet(IMAGE, outputs, width=16), IMAGE)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=5e-3)
