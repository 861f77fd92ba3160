r"""Dice: the source of every random choice of a kernel.

Kernels never touch a generator. They request one of three choices with its probabilities, one row per example; kernels
on reals request a uniform number and invert a distribution. :class:`Sampler` draws from a seeded generator. The tests
use other dice that enumerate **all** outcomes and add up their probabilities. So the transition matrix that they
compare with Q* comes from the code that runs in training, to machine precision.

One seed determines a run: each purpose has its own random stream (:func:`stream`, :class:`Streams`). All threads of a
process share torch's global generators, which draw initial weights and serve the user's layers and data sets during a
fit. Afterwards their state is restored.
"""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

import torch
from torch import Tensor

UNIT = 2.0**-40  # the resolution of probabilities
WIDE, STRETCH = 1024, 64  # options from which a row is drawn in stretches, and their length

_LOCK = threading.RLock()
_lent = ExitStack()  # restores the generators when the last fit ends
_fits = 0


class Dice(Protocol):
    """Source of chance, one choice per example."""

    def categorical(self, log_weights: Tensor) -> Tensor:
        """Draw one column per row of unnormalised log-weights ``[rows, options]``: ``[rows]``."""

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        """Draw from ragged rows of probabilities: row r owns ``weights[offsets[r]:offsets[r+1]]``, which add up to 1.

        Returns flat positions, ``[rows]``.
        """

    def accept(self, log_ratio: Tensor) -> Tensor:
        """True with probability min(1, exp(log_ratio)), per row."""

    def uniform(self, rows: int) -> Tensor:
        """Numbers uniform on [0, 1) in double precision: ``[rows]``. Only kernels on reals use these."""


def any_of(dice: Dice, usable: Tensor) -> Tensor:
    """One usable option per row, uniformly: ``usable[rows, options]`` (bool) to ``[rows]``."""
    return dice.categorical(torch.zeros_like(usable, dtype=torch.float32).masked_fill(~usable, -torch.inf))


class Sampler:
    """Dice that draw from one seeded generator on the network's device.

    Choices are made by inversion of the cumulative probabilities: one uniform number per row, whatever the number of
    options. Probabilities are rounded to multiples of 2⁻⁴⁰ and added up as whole numbers, because whole numbers give
    the same sum in any order: the same choice on any number of threads, and on a GPU.

    >>> dice = Sampler(seed=0)
    >>> dice.categorical(torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])).tolist()
    [0, 1]
    """

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed(seed)

    def uniform(self, rows: int) -> Tensor:
        return torch.rand(rows, generator=self.generator, device=self.generator.device, dtype=torch.float64)

    def categorical(self, log_weights: Tensor) -> Tensor:
        # A row's whole numbers and their sums are exact as doubles too, which saves a GPU the conversions.
        weights = log_weights.double().softmax(-1).div(UNIT, rounding_mode="trunc")
        if not _in_stretches(weights):
            cumulative = weights.cumsum(-1)
            level = self.uniform(len(weights))[:, None] * cumulative[:, -1:]
            return _first_above(cumulative, level)
        # First a stretch of options, then one of them.
        count = -(-weights.shape[1] // STRETCH)
        stretches = torch.nn.functional.pad(weights, (0, count * STRETCH - weights.shape[1])).view(-1, count, STRETCH)
        sums = stretches.sum(-1)
        cumulative = sums.cumsum(-1)
        level = self.uniform(len(weights))[:, None] * cumulative[:, -1:]
        chosen = _first_above(cumulative, level)[:, None]
        within = stretches.gather(1, chosen[..., None].expand(-1, 1, STRETCH)).squeeze(1).cumsum(-1)
        return chosen.squeeze(1) * STRETCH + _first_above(within, level - (cumulative - sums).gather(1, chosen))

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        cumulative = torch.nn.functional.pad(_fixed_point(weights.double()).cumsum(0), (1, 0))
        low, high = cumulative[offsets[:-1]], cumulative[offsets[1:]]
        level = low + (self.uniform(len(low)) * (high - low)).long()
        return torch.searchsorted(cumulative, level, right=True) - 1

    def accept(self, log_ratio: Tensor) -> Tensor:
        return self.uniform(len(log_ratio)) < log_ratio.double().exp()

    def state(self) -> Tensor:
        """The generator's state, for a checkpoint."""
        return self.generator.get_state()

    def renew(self, state: Tensor) -> None:
        """:meth:`restore` with a new generator, because a failed recording has spoilt the old one."""
        self.generator = torch.Generator(device=self.generator.device)
        self.restore(state)

    def restore(self, state: Tensor) -> None:
        """Continue exactly where :meth:`state` was taken."""
        self.generator.set_state(state.cpu().clone())  # a generator refuses a view


def _in_stretches(weights: Tensor) -> bool:
    """Whether to draw in stretches: for long rows a sum is much faster than a prefix sum on a GPU, not on a CPU."""
    return weights.is_cuda and weights.shape[1] >= WIDE


def _first_above(cumulative: Tensor, level: Tensor) -> Tensor:
    """Each row's first option strictly above the level, so that one of weight zero is never chosen."""
    return torch.searchsorted(cumulative, level, right=True).squeeze(-1)


def _fixed_point(probabilities: Tensor) -> Tensor:
    """Multiples of 2⁻⁴⁰; 2²³ rows of them still fit into 64 bits."""
    return (probabilities / UNIT).long()


def stream(seed: int, name: str, rank: int = 0) -> int:
    """A 63-bit seed for the stream ``name`` of process ``rank``, the same on every machine.

    >>> stream(0, "order") == stream(0, "order"), stream(0, "order") == stream(0, "dice")
    (True, False)
    """
    digest = hashlib.sha256(f"softground/{seed}/{name}/{rank}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@contextmanager
def untouched() -> Iterator[None]:
    """Put torch's generators back at the end. One thread at a time."""
    with _LOCK, _put_back():
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw a network's weights: torch's generators begin with ``seed`` here, and are put back.

    >>> before = torch.get_rng_state()
    >>> with seeded(0):
    ...     _ = torch.rand(1)
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """
    with untouched():
        reseed(seed)
        yield


@contextmanager
def borrowed() -> Iterator[None]:
    """Let a fit use torch's generators; restore them when the last of several fits in threads ends."""
    global _fits
    with _LOCK:
        if not _fits:
            _lent.enter_context(_put_back())
        _fits += 1
    try:
        yield
    finally:
        with _LOCK:
            _fits -= 1
            if not _fits:
                _lent.close()


def reseed(seed: int) -> None:
    """Seed torch's generators; only inside :func:`seeded` and :func:`borrowed`."""
    with _LOCK:
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # else a GPU would be seeded later, when it is first used
            torch.cuda.manual_seed_all(seed)


def _put_back() -> AbstractContextManager[None]:
    gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.random.fork_rng(range(torch.cuda.device_count()) if gpu else ())


class Streams:
    """Dice for the kernels, the order of the examples, their distortion, and the network's random layers.

    The user's layers and data sets draw from torch's global generators, which all threads share. A fit borrows them
    (:func:`borrowed`), and :meth:`states` includes theirs.
    """

    def __init__(self, seed: int, rank: int, device: torch.device) -> None:
        self.seed, self.rank, self.device = seed, rank, device
        self.dice, self.order = Sampler(0, device), torch.Generator()
        self.distortion, self.chance = torch.Generator(device), torch.Generator(device)
        self.begin()

    def begin(self, again: str = "") -> None:
        """Seed every stream; ``again`` names a second beginning, whose draws are independent of the first."""
        # All processes deal the same batches, and the same anchors.
        ranks = {name: 0 if name == "order" else self.rank for name in self._generators()}
        seeds = {name: stream(self.seed, f"{name} {again}".strip(), rank) for name, rank in ranks.items()}
        for name, generator in self._generators().items():
            generator.manual_seed(seeds[name])
        reseed(seeds["network"])

    def renew(self, distortion: Tensor, chance: Tensor) -> None:
        """Replace two generators that a failed recording has spoilt; the arguments are their states."""
        self.distortion, self.chance = (torch.Generator(self.device).set_state(at) for at in (distortion, chance))

    def states(self) -> dict[str, Tensor]:
        """The state of every stream."""
        states = {name: generator.get_state() for name, generator in self._generators().items()}
        states["torch"] = torch.get_rng_state()
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def restore(self, states: Mapping[str, Tensor]) -> None:
        """Continue from :meth:`states`."""
        for name, generator in self._generators().items():
            generator.set_state(states[name])
        torch.set_rng_state(states["torch"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self.device)

    def _generators(self) -> dict[str, torch.Generator]:
        """The library's own streams by name. Not stored, because a generator may be replaced."""
        return {"dice": self.dice.generator, "order": self.order, "augment": self.distortion, "network": self.chance}
