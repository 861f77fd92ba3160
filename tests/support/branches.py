"""Who reads what on a branch: the discipline of :mod:`softground.beside`, checked while a CPU does all in turn.

A GPU would do the lanes of a branch and what follows at once. So nothing may read what a lane makes before it has
waited for it, and memory that a lane reads must not be used again before that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from softground.beside import Branch, Lane, branching


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
        self.join()

    @contextmanager
    def entered(self, lane: Lane, after: Lane | None) -> Iterator[None]:
        self.entries += 1
        if after is not None:
            self._waited[lane] |= {place for place, maker in self._maker.items() if maker == after}
        yield

    def join(self) -> None:
        self._maker: dict[int, Lane | None] = {}  # of storages made since the lanes were joined; None: not on a lane
        self._waited: dict[Lane | None, set[int]] = defaultdict(set)  # what other lanes made that a lane has waited for
        self._read: dict[Lane, set[int]] = defaultdict(set)  # storages made elsewhere that a lane has read

    def seen(self, name: str, given: set[int], made: set[int]) -> None:
        """An operation read and made these storages."""
        fresh, here = made - given, self.inside
        if any(self._maker.get(place) not in (None, here) for place in given - self._waited[here]):
            self.faults.append(f"{name} reads what the branch has made")
        # A GPU gives memory that is free only to the lane that had it before.
        others = set().union(*(read for lane, read in self._read.items() if lane != here))
        if any(self._maker.get(place) == here for place in fresh & others):
            self.faults.append(f"{name} takes memory that the branch reads")
        if here is not None:
            self._read[here] |= {place for place in given if self._maker.get(place) != here}
        for waited in self._waited.values():
            waited -= fresh
        self._maker |= dict.fromkeys(fresh, here)


@contextmanager
def watched() -> Iterator[Watched]:
    """What is put beside here is checked."""
    branch = Watched()
    with branching(branch), _Watch(branch):
        yield branch


def _places(parts: Any) -> set[int]:
    tensors = (part for part in tree_leaves(parts) if isinstance(part, Tensor))
    return {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
