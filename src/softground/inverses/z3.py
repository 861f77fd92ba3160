"""The inverse by Z3: fibres of any rule that can be written as a formula, solved in this process or in many.

:mod:`~softground.solver.z3` says why replies do not depend on which models Z3 happens to find.
"""

from typing import Any

from ..constraints.cpmpy import CPMpy
from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .base import INVERSES
from .enumeration import default_inverse
from .solved import Solved


class Z3(Solved):
    """Fibres, starts and solutions through the Z3 solver.

    ``settings`` are those of :class:`~softground.inverses.solved.Solved`; ``rlimit`` is the ``work`` that a check
    may take. Up to ``table`` combinations of the dropped sites are evaluated, several times faster than search.

    Notes
    -----
    A complete fibre is the same set whichever process found it. A capped one holds the lexicographically first
    completions, an unknown one none. So nothing depends on Z3's choice of models, the number of workers or the order of
    queries; only whether a check reaches a limit may. An unknown fibre is asked again when it is next needed, unless
    its process died or had to be killed.
    """

    solver = ("Z3", "rlimit and timeout")

    def __init__(self, rule: SMT, *, rlimit: int = 20_000_000, **settings: Any) -> None:
        if not isinstance(rule, SMT):
            instead = " Use sg.inverses.CPSAT for a rule in CPMpy." if isinstance(rule, CPMpy) else ""
            raise InverseError(f"{rule!r} was given to the Z3 inverse; expected sg.SMT(…).{instead}")
        load_z3()
        self._check(least=1, rlimit=rlimit)
        # Another statement of the rule is there because it is faster.
        super().__init__(rule, rule.shared or rule, work=rlimit, **{"cap": 64, "table": 4096, "tries": 32} | settings)


@default_inverse.register
def _(constraint: SMT, space: object) -> Z3:
    return Z3(constraint)


INVERSES["z3"] = Z3
