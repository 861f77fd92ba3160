"""One seed decides everything: independent random streams, each with its own name.

torch has global generators, which all threads of a process share. They are used to draw initial weights, and during a
fit by layers and data sets of the user's own. Afterwards they are put back as they were.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch
from torch import Tensor

from .dice import Sampler

_LOCK = threading.RLock()
_lent = ExitStack()  # puts the generators back when the last fit ends
_fits = 0


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
    """A fit uses torch's generators; they are put back when the last of several fits in threads ends."""
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

    Layers and data sets of the user's own draw from torch's global generators, which all threads share. A fit borrows
    them (:func:`borrowed`), and their state belongs to the streams too.
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
        """New generators in place of two that a failed recording has spoilt, which stood at these places."""
        self.distortion, self.chance = (torch.Generator(self.device).set_state(at) for at in (distortion, chance))

    def states(self) -> dict[str, Tensor]:
        """Where every stream is."""
        states = {name: generator.get_state() for name, generator in self._generators().items()}
        states["torch"] = torch.get_rng_state()
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def restore(self, states: Mapping[str, Tensor]) -> None:
        """Go on from :meth:`states`."""
        for name, generator in self._generators().items():
            generator.set_state(states[name])
        torch.set_rng_state(states["torch"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self.device)

    def _generators(self) -> dict[str, torch.Generator]:
        """The library's own streams by name. Not stored, because dice may get a new generator."""
        return {"dice": self.dice.generator, "order": self.order, "augment": self.distortion, "network": self.chance}
