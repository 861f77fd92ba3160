"""What ``GroundingLoss`` costs over the bare law, forward and backward, in CPU seconds, alternately in one process.

    python benchmarks/layer.py [--quick] [--pairs 15]

The bare law takes codes made beforehand; the loss takes positions in the data set (``index``) or a batch's answers
(``answers``). Both use the same logits. *beside a network*: the same after a small convolutional network, whose
training step both share. Ratios are medians of pairs with quartiles; each turn of a pair takes at least 0.1 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from measure import destination, interleaved, options, record
from torch import Tensor, nn

import softground as sg
from softground.target import Target

ROWS = (64, 1024)


def rules() -> Iterator[tuple[str, sg.Task, Callable[..., Any]]]:
    """Five kinds of rule, and what each computes."""
    space = sg.Categorical([range(10)] * 3)
    yield "a·b + c, table", sg.Task(space, sg.Program(lambda a, b, c: a * b + c, space)), lambda a, b, c: a * b + c
    space = sg.Categorical([range(10)] * 4)
    yield "sum of four, scan", sg.Task(space, sg.Scan(lambda total, digit: total + digit, space)), lambda *z: sum(z)
    space = sg.Categorical([range(10)] * 12)
    yield "twelve digits mod 7, scan", sg.Task(space, sg.Scan(lambda s, d: (s + d) % 7, space)), lambda *z: sum(z) % 7
    space = sg.Categorical([range(6)] * 4)
    both = sg.All([sg.Sum([0, 1]), sg.Value([2, 3], max)], space)
    yield "sum and maximum, lists", sg.Task(space, both), lambda a, b, c, d: (a + b, max(c, d))

    def pairs(*z: Any) -> Any:
        return sum((z[i] == z[i + 1]) * 2**i for i in range(8))

    space = sg.Categorical([range(4)] * 9)
    yield "neighbours alike, table of 4⁹", sg.Task(space, sg.Program(pairs, space, vectorised=True)), pairs


def ways(
    task: sg.Task, answers: list[Any], x: Tensor, read: Callable[[Tensor], Tensor]
) -> dict[str, Callable[[], Any]]:
    """One step of the bare law, and of the loss in both forms."""
    loss, direct = sg.GroundingLoss(task, answers=answers), sg.GroundingLoss(task)
    codes, index = task.constraint.encode(answers), torch.arange(len(x))

    def bare() -> Any:
        belief = task.space.belief(read(x))
        (-task.inverse.law(Target(belief, codes, 1.0)).log_mass().mean()).backward()

    return {
        "bare": bare,
        "index": lambda: loss(read(x), index=index).backward(),
        "answers": lambda: direct(read(x), answers).backward(),
    }


def measured(steps: dict[str, Callable[[], Any]], pairs: int, seconds: float) -> dict[str, Any]:
    """Milliseconds of the first, and ratios to it."""
    steps["bare"]()
    began = time.process_time()
    steps["bare"]()
    times = max(1, round(seconds / max(1e-6, time.process_time() - began)))

    def repeat(work: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                work()

        return run

    found = interleaved({n: repeat(w) for n, w in steps.items()}, pairs, warmup=1, clock=time.process_time)
    return {"bare_ms": 1000 * found["seconds"]["bare"]["median"] / times, "ratio": found["ratio"]}


def network_of(outputs: int) -> Callable[[Tensor], Tensor]:
    """A small convolutional network, site by site."""
    layers = [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2)]
    one = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64, outputs))
    return lambda x: one(x.flatten(0, 1)).view(*x.shape[:2], outputs)


def main() -> None:
    """Measure all rules."""
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    figures: dict[str, Any] = {}
    for name, task, answer in rules():
        for rows in ROWS[:1] if given.quick else ROWS:
            chance = torch.Generator().manual_seed(given.seed)
            space = task.space
            z = space.decode(space.random(rows, chance))
            answers = [answer(*state) for state in z]
            logits = torch.randn(rows, space.sites, space.outputs, generator=chance).requires_grad_()
            pairs, seconds = (2, 0.01) if given.quick else (given.pairs, 0.1)
            row = measured(ways(task, answers, logits, lambda x: x), pairs, seconds)
            images = torch.randn(rows, space.sites, 1, 14, 14, generator=chance)
            row["beside a network"] = measured(
                ways(task, answers, images, network_of(space.outputs)), 2 if given.quick else 9, seconds
            )
            figures.setdefault(name, {})[str(rows)] = row
            print(name, rows, {way: round(one["median"], 3) for way, one in row["ratio"].items()}, flush=True)
    record("layer", {"rules": figures}, seed=given.seed, folder=destination(given))


if __name__ == "__main__":
    main()
