"""Addition of noisy one-hot 'digits': small enough that a run takes a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softground import Examples, Learner, Program, Stage, Task, grounding_stages
from softground.inverses import Enumeration
from softground.kernels import Collapsed, Exact, Guided, Kernel, Metropolis, Uniform
from softground.projections import ChangeOne, RandomDrop
from softground.runs import RunFolder
from softground.runs.checkpoint import load_part
from softground.spaces import Categorical

DIGITS = 4


def addition(sites: int = 3, tabulated: bool = True) -> Task:
    """Digits 0 … 3 at each site; the answer is their sum, so S_y holds up to 12 of 64 states."""
    space = Categorical([range(DIGITS)] * sites)
    program = Program(lambda *digits: sum(digits), space, vectorised=True)
    return Task(space, program, None if tabulated else Enumeration(space, program))  # type: ignore[arg-type]


def examples(task: Task, count: int = 192, seed: int = 0, noise: float = 0.2) -> Examples:
    """Noisy one-hot vectors ``[count, sites, digits]`` with their sums, and the digits for reports."""
    chance = torch.Generator().manual_seed(1000 + seed)
    digits = torch.randint(DIGITS, (count, task.space.sites), generator=chance)
    x = nn.functional.one_hot(digits, DIGITS).float() + noise * torch.randn(*digits.shape, DIGITS, generator=chance)
    return Examples(x, digits.sum(1).tolist(), digits)


def classifier(seed: int = 0, dropout: float = 0.0) -> nn.Module:
    """One small classifier for every site."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(DIGITS, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, DIGITS))


def kernel(name: str, task: Task) -> Kernel:
    """A kernel by name, with random sites dropped where it projects."""
    drop, move = RandomDrop(task.space, 1), ChangeOne(task.space)
    makers: dict[str, Callable[[], Kernel]] = {
        "exact": lambda: Exact(task.inverse),  # type: ignore[arg-type]
        "guided": lambda: Guided(task.inverse, drop, marginals=True),
        "collapsed": lambda: Collapsed(task.inverse, drop, move, marginals=True),
        "uniform": lambda: Uniform(task.inverse, drop, move),
        "metropolis": lambda: Metropolis(task.inverse, drop, move),
    }
    return makers[name]()


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.02)


def make_learner(
    task: Task, stages: list[Stage] | None = None, net: nn.Module | None = None, **settings: Any
) -> Learner:
    """A learner with small batches; three epochs of exact marginals unless told otherwise."""
    stages = grounding_stages(task, epochs=3, optimizer=adam) if stages is None else stages
    return Learner(task, net or classifier(), stages, **({"batch_size": 32, "device": "cpu"} | settings))


def chains_of(learner: Learner, stage: int = 0) -> Tensor:
    """Where the chains of a learner's stage stand."""
    return learner.loop.parts[0].memory[stage]["chains"]


def weights(net: nn.Module) -> dict[str, Tensor]:
    """A copy of the network's state."""
    return {name: value.clone() for name, value in net.state_dict().items()}


def equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    """The same names and the same bits."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def untimed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Metrics without their timings."""
    return [{name: value for name, value in record.items() if name != "seconds"} for record in records]


def left_behind(folder: Path) -> dict[str, Any]:
    """Everything a run leaves that must not depend on interruptions: tensors, meta and metrics, timings aside."""
    run = RunFolder.open(folder)
    tensors, meta = run.load_checkpoint()
    del meta["seconds"]
    for rank, name in enumerate(meta.pop("parts", []), start=1):  # the names have the number of the checkpoint
        tensors |= {f"process {rank}: {key}": value for key, value in load_part(run.path, name).items()}
    return {"tensors": tensors, "meta": meta, "metrics": untimed(run.read_metrics())}


def assert_same_run(a: Path, b: Path) -> None:
    """Two run folders that hold the same bits."""
    one, other = left_behind(a), left_behind(b)
    assert one["metrics"] == other["metrics"]
    assert one["meta"] == other["meta"]
    assert one["tensors"].keys() == other["tensors"].keys()
    different = [name for name, value in one["tensors"].items() if not torch.equal(value, other["tensors"][name])]
    assert different == []


class Stop(Exception):
    """An interruption."""


def stop_at(number: int) -> Callable[[str, dict[str, Any]], None]:
    """An observer that interrupts a run at its event of this number; 0: never."""
    events = 0

    def observer(event: str, facts: dict[str, Any]) -> None:
        nonlocal events
        events += 1
        if events == number:
            raise Stop

    return observer
