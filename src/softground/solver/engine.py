"""The solver seam: queries, replies and the base of the engines, each of which is a file of this folder.

Queries and replies are plain values that can be sent between processes. Replies must not depend on earlier work of the
process, so that any number of processes and any order of queries give identical results. (Only *whether* a limit is
reached can depend on more.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar, Literal

from ..errors import InverseError
from ..preparing import time_left

Codes = tuple[int, ...]
# All states, more states than the cap, the solver gave up, out of time, out of memory, the process died.
End = Literal["whole", "capped", "unknown", "timeout", "memory", "crashed"]
FAULTS: dict[End, str] = {"timeout": "timeouts", "memory": "memouts", "crashed": "crashes"}  # names of their counts
TABLE_QUERIES = 64  # in one table


@dataclass(frozen=True)
class Limits:
    """The largest table; the solver's own measure of work and seconds per check; seconds and MiB per query."""

    table: int
    work: float
    timeout: float
    limit: float = 300.0
    memory: int | None = None

    @property
    def soft(self) -> float:
        """Seconds after which queries give up and processes begin no other: half of the limit, or less.

        The other half is for sending the replies; a process that takes longer is killed.
        """
        return min(self.limit / 2, max(0.0, time_left()))


@dataclass(frozen=True)
class FibreQuery:
    """Which completions do the dropped sites have? The first ``cap`` of them, in lexicographic order."""

    answer: Hashable
    codes: Codes  # of all sites; dropped entries are ignored
    dropped: tuple[int, ...]
    cap: int
    alone: bool = False  # not in one table with others
    listing: bool = False  # if there are more than the cap, any may be returned


@dataclass(frozen=True)
class StartQuery:
    """Is there a state for this answer? Different seeds find different ones."""

    answer: Hashable
    seed: int
    tries: int  # random proposals that a table completes, before the search
    known: Codes = ()  # of all sites, −1 for unknown; () if all are unknown
    alone: ClassVar[bool] = True
    dropped: ClassVar[tuple[int, ...]] = ()


Query = FibreQuery | StartQuery


@dataclass(frozen=True)
class Reply:
    """States, how the query ended, and whether to ask an unknown one again.

    A start query ends ``whole`` with one state, or with none if none exists. ``retry`` is ``"no"`` if the query killed
    its process or had to be killed, and ``"alone"`` if another query of the same table may be the cause.
    """

    states: list[Codes]
    end: End
    retry: Literal["yes", "alone", "no"] = "yes"

    @property
    def unknown(self) -> bool:
        """Whether the query has no result."""
        return self.end not in ("whole", "capped")


class Engine(ABC):
    """Solves queries for one rule in one process, within the limits."""

    @abstractmethod
    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """Replies to a group of queries: to fibre queries that drop the same sites, or to one of any kind."""

    def replies(self, group: Sequence[Any]) -> list[Reply]:
        """Replies to a group of either kind, without regard to the limits."""
        return [self.start(query) for query in group] if isinstance(group[0], StartQuery) else self.fibres(group)

    @abstractmethod
    def fibres(self, queries: Sequence[FibreQuery]) -> list[Reply]:
        """Replies to fibre queries that drop the same sites."""

    @abstractmethod
    def start(self, query: StartQuery) -> Reply:
        """A state, or the proof that there is none."""


@singledispatch
def engine(rule: object, limits: Limits) -> Engine:
    """The engine for a rule; each engine's file registers the kind of rule that it solves."""
    raise InverseError(f"{rule!r} was given, which no solver understands; expected an SMT or a CPMpy rule.")


def grouped(queries: Sequence[Query], sizes: Sequence[int], table: int) -> list[list[int]]:
    """The places of queries that one table can answer together, then the others one by one."""
    alike: dict[tuple[int, ...], list[int]] = {}
    others: list[list[int]] = []
    for place, query in enumerate(queries):
        if query.alone:
            others.append([place])
        else:
            alike.setdefault(query.dropped, []).append(place)
    groups = []
    for dropped, places in alike.items():
        size = max(1, min(TABLE_QUERIES, table // math.prod(sizes[site] for site in dropped)))
        groups += [places[i : i + size] for i in range(0, len(places), size)]
    return groups + others
