"""What is learnt without labels: default training beside plain training and labels, and which runs name their failure.

    python benchmarks/from_nothing.py --data-dir DIR [--words FILE] [--only evenodd words] [--seeds 1001 1002]

DIR holds MNIST's files, FILE letters and words (``words.npz``). A cell is ``row/way/seed``. Ways: *default* is
``grounding_stages(task)`` with up to two further starts, *one start* the same without them, *plain* ``scaled=False``,
*labels* direct supervision with the same network and epochs. Digits count up to the symmetry of the task (d + 5 for
EvenOdd). Cells on record in ``--out`` are not repeated; what a cell needs is in :data:`ROWS`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from provenance import provenance
from torch import Tensor, nn

import softground as sg
from softground.data.digits import Digits, embedded_digits, load_idx_digits
from softground.networks import PerSite, lenet, strided

RATE = 3e-3


@dataclass(frozen=True)
class Problem:
    """A task, its data and how long to train."""

    task: Any
    train: Any
    test: Any
    epochs: int
    image: tuple[int, ...]
    outputs: int
    same: Callable[[Tensor, Tensor], float]  # the share of symbols read right, up to the task's symmetry
    settings: dict[str, Any]


def small(image: tuple[int, ...], outputs: int) -> nn.Module:
    """A small network without normalisation after its hidden layer."""
    layers = [nn.Conv2d(1, 16, 5, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.BatchNorm2d(32)]
    layers += [nn.ReLU(), nn.Flatten()]
    with torch.no_grad():
        width = nn.Sequential(*layers).eval()(torch.zeros(1, *image)).shape[1]
    return nn.Sequential(*layers, nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, outputs))


NETWORKS: dict[str, Callable[[tuple[int, ...], int], nn.Module]] = {"small": small, "strided": strided, "lenet": lenet}


def equal(read: Tensor, truth: Tensor) -> float:
    """The share of symbols that are read right."""
    return (read == truth).double().mean().item()


def shifted(read: Tensor, truth: Tensor) -> float:
    """The same up to d + 5."""
    return max(equal(read, truth), equal((read + 5) % 10, truth))


def drawn(pool: Digits, codes: Tensor, chance: np.random.Generator) -> Tensor:
    """An image of each digit or letter, ``[examples, sites, 1, height, width]``, from 0 to 1."""
    index = np.zeros(codes.shape, dtype=np.int64)
    for code in np.unique(codes):
        places = np.flatnonzero(pool.labels == code)
        index[codes.numpy() == code] = chance.choice(places, int((codes == code).sum()))
    return torch.from_numpy(pool.images[index][:, :, None]).float() / 255


def problem(
    rule: Any, space: Any, pools: Any, codes: Any, epochs: int, seed: int, wrong: float = 0.0, **more: Any
) -> Problem:
    """Data for a rule: ``codes(chance)`` are symbols of training and test examples."""
    chance = np.random.default_rng(seed)
    train, test = (torch.as_tensor(each) for each in codes(chance))
    task = sg.Task(space, rule)
    answers = [rule.compute(z) for z in (train, test)]
    if wrong:
        for row in np.flatnonzero(chance.random(len(train)) < wrong):
            answers[0][row] = answers[0][chance.integers(len(train))]
    data = [sg.Examples(drawn(pool, z, chance), y, z) for pool, z, y in zip(pools, (train, test), answers, strict=True)]
    image = tuple(data[0].x.shape[2:])
    same = more.pop("same", equal)
    return Problem(task, *data, epochs, image, len(space.symbols), same, more)


def pairs(which: list[tuple[int, int]], each: int) -> Callable[[Any], Any]:
    """So many examples of every pair, in any order, and a tenth of it for testing."""
    every = np.array(sorted({p for a, b in which for p in ((a, b), (b, a))}))
    return lambda chance: [chance.permutation(every.repeat(count, 0)) for count in (each, each // 5)]


EVENODD = [(0, 6), (1, 5), (2, 8), (4, 6), (3, 7), (1, 9), (4, 8), (3, 9)]
HALF = [(0, 0), (0, 1), (2, 3), (2, 4)]
DAYS = [date(2023, 1, 1) + timedelta(days) for days in range(365)]


def weekday() -> Any:
    space = sg.Categorical([range(10)] * 4)
    days = {tuple(map(int, f"{day:%d%m}")): day.weekday() for day in DAYS}
    return space, sg.Program(lambda a, b, c, d: days.get((a, b, c, d)), space)


def build(row: str, given: argparse.Namespace, seed: int) -> tuple[Problem, str]:
    """A row's problem, and its network's name."""
    kind, _, detail = row.partition(" ")

    def pools() -> Any:
        return load_idx_digits(given.data_dir, "train"), load_idx_digits(given.data_dir, "test")

    two = sg.Categorical([range(10)] * 2)
    add = sg.Program(lambda a, b: a + b, two, vectorised=True)
    any_two = lambda count: lambda chance: [chance.integers(10, size=(n, 2)) for n in (count, 2000)]  # noqa: E731
    if kind == "evenodd":
        return problem(add, two, pools(), pairs(EVENODD, 250), 8, seed, same=shifted), "strided"
    if kind == "half":
        five = sg.Categorical([range(5)] * 2)
        rule = sg.Program(lambda a, b: a + b, five, vectorised=True)
        return problem(rule, five, pools(), pairs(HALF, 420), 8, seed), "strided"
    if kind == "dates":
        space, rule = weekday()
        count = int(detail) if detail.isdigit() else 4000
        every = torch.tensor([list(map(int, f"{day:%d%m}")) for day in DAYS])
        codes = lambda chance: [every[chance.integers(365, size=n)] for n in (count, 1000)]  # noqa: E731
        return problem(rule, space, pools(), codes, 8, seed), "lenet" if detail == "lenet" else "small"
    if kind == "differences":
        digits = int(detail[0])
        space, rows = sg.Categorical([range(10)] * 2 * digits), {2: 2000, 3: 1333}[digits]
        weights = [10**k for k in reversed(range(digits))]
        weights += [-w for w in weights]
        rule = sg.Program(lambda *z: sum(w * s for w, s in zip(weights, z, strict=True)), space, vectorised=True)
        codes = lambda chance: [chance.integers(10, size=(n, 2 * digits)) for n in (rows, 1000)]  # noqa: E731
        pools8 = embedded_digits()
        return problem(rule, space, pools8, codes, 10, seed), "default"
    if kind == "sums":
        return problem(add, two, pools(), any_two(4000), 6, seed), "strided"
    if kind == "noisy":  # a fifth of the answers belong to other examples
        return problem(add, two, pools(), any_two(4000), 8, seed, wrong=0.2), "strided"
    if kind == "skewed":
        share = np.array([2.0**-k for k in range(10)]) + 0.02
        codes = lambda chance: [chance.choice(10, p=share / share.sum(), size=(n, 2)) for n in (4000, 2000)]  # noqa: E731
        return problem(add, two, pools(), codes, 8, seed), "strided"
    if kind == "few":
        return problem(add, two, pools(), any_two(60), 300, seed), "strided"
    if kind == "words":
        held = np.load(given.words)
        test = held["test_font"][held["font"]]
        pool = [Digits(held["images"][m], held["labels"][m]) for m in (~test, test)]
        space = sg.Categorical(["abcdefghijklmnopqrstuvwxyz"] * 4)
        known = torch.tensor([[ord(letter) - 97 for letter in word] for word in held["words"].tolist()])
        listed = {tuple(word) for word in held["words"].tolist()}
        rule = sg.Program(lambda *z: True if z in listed else None, space)
        codes = lambda chance: [known[chance.integers(len(known), size=n)] for n in (4000, 1000)]  # noqa: E731
        return problem(rule, space, pool, codes, 12, seed), "small"
    raise SystemExit(f"{row} is no row; there are {', '.join(ROWS)}.")


ROWS: dict[str, tuple[str, ...]] = {
    "evenodd": ("default", "one start", "plain", "labels"),
    "half": ("default", "plain", "labels"),
    "dates small": ("default", "plain", "labels"),
    "dates lenet": ("default", "plain", "labels"),
    "dates 200": ("default",),
    "differences 2": ("default", "plain"),
    "differences 3": ("default", "plain"),
    "sums": ("default", "plain", "labels"),
    "noisy": ("default", "plain"),
    "skewed": ("default", "plain"),
    "few": ("default",),
    "words": ("default", "plain", "labels"),
}


def measure(row: str, way: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """One cell: the share of test symbols read right, the signs of failure, seconds."""
    found, name = build(row, given, seed)

    def network(start: int = 0) -> nn.Module:
        with sg.seeded(1000 * seed + start):
            if name == "default":
                return sg.networks.default_network(found.train.x, found.task.space)
            return PerSite(NETWORKS[name](found.image, found.outputs), found.image)

    stages = sg.grounding_stages(found.task, epochs=found.epochs, scaled=False if way == "plain" else None)
    if way == "labels":
        stages = [replace(stages[0], objective=sg.training.Supervised(), scaled=False)]
    restarts = 2 if way == "default" else 0
    learner = sg.Learner(
        found.task, network(), stages, seed=seed, device="cpu", restarts=restarts, again=network, evaluate_every=99
    )
    began, computing = time.perf_counter(), time.process_time()
    learner.fit(found.train, quiet=True)
    read = learner.predict_codes(found.test.x)
    return {
        "symbols": found.same(torch.stack(list(read)), found.test.symbols),
        "starts": [start.to_json() for start in learner.starts_],
        "grounding": learner.grounding_,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - computing,
        "network": name,
        "epochs": found.epochs,
    } | provenance()


def main() -> None:
    """Measure the cells that are missing."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir", type=Path, required=True)
    options.add_argument("--words", type=Path)
    options.add_argument("--only", nargs="+", default=list(ROWS))
    options.add_argument("--ways", nargs="+")
    options.add_argument("--seeds", type=int, nargs="+", default=[1001, 1002, 1003])
    options.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "from_nothing.json")
    given = options.parse_args()
    torch.set_num_threads(1)
    for seed in given.seeds:
        for row in given.only:
            for way in ROWS[row]:
                page = json.loads(given.out.read_text()) if given.out.exists() else {"runs": {}}
                cell = f"{row}/{way}/{seed}"
                if cell in page["runs"] or (given.ways and way not in given.ways):
                    continue
                run = measure(row, way, seed, given)
                failed = [each["kind"] for each in run["starts"][-1]["failures"]] if run["starts"] else []
                told = f"{len(run['starts'])} starts, {failed}, {run['cpu_seconds']:.0f} s"
                print(f"{cell}: {run['symbols']:.2%}, {told}", flush=True)
                page = json.loads(given.out.read_text()) if given.out.exists() else {"runs": {}}
                page["runs"][cell] = run
                page["runs"] = dict(sorted(page["runs"].items()))
                given.out.write_text(json.dumps(page, indent=1) + "\n")


if __name__ == "__main__":
    main()
