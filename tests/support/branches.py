"""Who reads what on a branch: the discipline of :mod:`softground.beside`, checked while a CPU does all in turn.

A GPU would do the branch and what follows it at once. So nothing may read what the branch makes before the branch is
joined, and memory that the branch reads must not be used again before that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from softground.beside import Branch, branching


class _Watch(TorchDispatchMode):
    def __init__(self, branch: Watched) -> None:
        super().__init__()
        self.branch = branch

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.branch.seen(str(function), _places((args, kwargs)), _places(made))
        return made


class Watched(Branch):
    """A branch on a CPU that keeps a list of ``faults``."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.entries = 0
        self._mine: set[int] = set()  # storages made on the branch since it was last joined
        self._read: set[int] = set()  # storages made outside that it has read since

    @contextmanager
    def entered(self) -> Iterator[None]:
        self.entries += 1
        yield

    def join(self) -> None:
        self._mine, self._read = set(), set()

    def seen(self, name: str, given: set[int], made: set[int]) -> None:
        """An operation read and made these storages."""
        fresh = made - given
        if self.inside:
            self._read |= given - self._mine
            self._mine |= fresh
            return
        if given & self._mine:
            self.faults.append(f"{name} reads what the branch has made")
        if fresh & self._read:
            self.faults.append(f"{name} takes memory that the branch reads")
        self._mine -= fresh  # memory that was freed there, and is another's now


@contextmanager
def watched() -> Iterator[Watched]:
    """What is put beside here is checked."""
    branch = Watched()
    with branching(branch), _Watch(branch):
        yield branch


def _places(parts: Any) -> set[int]:
    tensors = (part for part in tree_leaves(parts) if isinstance(part, Tensor))
    return {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
