"""Dask and Ray, each started on this machine: a cluster answers as processes of this machine do."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from softground.constraints.smt import SMT
from softground.projections.base import Dropped
from softground.spaces import Categorical

pytest.importorskip("z3")
pytest.importorskip("joblib")


@contextmanager
def dask() -> Iterator[str | None]:
    """A Dask cluster of one worker; gives its address."""
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **quiet) as workers:
        yield workers.scheduler_address


@contextmanager
def ray() -> Iterator[str | None]:
    """A Ray cluster of two workers, which this process is connected to."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # else it tells its makers
    found = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
    found.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield None
    finally:
        found.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [dask, ray])
def test_a_cluster_gives_the_same_fibres_and_first_states(cluster: Any) -> None:
    from softground.inverses.z3 import Z3

    space = Categorical([range(4)] * 3)
    rule = SMT(lambda z, y: z[0] + 2 * z[1] + 3 * z[2] == y, space)  # a lambda is sent as it is
    y = rule.encode([0, 5, 9, 18])
    z, dropped = torch.tensor([[0, 0, 0], [2, 0, 1], [0, 3, 1], [3, 3, 3]]), Dropped(torch.tensor([[0, 1]] * 4))
    alone = Z3(rule, table=0)
    with cluster() as address:
        far = Z3(rule, table=0, backend=cluster.__name__, scheduler=address)
        pairs = (alone.fibre(z, y, dropped), far.fibre(z, y, dropped)), (alone.start(y, 0), far.start(y, 0))
        for expected, found in pairs:
            for name, value in vars(expected).items():
                assert torch.equal(value, getattr(found, name)), name
        assert far.faults["losses"] == 0  # it was the cluster that answered
        assert far._solver._settings is not None
