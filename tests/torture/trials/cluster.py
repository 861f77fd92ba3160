"""Queries solved on a Dask cluster one of whose workers is killed: the run ends with the bits of one without."""

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
from softground.inverses.z3 import Z3

from ..trial import Tally, Trial, Unavailable
from ._faulty import Watched, rule, total, train
from ._processes import strike
from ._same import assert_same, left_behind

MOMENTS = (2, None, 1, 3)  # calls of the inverse at which a worker is killed


@contextmanager
def cluster() -> Iterator[Any]:
    """A client of a scheduler and two workers, each a process of its own, as joblib's active backend."""
    if importlib.util.find_spec("distributed") is None:
        raise Unavailable("distributed is not installed: pip install distributed")
    import distributed
    import joblib

    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        joblib.parallel_config("dask", client=client),
    ):
        yield client


def pids(client: Any) -> list[int]:
    """The workers' processes."""
    return sorted(client.run(os.getpid).values())


def trained(folder: Path, seed: int, blow: Callable[[int], None]) -> dict[str, Any]:
    """The tensors of a run's checkpoint."""
    program = rule()
    inner = Z3(SMT(total, program.space, answers=program), table=0)
    train(Watched(inner, inner, blow), program, seed, epochs=3, out=folder)
    return {name: value for name, value in left_behind(folder).items() if name.startswith("tensor ")}


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """A worker is killed at one of several moments, or never; its nanny starts another."""
    alone = trained(folder / "alone", seed, lambda call: None)
    for moment in MOMENTS[:cases]:
        with cluster() as client, tally.case(f"a worker killed at call {moment}" if moment else "nothing happens"):

            def blow(call: int, client: Any = client, moment: int | None = moment) -> None:
                if call == moment:
                    strike(pids(client)[:1], signal.SIGKILL)

            assert_same(trained(folder / str(tally.tried), seed, blow), alone)


TRIAL = Trial(
    "cluster",
    90,
    "Z3 on a Dask cluster; a worker is killed during the run",
    "identical to a run without the cluster",
    full=len(MOMENTS),
    short=1,
    run=run,
)
