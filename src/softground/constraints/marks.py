"""Encoded answers: whole numbers that mean something to one rule in one process, and cannot be taken for answers.

A rule numbers its answers in the order in which it first sees them, so another process, or a copy of the rule that has
seen other answers, may give the same answer another number. Codes carry the mark of the rule that made them.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError

Mark = tuple[int, int]


class Codes(Tensor):
    """A tensor of codes. Rows of it, copies of it and several of them together are codes; all else is a plain tensor.

    >>> codes = Marks().codes(torch.tensor([0, 1, 1]))
    >>> type(codes[1:]).__name__, type(torch.stack([codes[0], codes[2]])).__name__, type(codes + 1).__name__
    ('Codes', 'Codes', 'Tensor')
    """

    mark: Mark

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **(kwargs or {}))
        if func not in KEPT:
            return found
        given = args[0] if isinstance(args[0], list | tuple) else args[:1]
        marks = {getattr(each, "mark", None) for each in given}
        mark = marks.pop()
        if marks or mark is None:
            return found
        return tuple(_marked(each, mark) for each in found) if isinstance(found, tuple) else _marked(found, mark)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.clone()


SAME = "__getitem__ to cpu cuda clone detach contiguous pin_memory expand repeat view reshape flatten squeeze unsqueeze"
KEPT = {getattr(Tensor, name) for name in f"{SAME} repeat_interleave index_select split unbind".split()}
KEPT |= {torch.stack, torch.cat, torch.index_select, torch.split, torch.unbind, torch.clone}


def _marked(y: Tensor, mark: Mark) -> Tensor:
    codes = y.as_subclass(Codes)
    codes.mark = mark
    return codes


class Marks:
    """The marks of the codes that a rule understands, and its own mark, a new one in each process and after a copy."""

    def __init__(self) -> None:
        self._known: list[Mark] = []
        self._own: Mark | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy understands the codes made so far; from here on each goes its own way."""
        self._own = None
        return {"_known": list(self._known), "_own": None}

    def codes(self, y: Tensor) -> Tensor:
        """Numbers of this rule, marked as its own."""
        if self._own is None or self._own[0] != os.getpid():
            self._own = os.getpid(), int.from_bytes(os.urandom(6), "big")
            self._known.append(self._own)
        return _marked(y, self._own)

    def check(self, y: Tensor) -> Tensor:
        """Codes as a plain tensor; what is not a code of this rule is refused."""
        if not isinstance(y, Codes):
            given = f"a {y.dtype} tensor" if isinstance(y, Tensor) else f"a {type(y).__name__}"
            raise ConstraintError(
                f"The answers are {given}; expected codes, which the rule makes of a list of answers: "
                "rule.encode(answers), with answers.tolist() if they are a tensor."
            )
        if y.mark not in self._known:
            raise ConstraintError(
                "These codes were made by another rule, another copy of this rule or another process, such as a worker "
                "of a DataLoader, and may mean other answers here. Encode the answers in this process: "
                "rule.encode(answers)."
            )
        return y.as_subclass(Tensor)
