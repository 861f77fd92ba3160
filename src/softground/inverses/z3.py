"""The inverse by Z3: fibres of any rule that can be written as a formula, solved in this process or in many.

:mod:`~softground.solver.z3` says why replies do not depend on which models Z3 happens to find.
"""

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from ..solver.queries import Limits
from .base import INVERSES, Inverse
from .enumeration import default_inverse
from .solved import Solved


class Z3(Solved):
    """Fibres, starts and solutions through the Z3 solver.

    Parameters
    ----------
    cap
        Most completions per fibre; one with more is cut and incomplete.
    table
        Most combinations of the dropped sites for which one simplification evaluates the formula on all of them,
        several times faster than search; 0 always searches.
    rlimit, timeout
        Per check, Z3's deterministic measure of work (2 million are about a second), and seconds. Beyond either the
        reply is 'unknown' and the fibre incomplete.
    limit, memory
        Seconds and MiB (None sets no limit) per query. A query gives up after half of the seconds; with several
        workers, a process that does not is killed.
    workers, chunk
        Processes; 1 solves in this one, where nothing can be killed. And the queries that a worker gets at a time; None
        cuts each call's into four chunks per worker.
    backend, scheduler
        ``"local"`` forks the workers from this process. ``"dask"`` and ``"ray"`` use all workers of the cluster with
        that address (see :mod:`~softground.solver.cluster`); ``workers`` processes here replace those that are lost.
    cache
        Fibres remembered, the most recently used. ``queries`` counts fibres asked for, ``hits`` those remembered.
    tries
        Random proposals that :meth:`start` completes by a table before it searches.
    solutions_cap
        Most states of S_y that :meth:`solutions` lists per answer.

    Notes
    -----
    A complete fibre is the same set whichever process found it. A capped one holds the lexicographically first
    completions, an unknown one none. So nothing depends on Z3's choice of models, the number of workers or the order of
    queries; only whether a check reaches a limit may. An unknown fibre is asked again when it is next needed, unless
    its process died or had to be killed.
    """

    solver = ("Z3", "rlimit and timeout")

    def __init__(
        self,
        smt: SMT,
        *,
        cap: int = 64,
        table: int = 4096,
        rlimit: int = 20_000_000,
        timeout: float = 60.0,
        limit: float = 300.0,
        memory: int | None = None,
        workers: int = 1,
        chunk: int | None = None,
        backend: str = "local",
        scheduler: str | None = None,
        cache: int = 200_000,
        tries: int = 32,
        solutions_cap: int = 100_000,
    ) -> None:
        if not isinstance(smt, SMT):
            raise InverseError(f"{smt!r} was given to the Z3 inverse; expected a Z3 formula: sg.SMT(…).")
        load_z3()
        self._check(least=1, rlimit=rlimit)
        super().__init__(
            smt,
            smt.shared or smt,  # another statement of the rule is there because it is faster
            Limits(table, rlimit, timeout, limit, memory),
            cap=cap,
            workers=workers,
            chunk=chunk,
            backend=backend,
            scheduler=scheduler,
            cache=cache,
            tries=tries,
            solutions_cap=solutions_cap,
        )
        self.smt = smt

    def lister(self, most: int, seconds: float, workers: int) -> Inverse:
        return Z3(self.smt, limit=2 * min(max(1.0, seconds), 1e6), workers=workers, solutions_cap=most)


@default_inverse.register
def _(constraint: SMT, space: object) -> Z3:
    return Z3(constraint)


INVERSES["z3"] = Z3
