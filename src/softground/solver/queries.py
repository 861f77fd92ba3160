"""What is asked of a solver and what comes back: plain values that can be sent between processes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .formulas import Codes

if TYPE_CHECKING:
    from .engine import Engine

# These are all states, there are more than the cap, the solver gave up, time was up, memory was up, the process died.
End = Literal["whole", "capped", "unknown", "timeout", "memory", "crashed"]
FAULTS: dict[End, str] = {"timeout": "timeouts", "memory": "memouts", "crashed": "crashes"}  # as they are counted


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
        """Half of the limit, after which a query gives up and a process begins no other one. The other half is for
        handing over the replies; a process that takes longer is killed."""
        return self.limit / 2


@dataclass(frozen=True)
class FibreQuery:
    """Which completions do the dropped sites have? The first ``cap`` of them, in lexicographic order."""

    answer: Hashable
    codes: Codes  # of all sites; dropped entries are ignored
    dropped: tuple[int, ...]
    cap: int
    alone: bool = False  # not in one table with others
    listing: bool = False  # of more than the cap, any will do

    def replies(self, engine: Engine, group: Sequence[Any]) -> list[Reply]:
        """Replies to a group of fibre queries that drop the same sites."""
        return engine.fibres(group)


@dataclass(frozen=True)
class StartQuery:
    """Is there a state for this answer? Different seeds find different ones."""

    answer: Hashable
    seed: int
    tries: int  # random proposals that a table completes, before the search
    known: Codes = ()  # of all sites, −1 where a site is unknown; () if all are
    alone: ClassVar[bool] = True
    dropped: ClassVar[tuple[int, ...]] = ()

    def replies(self, engine: Engine, group: Sequence[Any]) -> list[Reply]:
        """The reply to this query, which is always alone."""
        return [engine.start(self)]


Query = FibreQuery | StartQuery


@dataclass(frozen=True)
class Reply:
    """States, how the query ended, and whether to ask an unknown one again.

    A start query ends ``whole`` with one state, or with none where none exists. ``retry`` is ``"no"`` where the query
    killed its process or had to be killed, and ``"alone"`` where another query of the same table may be to blame.
    """

    states: list[Codes]
    end: End
    retry: Literal["yes", "alone", "no"] = "yes"

    @property
    def unknown(self) -> bool:
        """Whether nothing was learnt."""
        return self.end not in ("whole", "capped")
