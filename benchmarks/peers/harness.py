"""What all runners share: their options, the examples, the clock, and the two measurements on the test set.

A runner imports this file, ``network.py``, torch, numpy and the one library that it is about. The clock counts training
only: making the circuit or table, compiling and a first step to warm up come before it starts, evaluations stop it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

GROWTH = 1.1  # the next evaluation comes when the clock has grown by a tenth: times to an accuracy are that sharp
FIRST = 0.5  # seconds between evaluations at least
BLOCKS = 40  # pieces of the time limit, each of which gives one figure of examples per second


class TimeUp(Exception):
    """The way out of a peer's own training loop."""


@dataclass(frozen=True)
class Part:
    """One side of the split: images in 0 … 1 ``[examples, sites, 1, side, side]``, true symbols, answers."""

    images: Tensor
    symbols: Tensor
    answers: Tensor


def options(description: str | None, **more: Any) -> argparse.Namespace:
    """The options of every runner, and those of this one with their defaults."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="pairs.npz or formulas.npz, see data.py")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines go here")
    parser.add_argument("--seconds", type=float, default=120.0, help="training time at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="where network and examples lie: cpu or cuda")
    parser.add_argument("--validate", type=float, default=0.0, help="judge by this share of the training examples")
    for name, default in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    np.random.seed(given.seed)  # noqa: NPY002 - peers draw from numpy's global generator
    return given


def read(given: argparse.Namespace, mean: float = 0.0, sd: float = 1.0) -> tuple[Part, Part]:
    """Training and test examples on the device; ``mean`` and ``sd`` are a recipe's own normalisation of its inputs.

    With ``--validate`` a share of the training examples, which the seed decides, takes the place of the test examples;
    these are not read.
    """
    with np.load(given.data) as arrays:
        parts = []
        for side in ("train",) if given.validate else ("train", "test"):
            images = torch.from_numpy(arrays[f"{side}_images"]).unsqueeze(2).float().div_(255).sub_(mean).div_(sd)
            rest = [torch.from_numpy(arrays[f"{side}_{k}"]) for k in ("symbols", "answers")]
            parts.append(Part(*(part.to(given.device) for part in (images, *rest))))
    if not given.validate:
        return parts[0], parts[1]
    order = torch.randperm(len(parts[0].images), generator=torch.Generator().manual_seed(given.seed)).to(given.device)
    few = round(given.validate * len(order))
    kept, held = (
        Part(parts[0].images[own], parts[0].symbols[own], parts[0].answers[own]) for own in (order[few:], order[:few])
    )
    return kept, held


def batches(part: Part, size: int, seed: int) -> Iterator[tuple[int, Tensor, Tensor]]:
    """``(epoch, images, answers)`` for ever, in a new order every epoch: the loop of peers that have none of their own.

    Examples lie in memory as tensors, so that no peer pays for a data loader that it does not ask for.
    """
    generator = torch.Generator().manual_seed(seed)
    for epoch in itertools.count():
        order = torch.randperm(len(part.images), generator=generator).to(part.images.device)
        for index in torch.split(order, size):
            yield epoch, part.images[index], part.answers[index]


class Run:
    """The record of one run: a heading, then a line per evaluation and per block of training time.

    Parameters
    ----------
    given
        The runner's options.
    examples
        Training examples in an epoch.
    measure
        Accuracies on the test set, or on what is put away for validation, taken while the clock stands.
    """

    def __init__(self, given: argparse.Namespace, examples: int, measure: Callable[[], dict[str, float]]) -> None:
        self.limit, self.examples, self.measure, self.device = given.seconds, examples, measure, given.device
        self.seconds, self.seen = 0.0, 0
        self._due, self._block, self._measured = FIRST, (0.0, 0), -1
        self._file = given.out.open("w")
        self._began = time.perf_counter()

    def start(self, package: str, settings: dict[str, Any], version: str | None = None) -> None:
        """Write the heading and start the clock; what happened since the run was made is set-up."""
        setup = time.perf_counter() - self._began
        versions = {package: version or metadata.version(package), "python": platform.python_version()}
        versions |= {"torch": torch.__version__, "numpy": np.__version__}
        self._write(
            heading={
                "version": versions[package],
                "versions": versions,
                "settings": settings,
                "setup_seconds": round(setup, 2),
                "threads": torch.get_num_threads(),
                "device": torch.cuda.get_device_name() if self.device == "cuda" else self.device,
            }
        )
        self._since = self._now()

    def step(self, count: int) -> None:
        """``count`` examples were trained on since the last call; raises :class:`TimeUp` when the time is spent."""
        now, (begun, before) = time.perf_counter(), self._block
        if self.seconds + now - self._since >= min(self._due, begun + self.limit / BLOCKS):
            now = self._now()  # a time that counts is one at which the work is done
        self.seconds, self._since, self.seen = self.seconds + now - self._since, now, self.seen + count
        if self.seconds - begun >= self.limit / BLOCKS:
            self._write(block={"seconds": self.seconds - begun, "examples": self.seen - before})
            self._block = (self.seconds, self.seen)
        if self.seconds >= self.limit:
            self.finish("the time was up")
            raise TimeUp
        if self.seconds >= self._due:
            self._evaluate()
            self._due = max(self.seconds + FIRST, self.seconds * GROWTH)
            self._since = self._now()

    def _now(self) -> float:
        """The clock, once a GPU has done what it was given."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def finish(self, why: str) -> None:
        """The last evaluation."""
        if self._measured != self.seen:
            self._evaluate()
        self._write(end=why)
        self._file.close()

    def _evaluate(self) -> None:
        self._measured = self.seen
        epochs = self.seen / self.examples
        self._write(seconds=round(self.seconds, 3), epochs=round(epochs, 4), examples=self.seen, **self.measure())

    def _write(self, **line: Any) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()  # a runner that is killed leaves what it had


def scores(network: nn.Module, images: Tensor, batch: int = 500) -> Tensor:
    """The network's outputs ``[examples, sites, classes]``, without gradients, its mode put back."""
    was_training = network.training
    network.eval()
    with torch.no_grad():
        pieces = torch.split(images, batch)
        parts = [network(piece.flatten(0, 1)).view(len(piece), piece.shape[1], -1) for piece in pieces]
    network.train(was_training)
    return torch.cat(parts)


def sum_accuracy(network: nn.Module, test: Part) -> dict[str, float]:
    """Share of test pairs whose two most probable digits have the right sum, and share of right digits."""
    predicted = scores(network, test.images).argmax(-1)
    right = (predicted.sum(1) == test.answers).double().mean().item()
    return {"accuracy": right, "symbol_accuracy": (predicted == test.symbols).double().mean().item()}


def formula_accuracy(network: nn.Module, test: Part) -> dict[str, float]:
    """Calculation and symbol accuracy of the most probable formula that is one: digits at even sites, operators at odd.

    ``plain_`` figures are over all readings: the most probable of all 13 symbols at each site, and what is no formula
    is wrong. That is how a method predicts which is not told where digits and operators stand.
    """
    outputs = scores(network, test.images)
    digit, even = (torch.arange(outputs.shape[dim], device=outputs.device) for dim in (2, 1))
    digit, even = digit < 9, even % 2 == 0
    grammatical = outputs.masked_fill(digit != even[:, None], -torch.inf).argmax(-1)
    found = {}
    for name, predicted in (("", grammatical), ("plain_", outputs.argmax(-1))):
        valid = ((predicted < 9) == even).all(1)
        over, under = values(torch.where(valid[:, None], predicted, grammatical))
        right = valid & (over * test.answers[:, 1] == under * test.answers[:, 0])
        found[f"{name}accuracy"] = right.double().mean().item()
        found[f"{name}symbol_accuracy"] = (predicted == test.symbols).double().mean().item()
    return found


def values(symbols: Tensor) -> tuple[Tensor, Tensor]:
    """Numerators and denominators of formulas whose symbols are places in 1 … 9 + − × ÷, in whole numbers."""
    over, under = torch.zeros_like(symbols[:, 0]), torch.ones_like(symbols[:, 0])
    n, d = symbols[:, 0] + 1, torch.ones_like(under)
    for site in range(1, symbols.shape[1], 2):
        operator, digit = symbols[:, site] - 9, symbols[:, site + 1] + 1
        closes = operator < 2  # + or − ends a term; its sign goes into the next one
        over, under = torch.where(closes, over * d + n * under, over), torch.where(closes, under * d, under)
        sign = torch.where(operator == 1, -digit, digit)
        n = torch.where(closes, sign, torch.where(operator == 2, n * digit, n))
        d = torch.where(closes, 1, torch.where(operator == 3, d * digit, d))
    return over * d + n * under, under * d
