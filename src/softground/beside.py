"""Work that nobody waits for yet: in a GPU's recording it runs beside what follows.

Where a GPU plays back a recording, an operation waits for those before it, whether it needs them or not. Most of a step
is one chain: marginals, loss, slope. Draws and the books need some of that, and nothing needs them before the end. Here
they are put on a branch of their own, so that the GPU does both at once. Elsewhere they are simply done in turn. The
operations are the same, and so are the draws.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import torch


class Branch:
    """The branch of a recording that is being made on a GPU."""

    def __init__(self) -> None:
        self.stream: Any = None  # made when something is put on it
        self.inside = False
        self.kept: list[Any] = []

    def entered(self) -> AbstractContextManager[Any]:
        """What is done here is on the branch, after all that came before."""
        self.stream = self.stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.stream.wait_stream(torch.cuda.current_stream())
        return torch.cuda.stream(self.stream)

    def join(self) -> None:
        """All that follows waits for the branch."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)


_branch: ContextVar[Branch | None] = ContextVar("branch", default=None)


@contextmanager
def branching(branch: Branch) -> Iterator[None]:
    """What is put :func:`beside` here goes on this branch, which is joined at the end."""
    before = _branch.set(branch)
    try:
        yield
    finally:
        _branch.reset(before)
    branch.join()


@contextmanager
def beside(*used: Any) -> Iterator[None]:
    """Do this beside what follows, where a recording is being made.

    ``used`` holds whatever was made outside and is read here: its memory must not be used again before the end. What is
    made here may be read ``beside`` as well, after :func:`caught_up`, or where the recording has ended.
    """
    branch = _branch.get()
    if branch is None or branch.inside:
        yield
        return
    branch.kept += used
    branch.inside = True
    try:
        with branch.entered():
            yield
    finally:
        branch.inside = False


def caught_up() -> None:
    """Wait for all that was put beside so far, because it is needed now."""
    branch = _branch.get()
    if branch is not None and not branch.inside:
        branch.join()
