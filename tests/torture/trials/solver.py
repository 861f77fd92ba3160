"""The solver answers unknown, times out, hangs, is killed or runs out of memory, and the run goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softground.constraints.smt import SMT
from softground.inverses.z3 import Z3
from softground.solver.engine import Limits

from ..trial import Tally, Trial
from ._faulty import COUNTED, SPARE, Faulty, Watched, faulty_inverse, rule, total, train
from ._processes import forked, strike, until_still

LIMIT, SHORT_LIMIT, LONG_LIMIT = 0.8, 0.4, 20.0  # seconds; the long one where nothing hangs
MEMORY = 64
SHARES = (0.1, 0.5, 0.01)
Case = Callable[[Tally, int, Path], None]


def injected(way: str, share: float, starts: bool = False, counted: str = "", **settings: Any) -> Case:
    """A share of the queries goes wrong, and of the searches for first states where these are to be hurt too."""

    hangs = COUNTED[way] == "timeouts"

    def attempt(tally: Tally, seed: int, folder: Path) -> int:
        program = rule()
        here = settings.get("workers", 1) == 1
        formula = Faulty(way, share, seed, str(folder / f"hurt {seed}"), spared=0 if here else os.getpid())
        inner = faulty_inverse(program, formula, **settings)
        inverse = Watched(inner, inner if starts else Z3(SMT(total, program.space, answers=program)))
        train(inverse, program, seed, count=64 if share < 0.05 else 8 if hangs else 16)
        hurt, found = len(formula.hurt()), inverse.faults[counted or COUNTED[way]]
        assert found >= hurt, f"{hurt} queries went wrong, {found} were counted: {inverse.faults}"
        assert inverse.faults["unknowns"] >= found
        if hangs:
            check_delay(tally, inverse)
        return hurt

    def case(tally: Tally, seed: int, folder: Path) -> None:
        attempts = (attempt(tally, seed + 1000 * k, folder) for k in range(5))
        hurt = next((found for found in attempts if found), 0)  # of few queries, 1 % may be none
        assert hurt, "nothing went wrong, so nothing was tried"
        tally.notes["queries hurt"] = tally.notes.get("queries hurt", 0) + hurt

    return case


@dataclass
class Patient:
    """A crew's limits: little time for the next ``short`` processes that are asked, and much for all others."""

    limits: Limits
    short: int = 0

    @property
    def limit(self) -> float:
        self.short -= 1
        return LIMIT if self.short >= 0 else self.limits.limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.limits, name)


def struck(number: signal.Signals) -> Case:
    """Idle solver processes are killed or stopped from outside between two calls. No query may be lost.

    Only those that were struck have little time, so that a busy machine makes no difference to what comes after them.
    """

    def case(tally: Tally, seed: int, folder: Path) -> None:
        program = rule()
        hit: list[int] = []

        def blow(call: int) -> None:
            if call == 2:
                hit.extend(process.pid for process in inner._solver._idle)
                strike(hit, number)
                until_still(hit)
                inner._solver.limits = Patient(inner.limits, len(hit))  # type: ignore[assignment]

        inner = Z3(SMT(total, program.space, answers=program), workers=2, table=0, cache=0)
        inverse = Watched(inner, inner, blow)
        train(inverse, program, seed)
        assert hit, "there was nobody to strike"
        assert not any(inverse.faults.values()), inverse.faults
        left = set(hit) & set(forked())
        assert not left, f"{len(left)} of {len(hit)} struck processes are still there"

    return case


def check_delay(tally: Tally, inverse: Watched) -> None:
    """No hung worker may cost more than its limit and two seconds."""
    delay = inverse.delay()
    tally.notes["longest delay beyond the limit, s"] = max(
        tally.notes.get("longest delay beyond the limit, s", 0.0), round(delay, 2)
    )
    assert delay <= SPARE, f"a hung worker cost {delay:.2f} s beyond its limit"


def cases() -> dict[str, Case]:
    """Real faults and injected ones, the quick ones first."""
    fork: dict[str, Any] = {"workers": 2, "table": 0, "limit": LONG_LIMIT}
    found: dict[str, Case] = {
        "10 % die": injected("die", 0.1, **fork),
        "10 % hang": injected("sleep", 0.1, **fork | {"limit": LIMIT}),
        "10 % past the resource limit": injected("undecided", 0.1, rlimit=20_000),
        "10 % past the memory limit": injected("devour", 0.1, **fork, memory=MEMORY),
        "idle processes stopped": struck(signal.SIGSTOP),
        "idle processes killed": struck(signal.SIGKILL),
        "Z3's memory full": injected("blow_up", 0.02, **fork, memory=16),
        "Z3's memory full, in this process": injected("blow_up", 0.02, memory=16, table=0),
        "Z3's clock runs out": injected("undecided", 0.1, counted="timeouts", **fork, timeout=0.05),
    }
    for share in SHARES:
        hasty = {"limit": LIMIT if share < 0.5 else SHORT_LIMIT}
        for way in ("undecided", "sleep", "stop", "die", "devour"):
            settings = fork | (hasty if COUNTED[way] == "timeouts" else {})
            settings |= {"memory": MEMORY} if way == "devour" else {"rlimit": 20_000} if way == "undecided" else {}
            found[f"{share:.0%} {way}"] = injected(way, share, **settings)
            if way in ("die", "devour"):
                found[f"{share:.0%} {way}, in groups"] = injected(way, share, True, **settings | {"table": 4096})
    return found


def run(tally: Tally, count: int, seed: int, folder: Path) -> None:
    """The first ``count`` cases, each on a run of its own."""
    for number, (name, case) in enumerate(list(cases().items())[:count]):
        place = folder / str(number)
        place.mkdir()
        began = time.monotonic()
        with tally.case(name):
            case(tally, seed + number, place)
        seconds = round(time.monotonic() - began, 1)
        tally.notes["longest case, s"] = max(tally.notes.get("longest case, s", 0.0), seconds)


TRIAL = Trial(
    "solver",
    30,
    "a solver gives up, hangs or dies",
    "no chain lost; a hang costs at most its limit plus 2 s",
    full=len(cases()),
    short=5,
    run=run,
)
