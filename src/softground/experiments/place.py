"""The place of a run: the device and the solver's processes. None of these settings changes what is learnt."""

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from ..errors import InverseError
from ..files import Json

Device = Literal["auto", "cpu", "cuda"]
# The fields that are for inverses by a solver.
SOLVER = ("solver_workers", "solver_limit")


@dataclass(frozen=True, kw_only=True)
class Place:
    """The device, logger and solver processes of a run."""

    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    deterministic: bool = False
    """On a GPU: use deterministic algorithms (slower; torch warns if one is missing). CPUs always do."""
    logger: Literal["tensorboard"] | None = None
    """Log every epoch for TensorBoard, into the run folder (needs the extra tensorboard)."""
    solver_workers: int | None = None
    """Processes for the inverses z3 and cpsat (default: 1, the run's own)."""
    solver_limit: float | None = None
    """Seconds after which a solver's query counts as unknown; a hanging worker is killed (default: 300)."""

    def solver(self, inverse: str) -> Json:
        """The settings of the Z3 or CP-SAT inverse; refuse them for another inverse."""
        given = {name: value for name in SOLVER if (value := getattr(self, name)) is not None}
        if given and inverse not in ("z3", "cpsat"):
            name, value = next(iter(given.items()))
            raise InverseError.of(
                {name: value},
                f", which is for solvers, but the inverse is {inverse}. Use the inverse z3 or cpsat, or leave it out.",
            )
        return {name.removeprefix("solver_"): value for name, value in given.items()}

    def to_json(self) -> Json:
        """These settings as plain JSON."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(Place)}


@contextmanager
def deterministic(wanted: bool = True) -> Iterator[None]:
    """Run a block with deterministic algorithms on a GPU; torch warns if one is missing."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    benchmark, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, False  # the fastest may be another
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.benchmark = benchmark
