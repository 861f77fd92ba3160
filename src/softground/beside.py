"""Work that nobody waits for yet: in a GPU's recording it runs beside what follows.

Where a GPU plays back a recording, an operation waits for those before it, whether it needs them or not. Most of a step
is one chain: marginals, loss, slope. Draws and the books need some of that, and nothing needs them before the end. Here
each is put on a lane of its own, so that the GPU does all at once. Elsewhere they are simply done in turn. The
operations are the same, and so are the draws.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import torch

Lane = Literal["draws", "books"]


class Branch:
    """The lanes of a recording that is being made on a GPU."""

    def __init__(self) -> None:
        self.streams: dict[Lane, Any] = {}  # made when something is put on them
        self.inside: Lane | None = None
        self.kept: list[Any] = []

    def entered(self, lane: Lane, after: Lane | None) -> AbstractContextManager[Any]:
        """What is done here is on a lane, after all that came before on the main one, and on the lane ``after``."""
        if lane not in self.streams:
            self.streams[lane] = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        for waited in [torch.cuda.current_stream(), *([self.streams[after]] if after in self.streams else [])]:
            self.streams[lane].wait_stream(waited)
        return torch.cuda.stream(self.streams[lane])

    def join(self) -> None:
        """All that follows waits for the lanes."""
        for stream in self.streams.values():
            torch.cuda.current_stream().wait_stream(stream)


_branch: ContextVar[Branch | None] = ContextVar("branch", default=None)


@contextmanager
def branching(branch: Branch) -> Iterator[None]:
    """What is put :func:`beside` here goes on this branch's lanes, which are joined at the end."""
    before = _branch.set(branch)
    try:
        yield
    finally:
        _branch.reset(before)
    branch.join()


@contextmanager
def beside(*used: Any, lane: Lane = "draws", after: Lane | None = None) -> Iterator[None]:
    """Do this beside what follows, where a recording is being made.

    ``used`` holds whatever was made elsewhere and is read here: its memory must not be used again before the end. What
    is made here may be read on the same lane, on one that comes ``after`` it, after :func:`caught_up`, or where the
    recording has ended.
    """
    branch = _branch.get()
    if branch is None or branch.inside is not None:
        yield
        return
    branch.kept += used
    with branch.entered(lane, after):
        branch.inside = lane
        try:
            yield
        finally:
            branch.inside = None


def caught_up() -> None:
    """Wait for all that was put beside so far, because it is needed now."""
    branch = _branch.get()
    if branch is not None and branch.inside is None:
        branch.join()
