"""One process trains in a run folder at a time.

The lock is the operating system's, on the file ``.lock`` in the folder, so it ends with the process however that ends:
nothing is left to be cleaned up after a kill. The file's text only says who holds it. Readers need no lock, because
every file they read is replaced as a whole.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import describe, failure

LOCK = ".lock"
TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what a system answers where somebody else has the lock

if sys.platform == "win32":
    import msvcrt

    def _system_lock(descriptor: int) -> None:
        os.lseek(descriptor, 2**30, os.SEEK_SET)  # beyond the text: what is locked cannot be read by others
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _system_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: set[int] = set()  # descriptors


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep everybody else, other threads included, from training in ``folder`` meanwhile.

    Raises
    ------
    CheckpointError
        When it is locked already, or nothing can be written there.
    """
    folder = Path(os.path.realpath(folder))
    descriptor = _take(folder)
    _held.add(descriptor)
    try:
        yield
    finally:
        _held.discard(descriptor)
        _release(folder, descriptor)


def _take(folder: Path) -> int:
    """The descriptor of the locked file."""
    path = folder / LOCK
    while True:
        descriptor = _opened(path)
        try:
            _system_lock(descriptor)
        except OSError as error:
            if error.errno in TAKEN:
                os.close(descriptor)
                reason = f"{_holder(path)} is training in this run folder"
                raise failure(folder, reason, "Wait until it ends, or stop it; or choose another folder") from error
            note = f"files cannot be locked there ({describe(error)}); let no other process train in this run folder"
            warnings.warn(f"{folder}: {note}.", stacklevel=5)  # some network file systems: no reason to refuse
        if _is(descriptor, path):
            with suppress(OSError):  # it is the lock that counts, not what is written in it
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode())
            return descriptor
        os.close(descriptor)  # its holder has just ended and removed it: lock the new one


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        reason = f"nothing can be written in this run folder: {describe(error)}"
        raise failure(path.parent, reason, "Check that you may write there and that the disk has room") from error


def _is(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    """Who holds a lock, as its file says; anything may stand there."""
    text = ""
    with suppress(OSError), open(path, "rb") as stream:
        text = stream.read(200).decode("ascii", "replace").strip()
    return text if text.startswith("process ") and text.isprintable() else "another process"


def _release(folder: Path, descriptor: int) -> None:
    """Unlock. The file goes first, so that none is left that means nothing; Windows keeps it until it is closed."""
    path = folder / LOCK
    with suppress(OSError):
        if _is(descriptor, path):
            path.unlink()
    os.close(descriptor)


def _forget() -> None:
    """In a child made by fork, such as one that reads data: the lock is the parent's, and must end with the parent."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

__all__ = ["LOCK", "locked"]
