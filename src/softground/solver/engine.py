"""The engine seam: what solves queries for one rule in one process. Each engine is a file of this folder.

Replies must not depend on what the process did before, so that any number of processes and any order of queries give
the same bits. (Only *whether* a limit is reached can depend on more.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from ..errors import InverseError
from .queries import FibreQuery, Limits, Query, Reply, StartQuery

TABLE_QUERIES = 64  # in one table


class Engine(ABC):
    """Solves queries for one rule in one process, within the limits."""

    @abstractmethod
    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """Replies to a group of queries: to fibre queries that drop the same sites, or to one of any kind."""

    @abstractmethod
    def fibres(self, queries: Sequence[FibreQuery]) -> list[Reply]:
        """Replies to fibre queries that drop the same sites."""

    @abstractmethod
    def start(self, query: StartQuery) -> Reply:
        """A state, or the proof that there is none."""


@singledispatch
def engine(rule: Any, limits: Limits) -> Engine:
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
