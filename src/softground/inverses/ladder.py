"""The ladder: the first way to S_y that fits a budget, the same for every kind of rule.

=========  ===========================================================================================================
table      every state of a small space is tried; of a function once, of a relation once for every distinct answer
scan       a recursion that reads the symbols from left to right
list       a solver lists S_y for every distinct answer, until it proves that there are no more
circuit    a propositional rule is compiled once
parts      a rule that is a conjunction gets an exact law for each of its parts
chains     chains walk
=========  ===========================================================================================================

A rung is one function, registered in :data:`RUNGS` under its name: it gives an inverse and the reason why it serves, or
raises :class:`GivesWay` with the reason why it does not. What it has found by then stays in :attr:`Ask.found`.

Counts decide first: states, bytes, solutions. They are the same on every machine. Seconds are a safety; a run folder
keeps the rung that was taken, and a resumed run takes the same one, whatever the clock says.

Lists of S_y are kept on disk, so that a solver lists each of them once. A file is named by a digest of the space, the
rule and the answer, all as the rule states them (:meth:`~softground.constraints.Constraint.stated`). It holds one line
of JSON, with that digest and a checksum, and then the states' indices, eight bytes each. Nothing in it is ever
executed. A file that is damaged, or of another rule, is noticed and made anew. Only lists that are whole are kept.
Processes share the folder: each writes a file of its own and renames it, so that a list appears as a whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import CheckpointError, InverseError
from ..files import Missing, Unreadable, parse_object, read_bounded, replace_file
from ..preparing import told
from ..registry import Registry
from ..spaces.categorical import Categorical
from .base import Inverse
from .lists import Found, Key, distinct

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


ORDER = ("table", "scan", "list", "circuit", "parts", "chains")


@dataclass(frozen=True)
class Budget:
    """What choosing an inverse may cost: seconds for each rung, bytes of memory, states of all lists together.

    ``cache`` is the folder where lists of solutions are kept: by default what ``SOFTGROUND_CACHE`` names, or the user's
    own cache; None keeps nothing.

    >>> Budget(seconds=600).solutions
    4000000
    """

    seconds: float = 60.0
    bytes: int = 2**30
    solutions: int = 4_000_000
    cache: Path | None = field(default_factory=folder)

    def __post_init__(self) -> None:
        for name in ("seconds", "bytes", "solutions"):
            if not (value := getattr(self, name)) >= 0:
                raise InverseError.of({name: value}, " as a budget; expected a number, 0 or more.")


class GivesWay(InverseError):
    """Why a rung does not serve a rule."""


@dataclass(eq=False)
class Ask:
    """What a rung is asked: the rule, the distinct answers of the training data, and the inverse it has otherwise."""

    constraint: Constraint
    space: Any
    answers: Tensor  # encoded, each once; of a complement the answer that it excludes
    inverse: Inverse  # the rule's own, which needs no answers
    budget: Budget
    found: dict[Key, Found] = field(default_factory=dict)  # solutions that rungs came upon


Rung = Callable[[Ask], tuple[Inverse, str]]
RUNGS: Registry[Rung] = Registry("rung")


@dataclass(frozen=True, eq=False)
class Choice:
    """The rung taken, why, and what it cost; and why those before it were not."""

    rung: str
    reason: str
    seconds: float
    inverse: Inverse = field(repr=False)
    refused: tuple[tuple[str, str, float], ...] = ()  # rung, why not, seconds

    def __str__(self) -> str:
        cost = f" ({self.seconds:.1f} s)" if self.seconds >= 0.1 else ""
        other = "".join(f"\n  not {rung}: {why}" for rung, why, _ in self.refused)
        return f"{self.rung}{cost}: {self.reason}{other}"

    def to_json(self) -> dict[str, Any]:
        """What a run folder keeps."""
        refused = [{"rung": rung, "reason": why, "seconds": round(spent, 3)} for rung, why, spent in self.refused]
        own = {"rung": self.rung, "reason": self.reason, "seconds": round(self.seconds, 3)}
        return own | {"inverse": repr(self.inverse), "refused": refused}


def climb(inverse: Inverse, y: Tensor, budget: Budget, rung: str | None = None) -> Choice:
    """The first rung that serves the encoded answers ``y``, or the ``rung`` that was taken before, cost what it may.

    ``inverse`` is the rule's own one, which needs no answers.
    """
    if rung is not None:
        budget = replace(budget, seconds=float("inf"), solutions=sys.maxsize)
    rule = inverse.constraint
    ask = Ask(rule, inverse.space, distinct(rule, y), inverse, budget)
    refused = []
    for name in ORDER if rung is None else (rung,):
        if name not in RUNGS:
            continue
        began = time.perf_counter()
        try:
            found, reason = RUNGS[name](ask)
        except GivesWay as why:
            refused.append((name, str(why), time.perf_counter() - began))
            told(f"Not {name}: {why}")
        else:
            return Choice(name, reason, time.perf_counter() - began, found, tuple(refused))
    raise InverseError(
        f"The run was started with the inverse '{rung}', which does not serve here: "
        f"{refused[0][1] if refused else 'there is no such rung'}. Start a new run."
    )
