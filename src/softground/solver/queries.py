"""What is asked of Z3 and what comes back: plain values, so that both can travel between processes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from .truth_table import Codes

End = Literal["whole", "capped", "unknown", "timeout", "memory", "crashed"]
# Ends that are faults, under the names by which the inverse counts them.
FAULTS: dict[End, str] = {"timeout": "timeouts", "memory": "memouts", "crashed": "crashes"}


@dataclass(frozen=True)
class Limits:
    """The largest table; for each check Z3's resource limit and its seconds; seconds and MiB for a whole query."""

    table: int
    rlimit: int
    timeout: float
    limit: float = 300.0
    memory: int | None = None

    @property
    def soft(self) -> float:
        """Seconds after which a query gives up by itself, and a worker begins no other: half of the limit.
        What is left is time to hand over, so that only what does not listen is ended by force."""
        return self.limit / 2


@dataclass(frozen=True)
class Query:
    """All completions of the dropped sites, up to ``cap``, in lexicographic order."""

    answer: Hashable
    codes: Codes  # of all sites; dropped entries are ignored
    dropped: tuple[int, ...]
    cap: int
    alone: bool = False  # not together with others: it was among some that did not end


@dataclass(frozen=True)
class Search:
    """One state with nothing known. The seed decides which, so that chains start in different places."""

    answer: Hashable
    seed: int
    tries: int  # random proposals to complete by a table before searching


Job = Query | Search


class GaveUp(Exception):
    """Z3 does not know."""


class Late(Exception):
    """The query's time is up."""


@dataclass(frozen=True)
class Outcome:
    """States, and how the query ended: these are all, there are more than the cap, Z3 gave up, time or memory was up,
    the process died. A search ends ``whole`` with one state, or with none where there is none.

    ``forced`` says that a process died or was killed for this query; not ``alone``, that it was for this one or for
    another which was solved together with it.
    """

    states: list[Codes]
    end: End
    forced: bool = False
    alone: bool = True

    @property
    def unknown(self) -> bool:
        """Whether nothing was learnt."""
        return self.end not in ("whole", "capped")
