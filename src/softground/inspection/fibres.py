r"""What a projection's fibres are like: their size, what a query costs, and how often a move finds a completion.

With z uniform on S_y and u = Π(z), the entropy that the projection loses is

.. math:: H(z) - H(u) = H(v|u) = E \log |F(u)| ,

the paper's measure after Feng et al. (drop variables "with less entropy decreasing"). *Movement* is the share of
proposals u′, one move away from such a u, that have a completion at all: the others are rejected whatever the network
says.

Reference: W. Feng, H. Guo, Y. Yin and C. Zhang, Fast sampling and counting k-SAT solutions in the local lemma regime,
J. ACM 68 (2021).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..dice import Sampler
from ..errors import SoftgroundError
from ..task import Task
from .candidates import Candidate
from .sample import Sample, slow

ROWS = 256  # queries measured
ROWS_SOLVER = 16  # with a solver that takes milliseconds for each
MANY = 1_024  # completions of a single u that are too many to walk with


@dataclass(frozen=True)
class Fibres:
    """Figures of one candidate's fibres over the sample."""

    mean: float
    largest: int
    entropy: float  # E log₂ |F(u)|: bits that the projection loses
    complete: float  # share of fibres known to be whole; exact kernels can use no others
    movement: float
    seconds: float  # per query
    queries: int


def measure(task: Task, candidate: Candidate, sample: Sample, seed: int) -> Fibres | None:
    """The figures, or None where there are too many completions, or the inverse cannot complete so many sites."""
    inverse = candidate.inverse
    z, y = sample.rows(ROWS_SOLVER if slow(inverse) else ROWS, seed)
    dice = Sampler(seed)
    dropped = candidate.projection.draw(dice, len(z), z.device)
    proposal = candidate.move.propose(dice, z, dropped.kept(z.shape[1]))
    try:
        # Tables are folded and solvers warmed before the clock runs.
        if int(inverse.fibre(z[:1], y[:1], dropped.rows(slice(1))).count.max()) > MANY:
            return None
        began = time.perf_counter()
        here = inverse.fibre(z, y, dropped)
        seconds = time.perf_counter() - began
        there = inverse.fibre(proposal, y, dropped)
    except SoftgroundError:
        return None
    count = here.count
    moved = (there.count > 0) & ((proposal != z).any(-1) | (there.count > 1))
    return Fibres(
        mean=float(count.double().mean()),
        largest=int(count.max()),
        entropy=float(count.clamp(min=1).double().log2().mean()),
        complete=float(here.complete.double().mean()),
        movement=float(moved.double().mean()),
        seconds=seconds / len(z),
        queries=len(z),
    )
