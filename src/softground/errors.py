"""One family of exceptions. A message states what was given, what was expected and what to do next.

The library's own errors derive from :class:`SoftgroundError`, so one ``except`` catches them all. Subclasses let a
caller distinguish cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

SHOWN = 100  # characters of a value in a message


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


@dataclass(frozen=True)
class Setting:
    """A setting in a message, with or without a value: an argument in Python, an option on the command line.

    >>> str(Setting("keep", "best")), Setting("keep", "best").as_option()
    ("keep='best'", '--keep best')
    """

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={_cut(repr(self.value))}"

    def as_option(self) -> str:
        """As the command line writes it."""
        word = self.name.replace("_", "-")
        if self.value is ... or isinstance(self.value, bool):
            return f"--no-{word}" if self.value is False else f"--{word}"
        values = self.value if isinstance(self.value, list | tuple) else [self.value]
        return f"--{word} {_cut(' '.join(map(str, values)))}"


class SoftgroundError(Exception):
    """Base of every error this library raises on purpose.

    A message consists of texts and settings. ``settings`` are those that the error is about, with the given values, and
    ``expected`` is the remedy; both are empty for other errors.
    """

    def __init__(self, *message: str | Setting) -> None:
        super().__init__(*message)
        self.settings: Mapping[str, Any] = {}
        self.expected = ""

    @classmethod
    def of(cls, given: Mapping[str, object], *expected: str | Setting) -> Self:
        """An error about settings that were given.

        >>> str(LearnerError.of({"members": 0}, "expected 1 or more."))
        'members=0 was given; expected 1 or more.'
        >>> str(LearnerError.of({"members": 2, "scouts": 3}, ", which exclude each other."))
        'members=2 and scouts=3 were given, which exclude each other.'
        """
        about = [part for item in given.items() for part in (" and ", Setting(*item))][1:]
        link = "" if str(expected[0]).startswith((",", " ")) else "; "
        error = cls(*about, f" {'was' if len(given) == 1 else 'were'} given{link}", *expected)
        error.settings, error.expected = dict(given), "".join(map(str, expected)).strip(", ")
        return error

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class SpaceError(SoftgroundError):
    """Symbols, alphabets or network outputs that do not fit the symbol space."""


class ConstraintError(SoftgroundError):
    """A rule that cannot be evaluated, or answers it cannot be compared with.

    ``example`` is the position of the answer that the error is about, if it is about one.
    """

    def __init__(self, *message: str | Setting, example: int | None = None) -> None:
        super().__init__(*message)
        self.example = example

    def __str__(self) -> str:
        return super().__str__() if self.example is None else f"Example {self.example}: {super().__str__()}"


class InfeasibleAnswer(ConstraintError):
    """No symbol vector explains an example's answer; ``examples`` holds the indices concerned."""

    def __init__(self, *message: str | Setting, examples: tuple[int, ...] = ()) -> None:
        super().__init__(*message)
        self.examples = examples


class ProjectionError(SoftgroundError):
    """A projection that drops everything, nothing, or sites that do not exist."""


class InverseError(SoftgroundError):
    """An inverse projection that cannot be built or computed (too large, solver failure)."""


class NoLaw(InverseError):
    """A rule whose solutions cannot be summed, although an exact posterior is required."""


class ScheduleError(SoftgroundError):
    """An annealing schedule with impossible parameters."""


class DataError(SoftgroundError):
    """A data set that is missing, empty, malformed or of the wrong shape."""


class LearnerError(SoftgroundError):
    """Settings with which training or prediction cannot work."""


class NonFiniteOutput(LearnerError):
    """The network or the loss produced NaN or infinity."""


class CheckpointError(SoftgroundError):
    """A checkpoint or run folder that is missing, corrupt, or from another version."""
