"""Disks that are full, or refuse: injected at one call, and real ones that the system provides."""

from __future__ import annotations

import builtins
import ctypes
import errno
import os
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softground import files

ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES)
CALLS = ("open", "fsync", "replace", "unlink")  # of the module os
NEW_NAMESPACE, RECURSIVE, PRIVATE, READ_ONLY, REMOUNT, BIND = 0x20000, 0x4000, 0x40000, 1, 32, 0x1000
NOBODY = 65534


class Faults:
    """Counts the calls by which files are written, and lets one of them fail, with those after it where ``lasting``."""

    def __init__(
        self, at: int | None = None, error: int = errno.ENOSPC, part: float = 0.0, lasting: bool = False
    ) -> None:
        self.at, self.error, self.part, self.lasting = at, error, part, lasting
        self.count = 0

    def strike(self) -> bool:
        """Whether this call is to fail."""
        self.count += 1
        number = self.count - 1
        return self.at is not None and (number >= self.at if self.lasting else number == self.at)

    def fail(self) -> None:
        """Say what the system would say."""
        raise OSError(self.error, os.strerror(self.error))

    @contextmanager
    def injected(self) -> Iterator[Faults]:
        """Stand between the library and its files meanwhile."""
        real = {name: getattr(os, name) for name in CALLS}

        def around(name: str) -> Any:
            def call(*arguments: Any, **more: Any) -> Any:
                if self.strike():
                    self.fail()
                return real[name](*arguments, **more)

            return call

        files.open = self._open  # type: ignore[attr-defined]
        for name in CALLS:
            setattr(os, name, around(name))
        try:
            yield self
        finally:
            del files.open  # type: ignore[attr-defined]
            for name, function in real.items():
                setattr(os, name, function)

    def _open(self, path: Any, mode: str = "r", **more: Any) -> Any:
        if mode == "rb":
            return builtins.open(path, mode, **more)
        if self.strike():
            self.fail()
        return _File(builtins.open(path, mode, buffering=0, **more), self)


class _File:
    """A file whose writes may fail, after a part of them."""

    def __init__(self, stream: Any, faults: Faults) -> None:
        self.stream, self.faults = stream, faults

    def write(self, data: bytes) -> int:
        if self.faults.strike():
            self.stream.write(data[: int(self.faults.part * len(data))])
            self.faults.fail()
        return int(self.stream.write(data))

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def drawn(chance: random.Random, calls: int) -> Faults:
    """A fault at any of so many calls."""
    return Faults(chance.randrange(calls), chance.choice(ERRORS), chance.random(), chance.random() < 0.5)


def no_larger_than(size: int) -> None:
    """From now on no file of this process may grow beyond ``size``: the system refuses, in the middle of a write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def mounted(folder: Path, size: int) -> bool:
    """A file system of ``size`` bytes on ``folder`` that this process alone sees; False where that may not be done."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(NEW_NAMESPACE):
        return False
    if libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None):
        return False
    return not libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode())


def made_read_only(folder: Path) -> str:
    """Let this process write nothing in ``folder`` any more; gives the way in which that was done."""
    if os.geteuid() == 0:  # whom permissions do not bind
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        return "as another user"
    return "by its permissions"


def permit_reading(folder: Path) -> None:
    """Let everybody read a folder, nobody write it."""
    for path in (folder, *folder.iterdir()):
        os.chmod(path, 0o555 if path.is_dir() else 0o444)


__all__ = ["Faults", "drawn", "made_read_only", "mounted", "no_larger_than", "permit_reading"]
