"""The inverse by CP-SAT: fibres of a rule written in CPMpy, evaluated, or solved in this process or in many."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..constraints.cpmpy import CPMpy, load_cp_model
from ..errors import InverseError
from ..projections.base import Dropped
from ..solver.engine import End
from .base import INVERSES, Fibre, candidates
from .enumeration import default_inverse
from .solved import Solved

EVALUATED = 2**18  # states of a space that are all evaluated to list S_y


class CPSAT(Solved):
    """Fibres, starts and solutions through OR-tools' CP-SAT solver.

    ``settings`` are those of :class:`~softground.inverses.solved.Solved`. Up to ``table`` combinations of the
    dropped sites are evaluated, as tensors; a rule that makes variables of its own is always searched.

    Notes
    -----
    A complete fibre is the same set whichever process found it. A capped one holds the first completions in the order
    of their symbols, an unknown one none. Nothing depends on the number of workers or the order of queries; only
    whether a search reaches a limit of time may.

    >>> import cpmpy as cp
    >>> from softground import Categorical
    >>> from softground.projections import Dropped
    >>> space = Categorical([range(10)] * 3)
    >>> rule = CPMpy(lambda z, y: [cp.AllDifferent(z), cp.sum(z) == y], space)
    >>> fibre = CPSAT(rule).fibre(space.encode([(9, 0, 0)]), rule.encode([12]), Dropped(torch.tensor([[1, 2]])))
    >>> fibre.values[fibre.mask].tolist(), fibre.complete.tolist()
    ([[0, 3], [1, 2], [2, 1], [3, 0]], [True])
    """

    solver = ("CP-SAT", "work and timeout")
    for_lists = {"table": EVALUATED}  # noqa: RUF012

    def __init__(self, rule: CPMpy, *, table: int = 1024, **settings: Any) -> None:
        if not isinstance(rule, CPMpy):
            raise InverseError(f"{rule!r} was given to the CP-SAT inverse; expected a rule in CPMpy: sg.CPMpy(…).")
        load_cp_model()
        self._check(least=0, work=settings.get("work", 0.0), table=table)
        super().__init__(rule, rule, table=0, **{"cap": 1024, "work": 60.0} | settings)  # tables are evaluated here
        self.table = table

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        options = self.space.combinations(dropped.count)
        if options > self.table or not self._evaluates(set(y.tolist())):
            return super().fibre(z, y, dropped)
        begin = time.perf_counter()
        values, mask = candidates(self.space.layout(z.device).sizes, dropped.sites, options)
        for sites in dropped.sites.unique(dim=0).tolist():  # type: ignore[no-untyped-call]
            rows = (dropped.sites == torch.tensor(sites, device=z.device)).all(1).nonzero().flatten()
            found = self.rule.completions(z[rows], y[rows], sites)
            mask[rows, : found.shape[1]] &= found
        self.queries += len(z)
        self.solver_seconds += time.perf_counter() - begin
        return Fibre(values, mask, torch.ones(len(z), dtype=torch.bool, device=z.device))

    def listed(self, answers: Sequence[int]) -> list[tuple[Tensor, End]]:
        if self.space.size > self.table or not self._evaluates(answers):
            return super().listed(answers)
        everything = self.space.states(torch.arange(self.space.size))
        each = [everything[self.rule.feasible(everything, torch.full((len(everything),), i))] for i in answers]
        most = self.solutions_cap
        return [(states[:most], "whole" if len(states) <= most else "capped") for states in each]

    def _evaluates(self, answers: Iterable[int]) -> bool:
        return all(self.rule.evaluates(i) for i in answers)


@default_inverse.register
def _(constraint: CPMpy, space: object) -> CPSAT:
    return CPSAT(constraint)


INVERSES["cpsat"] = CPSAT
