"""Queries solved on a Dask cluster whose workers are killed and stopped: the run ends with the bits of one without."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softground.constraints.smt import SMT
from softground.errors import InverseError
from softground.inverses.z3 import Z3

from ..trial import Tally, Trial, Unavailable
from ._faulty import SPARE, Watched, rule, total, train
from ._processes import strike
from ._same import assert_same, left_behind

LIMIT = 3.0
NOBODY = "tcp://127.0.0.1:9"  # the port of a service that nobody runs
MOMENTS = (2, 1, 4, 3)  # calls of the inverse at which a worker is struck
Blow = Callable[[Any], None]


@contextmanager
def cluster() -> Iterator[Any]:
    """A scheduler and two workers, each a process of its own, and a client."""
    if importlib.util.find_spec("distributed") is None:
        raise Unavailable("distributed is not installed: pip install distributed joblib")
    import distributed

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # runs leave theirs behind
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


def kill(client: Any) -> None:
    """Kill −9 one worker; its nanny will start another."""
    strike(pids(client)[:1], signal.SIGKILL)


def pids(client: Any) -> list[int]:
    """The workers' processes."""
    return sorted(client.run(os.getpid).values())


def trained(folder: Path, seed: int, blow: Callable[[int], None], **settings: Any) -> tuple[dict[str, Any], Watched]:
    """The tensors of a run's checkpoint."""
    program = rule()
    inner = Z3(SMT(total, program.space, answers=program), table=0, limit=LIMIT, **settings)
    inverse = Watched(inner, inner, blow)
    train(inverse, program, seed, epochs=3, out=folder)
    return {name: value for name, value in left_behind(folder).items() if name.startswith("tensor ")}, inverse


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """A worker killed at several moments; then none, one stopped for good, and no cluster at all."""
    alone, _ = trained(folder / "alone", seed, lambda call: None)

    def case(name: str, moment: int, blow: Blow, losses: int = 3) -> None:
        with cluster() as client, tally.case(name):
            there = {"backend": "dask", "scheduler": client.scheduler.address}
            place = folder / str(tally.tried)
            left, inverse = trained(place, seed, lambda call: blow(client) if call == moment else None, **there)
            assert_same(left, alone)
            lost = inverse.faults["losses"]
            tally.notes["losses"] = tally.notes.get("losses", 0) + lost
            assert lost <= losses, f"workers were lost {lost} times"
            assert inverse.delay() <= SPARE, f"{inverse.delay():.2f} s beyond the limit"

    for moment in MOMENTS[: max(1, cases - 3)]:
        case(f"a worker killed at call {moment}", moment, kill)
    if cases > 1:
        case("nothing happens", 0, lambda client: None, losses=0)
    if cases > 2:
        case("a worker stopped", 2, lambda client: strike(pids(client)[:1], signal.SIGSTOP))
    if cases > 3:
        with tally.case("no scheduler"):
            said = ""
            try:
                trained(folder / "nobody", seed, lambda call: None, backend="dask", scheduler=NOBODY)
            except InverseError as error:
                said = str(error)
            assert NOBODY in said, f"a run without its cluster said {said!r}"


TRIAL = Trial(
    "cluster",
    90,
    "Z3 on a Dask cluster of two workers on one machine, a worker killed or stopped during the run",
    "the run ends with the same bits as without the cluster",
    full=7,
    short=1,
    run=run,
)
