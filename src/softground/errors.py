"""One exception family. A message says what was given, what was expected and what to do next.

Everything the library raises on purpose is a :class:`SoftgroundError`, so one ``except`` is enough;
the subclasses exist where a caller may want to tell cases apart.
"""


class SoftgroundError(Exception):
    """Base of every error this library raises on purpose."""


class SpaceError(SoftgroundError):
    """Symbols, alphabets or network outputs that do not fit the symbol space."""


class ConstraintError(SoftgroundError):
    """A rule that cannot be evaluated, or answers it cannot be compared with."""


class InfeasibleAnswer(ConstraintError):
    """No symbol vector explains an example's answer; ``examples`` holds the indices concerned."""

    def __init__(self, message: str, examples: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.examples = examples


class ProjectionError(SoftgroundError):
    """A projection that drops everything, nothing, or sites that do not exist."""


class InverseError(SoftgroundError):
    """An inverse projection that cannot be built or computed (too large, solver failure)."""


class NoLaw(InverseError):
    """A rule whose solutions cannot be summed, where an exact posterior is asked for."""


class ScheduleError(SoftgroundError):
    """An annealing schedule with impossible parameters."""


class DataError(SoftgroundError):
    """A data set that is missing, empty, malformed or of the wrong shape."""


class LearnerError(SoftgroundError):
    """Training or prediction asked for with settings that cannot work."""


class NonFiniteOutput(LearnerError):
    """The network or the loss produced NaN or infinity."""


class CheckpointError(SoftgroundError):
    """A checkpoint or run folder that is missing, corrupt, or from another version."""
