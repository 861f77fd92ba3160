"""What a report shows that needs the network and the data: kept in the run folder, so that a page needs neither.

``report.json`` holds counts and a few examples, with their images. It is made at the end of a run, or later from the
checkpoint; every page is then written from the run folder alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from ..files import DOCUMENT_LIMIT, Missing, Unreadable, failure, parse_object, read_bounded, replace_file
from ..runs import RunFolder

FINDINGS = "report.json"
SCHEMA = 2
Symbols = list[str] | list[float]


@dataclass(frozen=True)
class Input:
    """An input as a person can look at it: images (PNG, base64), or words.

    ``ink`` says that the images are dark on white, so that a dark page may turn them round.
    """

    text: str = ""
    images: list[str] = field(default_factory=list)
    ink: bool = False


@dataclass(frozen=True)
class Shown:
    """One example: its input, its answer, and its symbols as they are, as predicted and as grounded."""

    example: int  # its position in the data set
    input: Input
    answer: str | None = None
    truth: Symbols | None = None  # where known, in the network's names for them (see Findings.renamed)
    predicted: Symbols | None = None
    grounded: Symbols | None = None
    feasible: bool | None = None
    gives: str | None = None  # the answer that the predicted symbols have, where it is not the right one

    @property
    def real(self) -> bool:
        """Whether its symbols are real numbers."""
        return bool(self.predicted) and not isinstance((self.predicted or [""])[0], str)

    @property
    def pictured(self) -> bool:
        """Whether each symbol has an image of its own."""
        return bool(self.predicted) and len(self.input.images) == len(self.predicted or [])

    @property
    def wrong_symbols(self) -> int:
        """How many symbols are not the true ones, as far as these are known; reals are never exactly right."""
        return 0 if self.real else sum(a != b for a, b in zip(self.truth or [], self.predicted or [], strict=False))


@dataclass(frozen=True)
class Matrix:
    """How often symbols met: ``counts[row][column]``, both in the order of :attr:`Findings.symbols`."""

    rows: str
    columns: str
    data: str
    counts: list[list[int]]


@dataclass(frozen=True)
class Findings:
    """Counts and examples."""

    epochs: int  # that the network had been trained for, through all stages
    symbols: list[str]  # the union alphabet; empty for reals
    renamed: dict[str, str]  # true symbol to the network's name for it, where the rule cannot tell symbols apart
    matrices: list[Matrix]
    held_out: int  # how many examples were looked at
    wrong: int  # how many predictions among them do not explain their answer
    lucky: int  # and how many do, with other symbols than the true ones
    watched: list[Shown]  # training examples that were followed through the run
    looked_at: list[Shown]  # held-out ones, mistakes first

    def __post_init__(self) -> None:
        size = len(self.symbols)
        if any([len(row) for row in matrix.counts] != [size] * size for matrix in self.matrices):
            raise ValueError(f"a matrix that is not {size} × {size}")

    def write(self, folder: RunFolder) -> None:
        """Keep the findings in a run folder."""
        data = {"schema": SCHEMA} | asdict(self)
        replace_file(folder.path / FINDINGS, (json.dumps(data, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, folder: RunFolder) -> Findings | None:
        """The findings of a run; None where there are none, or those of another version.

        Raises
        ------
        CheckpointError
            When the file is damaged.
        """
        path = folder.path / FINDINGS
        try:
            data = parse_object(read_bounded(path, DOCUMENT_LIMIT))
            return _parsed(cls, data) if data.get("schema") == SCHEMA else None
        except Missing:
            return None
        except (Unreadable, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error) if isinstance(error, Unreadable) else f"it is not what a report keeps ({error!r})"
            raise failure(path, reason, "Delete the file; softground report makes it again") from error


def _parsed(kind: Any, value: Any) -> Any:
    """A value from JSON as the type that a field declares."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{f.name: _parsed(types[f.name], value[f.name]) for f in fields(kind)})  # type: ignore[operator]
    if get_origin(kind) is list:
        return [_parsed(get_args(kind)[0], item) for item in value]
    if get_origin(kind) is dict:
        return {str(name): str(item) for name, item in value.items()}
    if kind is int:
        number = int(value)
        if not 0 <= number < 2**53:  # it can be counted to, and drawn
            raise ValueError(f"a count of {str(value)[:20]}")
        return number
    if kind in (str, bool):
        return kind(value)
    if kind == Symbols | None:
        return symbols_of(value)
    return None if value is None else _parsed(get_args(kind)[0], value)  # such as str | None


def symbols_of(value: Any) -> Symbols | None:
    """Symbols from JSON: all numbers, or words."""
    if not isinstance(value, list):
        return None
    numbers = all(isinstance(v, int | float) for v in value)
    return [float(v) for v in value] if numbers else [str(v) for v in value]
