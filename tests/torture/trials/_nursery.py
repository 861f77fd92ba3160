"""Runs in processes of their own that begin at once: forks of one process that has imported everything.

A process that starts by itself spends seconds on imports. The nursery spends them once, starts no threads, and forks a
child for every run; a child can be killed at any moment like any other process, and its death harms nothing else.
The nursery watches its child and kills it itself, so that no process number is ever used after its process is gone.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
# A process that has asked CUDA how many GPUs there are must not fork; the driver's own library may be asked.
NO_CUDA = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
GLANCE = 2e-4  # seconds between two looks at a child
LONGEST = 300.0  # seconds until a child that nobody killed is taken to hang


@dataclass(frozen=True)
class Death:
    """When the nursery kills a child: ``after`` so many seconds or, with ``file``, so many seconds after the file
    number ``file`` (from 1) whose name ends in ``.tmp`` appeared in ``folder``."""

    after: float
    file: int = 0
    folder: str = ""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or minus the number of the signal that killed it."""

    code: int
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether it was killed as by ``kill -9``."""
        return self.code == -signal.SIGKILL


class Nursery:
    """A process that forks others; those of the ``modules`` that are installed are imported before it does."""

    def __init__(self, modules: list[str]) -> None:
        paths = os.pathsep.join(str(Path(path or ".").resolve()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD | NO_CUDA | {"PYTHONPATH": paths},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self._process.kill()
        self._orders.close()
        self._process.wait()
        self._answers.close()

    def run(self, call: str, given: dict[str, Any], log: Path, death: Death | None = None) -> Ended:
        """Call ``module:function`` with ``given`` in a child whose output goes to ``log``; wait until it has ended."""
        order = {"call": call, "given": given, "log": str(log), "death": death and asdict(death)}
        self._orders.write(json.dumps(order) + "\n")
        self._orders.flush()
        answer = self._answers.readline()
        if not answer:
            raise RuntimeError(f"the nursery itself ended with code {self._process.wait()}")
        return Ended(**json.loads(answer))


def _serve(modules: list[str]) -> None:
    for module in modules:
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody else prints is no answer
    for line in sys.stdin:
        order = json.loads(line)
        began = time.perf_counter()
        child = os.fork()
        if child == 0:
            _live(order)
        code = _watch(child, Death(**order["death"]) if order["death"] else Death(LONGEST), began)
        answers.write(json.dumps({"code": code, "seconds": time.perf_counter() - began}) + "\n")
        answers.flush()


def _live(order: dict[str, Any]) -> None:
    """The child's whole life."""
    code = 1
    try:
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        module, _, function = order["call"].partition(":")
        code = getattr(importlib.import_module(module), function)(**order["given"])
        code = code if isinstance(code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _watch(child: int, death: Death, began: float) -> int:
    """Wait for the child, or kill it when its time has come; how it ended."""
    seen: set[str] = set()
    files, due = 0, 0.0 if death.file else began + death.after
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if due and time.perf_counter() >= due:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not due:
            now = _temporary(death.folder)
            files, seen = files + len(now - seen), now
            if files >= death.file:
                due = time.perf_counter() + death.after
                continue
        time.sleep(GLANCE)


def _temporary(folder: str) -> set[str]:
    try:
        return {name for name in os.listdir(folder) if name.endswith(".tmp")}
    except OSError:
        return set()  # there is no folder yet


if __name__ == "__main__":
    _serve(sys.argv[1:])
