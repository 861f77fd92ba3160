"""One process trains in a run folder at a time.

The lock is the operating system's, on the file ``.lock`` in the folder, so it ends with the process however that ends:
nothing has to be cleaned up after a kill. The file stays; its text says who took the lock last. Readers need no lock,
because every file they read is replaced as a whole.
"""

import errno
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..files import describe, failure

LOCK = ".lock"
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # what file systems without locks answer


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock ``folder`` against training by any other process or thread.

    Raises :class:`CheckpointError` when it is locked already, or nothing can be written there.
    """
    lock = _lock(folder)
    try:
        lock.acquire()
    except Timeout as error:
        reason = f"{_holder(folder)} is training in this run folder"
        raise failure(folder, reason, "Wait until it ends, or stop it; or choose another folder") from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            reason = f"nothing can be written in this run folder: {describe(error)}"
            raise failure(folder, reason, "Check that you may write there and that the disk has room") from error
        note = f"files cannot be locked there ({describe(error)}); let no other process train in this run folder"
        warnings.warn(f"{folder}: {note}.", stacklevel=4)  # some network file systems: no reason to refuse
    try:
        with suppress(OSError):  # the lock is what counts, not the text
            (folder / LOCK).write_text(f"process {os.getpid()} on {platform.node()}\n")
        yield
    finally:
        lock.release()


def in_use(folder: Path) -> bool:
    """Whether a process trains in ``folder``."""
    if not (folder / LOCK).exists():
        return False
    try:
        with _lock(folder):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / LOCK, blocking=False, fallback_to_soft=False)


def _holder(folder: Path) -> str:
    """Who holds a lock, as its file says; anything may stand there."""
    try:
        with open(folder / LOCK, "rb") as file:
            text = file.read(200).decode("ascii", "replace").strip()
    except OSError:  # Windows does not let others read a locked file
        text = ""
    return text if text.startswith("process ") and text.isprintable() else "another process"
