"""One process trains in a run folder at a time.

The lock is the operating system's, on the file ``.lock`` in the folder, so it ends with the process however that ends:
nothing has to be cleaned up after a kill. The file stays; its text says who took the lock last. Readers need no lock,
because every file they read is replaced as a whole.
"""

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
TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what systems answer where another process has the lock
_held: set[int] = set()  # descriptors

if sys.platform == "win32":
    import msvcrt

    def _system_lock(descriptor: int) -> None:
        os.lseek(descriptor, 2**30, os.SEEK_SET)  # beyond the text: others could not read what is locked
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _system_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _forget() -> None:
        """In a forked child, such as one that reads data: the lock is the parent's, and ends with the parent."""
        for descriptor in _held:
            os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_forget)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock ``folder`` against training by any other process or thread.

    Raises :class:`CheckpointError` when it is locked already, or nothing can be written there.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as error:
        reason = f"nothing can be written in this run folder: {describe(error)}"
        raise failure(folder, reason, "Check that you may write there and that the disk has room") from error
    _held.add(descriptor)
    try:
        try:
            _system_lock(descriptor)
        except OSError as error:
            if error.errno in TAKEN:
                reason = f"{_holder(descriptor)} is training in this run folder"
                raise failure(folder, reason, "Wait until it ends, or stop it; or choose another folder") from error
            note = f"files cannot be locked there ({describe(error)}); let no other process train in this run folder"
            warnings.warn(f"{folder}: {note}.", stacklevel=4)  # some network file systems: no reason to refuse
        with suppress(OSError):  # the lock is what counts, not the text
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode())
        yield
    finally:
        _held.discard(descriptor)
        if sys.platform != "win32":
            with suppress(OSError):  # a child that was just forked may still have the file open
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def in_use(folder: Path) -> bool:
    """Whether a process trains in ``folder``."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:  # none ever did, or none could
        return False
    try:
        _system_lock(descriptor)
    except OSError as error:
        return error.errno in TAKEN
    finally:
        os.close(descriptor)  # which lets go of the lock
    return False


def _holder(descriptor: int) -> str:
    """Who holds a lock, as its file says; anything may stand there."""
    text = os.read(descriptor, 200).decode("ascii", "replace").strip()
    return text if text.startswith("process ") and text.isprintable() else "another process"
