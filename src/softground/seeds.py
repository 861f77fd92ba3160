"""One seed decides everything: independent random streams, each with its own name.

torch has global generators, which all threads of a process share. They are used to draw initial weights, and during a
fit by layers and data sets of the user's own. Afterwards they are put back as they were.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch

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
