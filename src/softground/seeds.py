"""One seed decides everything: independent streams of chance, each with a name of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream(seed: int, name: str, rank: int = 0) -> int:
    """A 63-bit seed for the stream ``name`` of process ``rank``, the same on every machine.

    >>> stream(0, "order") == stream(0, "order"), stream(0, "order") == stream(0, "dice")
    (True, False)
    """
    digest = hashlib.sha256(f"softground/{seed}/{name}/{rank}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch's global generator draw from ``seed`` in a block, and leave it as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
