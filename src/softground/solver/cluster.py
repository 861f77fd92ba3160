"""Clusters for the Z3 inverse: Dask and Ray, imported only when one is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import InverseError

WAIT = 10.0  # seconds for a scheduler to answer


def connect(backend: str, scheduler: str | None) -> dict[str, Any]:
    """What joblib's backend must be given; raises where there is no cluster."""
    if backend == "dask":
        return {"client": _dask(scheduler)}
    if backend == "ray":
        _ray(scheduler)
    return {}


def cores(settings: dict[str, Any], workers: int) -> int:
    """Queries that can be solved at a time: all that a Dask cluster has, else as many as were asked for."""
    return sum(settings["client"].ncores().values()) or workers if "client" in settings else workers


def _dask(scheduler: str | None) -> Any:
    distributed = _load("distributed", "dask")
    if scheduler is None:
        try:
            return distributed.get_client()
        except ValueError as error:
            raise InverseError(
                "backend='dask' was given, but no scheduler and no distributed.Client exists. Give its address: "
                "--scheduler HOST:8786 on the command line, or scheduler='HOST:8786'."
            ) from error
    try:
        client = distributed.Client(scheduler, timeout=WAIT, set_as_default=False)
        client.wait_for_workers(1, timeout=WAIT)
    except (OSError, TimeoutError, ValueError) as error:
        raise InverseError(
            f"No Dask cluster with workers answered at {scheduler!r} within {WAIT:g} s ({type(error).__name__}: "
            f"{error}). Start one with 'dask scheduler' and, on each machine, 'dask worker ADDRESS', or use "
            "the backend loky."
        ) from error
    return client


def _ray(scheduler: str | None) -> None:
    ray = _load("ray", "ray")
    joblib = _load("ray.util.joblib", "ray")
    try:
        if not ray.is_initialized():
            ray.init(address=scheduler, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise InverseError(
            f"No Ray cluster answered at {scheduler!r} ({type(error).__name__}: {error}). "
            "Start one with 'ray start --head', or use the backend loky."
        ) from error
    joblib.register_ray()


def _load(module: str, backend: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = "softground[cluster]" if backend == "dask" else "ray"
        raise InverseError(f"backend={backend!r} needs {module}, which is missing: pip install '{package}'.") from error
