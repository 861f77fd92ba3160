"""Where a run happens: the device, the solver's processes. Nothing here is part of what is learnt."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InverseError

Device = Literal["auto", "cpu", "cuda"]
SOLVER = {  # fields below, and what the Z3 inverse calls them
    "solver_workers": "workers",
    "solver_backend": "backend",
    "scheduler": "scheduler",
    "solver_limit": "limit",
    "solver_memory": "memory",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where and with what a run is carried out."""

    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    deterministic: bool = False
    """On a GPU: algorithms that give the same bits each time (slower; torch warns if it has none). CPUs always do."""
    tensorboard: bool = False
    """Log every epoch for TensorBoard, into the run folder (needs the extra tensorboard)."""
    solver_workers: int | None = None
    """Processes for the z3 inverse (default: 1, the run's own)."""
    solver_backend: Literal["local", "dask", "ray"] | None = None
    """Where they run: on this machine (local, the default), or on a Dask or Ray cluster."""
    scheduler: str | None = None
    """The address of the cluster's scheduler, such as tcp://host:8786."""
    solver_limit: float | None = None
    """Seconds after which a query of the z3 inverse counts as unknown, and a worker that hangs is killed
    (default: 300)."""
    solver_memory: int | None = None
    """MiB that a query of the z3 inverse may take (default: no limit)."""

    def solver(self, inverse: str) -> dict[str, Any]:
        """The settings of the Z3 inverse. None may be given for another inverse."""
        given = {name: value for name in SOLVER if (value := getattr(self, name)) is not None}
        if given and inverse != "z3":
            name, value = next(iter(given.items()))
            raise InverseError(
                f"{name}={value} was given, which is for the Z3 inverse, but the inverse is {inverse}. Use the inverse "
                "z3, or leave it out."
            )
        return {SOLVER[name]: value for name, value in given.items()}

    def to_json(self) -> dict[str, Any]:
        """These settings as plain JSON."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(Place)}
