r"""The inverse by Z3 over the reals, as in the paper: one completion per query, whichever the solver finds.

Kept components are exact rationals, dropped ones Real constants, and each row of the answer is

.. math:: \bigvee_{h \in H_j} \bigwedge_{k \in N_j} \; w_{jh} + z_h + m \le w_{jk} + z_k .

Every query has a context of its own, so that its model does not depend on what was asked before.
"""

import math
import time
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from softground.constraints.smt import load_z3
from softground.errors import InverseError
from softground.inverses.base import Fibre, Solving, Start, mode_by_search
from softground.preparing import preparing
from softground.projections.base import Dropped
from softground.reals.gaussian import GaussianBelief, snap
from softground.solver.memory import bounded, short_of_memory
from softground.target import Target
from softground.tasks.sdsp.differences import Differences, nearest
from softground.tasks.sdsp.path_task import PATH_INVERSES


class Z3Reals(Solving):
    """Completions and first states for :class:`~softground.tasks.sdsp.differences.Differences`, by Z3.

    A fibre holds the one completion that Z3 gave, and is marked incomplete; 'unsat' is a proof that there is none.
    ``rlimit``, ``timeout`` and ``memory`` are Z3's deterministic measure of work, seconds, and MiB (None sets no limit)
    per query; beyond any of them the answer is 'unknown'.
    """

    def __init__(
        self, rule: Differences, *, rlimit: int = 20_000_000, timeout: float = 60.0, memory: int | None = None
    ) -> None:
        self._z3: Any = load_z3()
        self.rule = self.constraint = rule
        self.space = rule.space
        self.rlimit, self.timeout, self.memory = rlimit, timeout, memory
        self.queries = self.unknowns = self.timeouts = self.memouts = 0

    def __repr__(self) -> str:
        return f"Z3Reals({self.space!r}, margin {self.rule.margin:g})"

    @property
    def faults(self) -> dict[str, int]:
        """Queries that Z3 gave up on, and those of them whose time or memory was up."""
        return {"unknowns": self.unknowns, "timeouts": self.timeouts, "memouts": self.memouts}

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        models = [self._solve(*query) for query in zip(z.tolist(), y.cpu(), dropped.sites.tolist(), strict=True)]
        none = [0.0] * dropped.count
        values = snap(torch.tensor([model or none for model, _ in models], dtype=torch.float64)).to(z.device)
        # A model off the grid is rounded, and used only where it is feasible as rounded.
        whole = z.double().scatter(1, dropped.sites, values)
        found = torch.tensor([model is not None for model, _ in models], device=z.device)
        proved = torch.tensor([proof for _, proof in models], dtype=torch.bool, device=z.device)
        return Fibre(values[:, None], (found & self.rule.feasible(whole, y))[:, None], proved)

    def start(self, y: Tensor, seed: int) -> Start:
        """Whatever model Z3 finds for all components; the seed has no say."""
        found = []
        with preparing("First states", len(y)) as done:
            for row in range(len(y)):
                done(row)
                everything = Dropped(torch.arange(self.space.sites, device=y.device)[None], shared=True)
                zeros = torch.zeros(1, self.space.sites, dtype=torch.float64, device=y.device)
                fibre = self.fibre(zeros, y[row : row + 1], everything)
                found.append((fibre.values[:, 0], fibre.mask[:, 0], fibre.complete))
        return Start(*map(torch.cat, zip(*found, strict=True)))

    def _solve(self, state: list[float], answer: Tensor, sites: list[int]) -> tuple[list[float] | None, bool]:
        """A model of the dropped sites or None, and whether 'none' is a proof."""
        z3, began = self._z3, time.perf_counter()
        self.queries += 1
        try:
            with bounded(z3, self.memory):
                values, proved, why = self._ask(state, answer, sites)
        except (MemoryError, z3.Z3Exception) as error:
            if not short_of_memory(z3, error):
                raise InverseError(f"Z3 failed: {error}. Try another z3-solver release.") from error
            values, proved, why = None, False, "out of memory"
        self.unknowns += bool(why)
        self.timeouts += "timeout" in why
        self.memouts += "memory" in why
        self.solver_seconds += time.perf_counter() - began
        return values, proved

    def _ask(self, state: list[float], answer: Tensor, sites: list[int]) -> tuple[list[float] | None, bool, str]:
        """The same, and why Z3 does not know."""
        z3 = self._z3
        context = z3.Context()
        solver = z3.Solver(ctx=context)
        solver.set(rlimit=self.rlimit, timeout=math.ceil(1000 * self.timeout))
        free = {site: z3.Real(f"z{site}", context) for site in sites}
        terms = [free.get(i, z3.RealVal(Fraction(value), context)) for i, value in enumerate(state)]
        rows = self.rule.rows(answer[None])
        for marked, others in zip(rows.marked[0], rows.others[0], strict=True):
            low = [(k, Fraction(float(others[k]))) for k in torch.isfinite(others).nonzero().flatten().tolist()]
            high = [(h, Fraction(float(marked[h]))) for h in torch.isfinite(marked).nonzero().flatten().tolist()]
            if low:
                ways = [z3.And(*[terms[h] - terms[k] <= z3.RealVal(v - w, context) for k, v in low]) for h, w in high]
                solver.add(z3.Or(*ways))
        status = solver.check()
        values = None
        if status == z3.sat:
            model = solver.model()
            values = [float(model.eval(free[site], model_completion=True).as_fraction()) for site in sites]
        why = (solver.reason_unknown() or "unknown") if status == z3.unknown else ""
        return values, bool(status == z3.unsat), why


@PATH_INVERSES.register("z3")
def _of_paths(rule: Differences, nonnegative: bool, **solver: Any) -> Z3Reals:
    return Z3Reals(rule, **solver)


@mode_by_search.register
def _(inverse: Z3Reals, target: Target[GaussianBelief]) -> Tensor:
    """As :class:`~softground.tasks.sdsp.differences.Intervals` does: Z3 decides, it does not measure distances."""
    return nearest(inverse.rule.rows(target.answers), target.weights.mean)
