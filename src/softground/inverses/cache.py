"""Lists of S_y on disk, so that a solver lists each of them once.

A file is named by a digest of the space, the rule and the answer, all as the rule states them
(:meth:`~softground.constraints.Constraint.stated`). It holds one line of JSON, with that digest and a checksum, and
then the states' indices, eight bytes each. Nothing in it is ever executed. A file that is damaged, or of another rule,
is noticed and made anew. Only lists that are whole are kept. Processes share the folder: each writes a file of its own
and renames it, so that a list appears as a whole, whoever was first.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import CheckpointError
from ..files import Missing, Unreadable, parse_object, read_bounded, replace_file
from ..spaces.categorical import Categorical

VARIABLE = "SOFTGROUND_CACHE"
"""The environment variable that names the folder; ``off`` keeps nothing."""
HEADER = 1024  # bytes of the first line, at most


def folder() -> Path | None:
    """Where lists are kept: what ``SOFTGROUND_CACHE`` says, else the user's own cache; None where it is ``off``."""
    given = os.environ.get(VARIABLE)
    if given:
        return None if given == "off" else Path(given).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home
        return (Path(home) if home else Path.home() / ".cache") / "softground"
    return None


class Cache:
    """The lists of one rule."""

    def __init__(self, rule: Constraint, space: Categorical, place: Path | None) -> None:
        self.rule, self.space, self.place = rule, space, place

    def read(self, y: Tensor, most: int) -> Tensor | None:
        """The list of one answer ``y``, if it is kept and has at most ``most`` states."""
        if (path := self._path(y)) is None:
            return None
        try:
            head, _, body = read_bounded(path, HEADER + 8 * most).partition(b"\n")
            facts = parse_object(head)
            if facts.get("digest") != path.stem:
                raise Unreadable("it is of another rule or answer")
            if facts.get("sha256") != hashlib.sha256(body).hexdigest() or len(body) % 8:
                raise Unreadable("it is damaged")
        except Missing:
            return None
        except Unreadable as error:
            warnings.warn(f"{path} cannot be used: {error}. The list of solutions is made anew.", stacklevel=2)
            with suppress(OSError):
                path.unlink()
            return None
        return torch.from_numpy(np.frombuffer(body, dtype="<i8").astype(np.int64))

    def write(self, y: Tensor, index: Tensor) -> None:
        """Keep the whole list of one answer."""
        if (path := self._path(y)) is None:
            return
        body = index.numpy().astype("<i8").tobytes()
        facts = {"digest": path.stem, "sha256": hashlib.sha256(body).hexdigest(), "states": len(index)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            own = path.with_suffix(f".{secrets.token_hex(8)}")
            replace_file(own, json.dumps(facts).encode() + b"\n" + body)
            own.replace(path)
        except (OSError, CheckpointError) as error:
            warnings.warn(f"Lists of solutions are not kept: {error}", stacklevel=2)
            self.place = None

    def _path(self, y: Tensor) -> Path | None:
        said = None if self.place is None else self.rule.stated(y)
        if self.place is None or said is None:
            return None
        text = json.dumps([repr(self.space.alphabets), said])
        return self.place / f"{hashlib.sha256(text.encode()).hexdigest()}.list"
