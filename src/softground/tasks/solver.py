"""Options of tasks whose inverse may be Z3: where its queries are solved, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InverseError

Backend = Literal["local", "dask", "ray"]


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """How the z3 inverse solves."""

    solver_workers: int = 1
    """Processes for the z3 inverse."""
    solver_backend: Backend = "local"
    """Where they run: on this machine, or on a Dask or Ray cluster."""
    scheduler: str | None = None
    """The address of the cluster's scheduler, such as tcp://host:8786."""
    solver_limit: float = 300.0
    """Seconds after which a query of the z3 inverse counts as unknown, and a worker that hangs is killed."""
    solver_memory: int | None = None
    """MiB that a query of the z3 inverse may take (default: no limit)."""

    def solver(self, inverse: str) -> dict[str, Any]:
        """These options as :class:`~softground.inverses.z3.Z3` knows them; nothing is sent out for other inverses."""
        if inverse != "z3" and (self.solver_backend != "local" or self.scheduler is not None):
            raise InverseError(
                f"--solver-backend {self.solver_backend} and --scheduler {self.scheduler} are for the Z3 inverse, but "
                f"the inverse is {inverse}. Add --inverse z3."
            )
        return {
            "workers": self.solver_workers,
            "backend": self.solver_backend,
            "scheduler": self.scheduler,
            "limit": self.solver_limit,
            "memory": self.solver_memory,
        }
