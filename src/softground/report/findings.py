"""What a report shows that needs the network and the data: kept in the run folder, so that a page needs neither.

``report.json`` holds counts and a few examples, with their images. It is made at the end of a run, or later from the
checkpoint; every page is then written from the run folder alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from ..files import DOCUMENT_LIMIT, Missing, Unreadable, failure, parse_object, read_bounded, replace_file
from ..runs import RunFolder
from ..typed import typed

FINDINGS = "report.json"
SCHEMA = 2
Symbols = list[str] | list[float]


@dataclass(frozen=True)
class Input:
    """An input as a person can look at it: images (PNG, base64), or words."""

    text: str = ""
    images: list[str] = field(default_factory=list)
    ink: bool = False  # dark on white: a dark page may invert the images


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
        """How many symbols are not the true ones; 0 where these are not known, or reals."""
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
        for matrix in self.matrices:
            if [len(row) for row in matrix.counts] != [size] * size or min(map(min, matrix.counts), default=0) < 0:
                raise ValueError(f"a matrix is not {size} × {size} counts")

    def write(self, folder: RunFolder) -> None:
        """Keep the findings in a run folder."""
        data = {"schema": SCHEMA} | asdict(self)
        replace_file(folder.path / FINDINGS, (json.dumps(data, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, folder: RunFolder) -> Findings | None:
        """The findings of a run; None where there are none, or another version's."""
        path = folder.path / FINDINGS
        try:
            data = parse_object(read_bounded(path, DOCUMENT_LIMIT))
            found = typed(cls, data) if data.pop("schema", None) == SCHEMA else None
        except Missing:
            return None
        except (Unreadable, ValueError, TypeError) as error:
            raise failure(
                path, f"it cannot be used: {error}", "Delete the file; the next report makes it again"
            ) from error
        return found
