"""What a report shows that needs the network and the data: kept in the run folder, so that a page needs neither.

``report.json`` holds counts and a few examples, with their images. It is made at the end of a run, or later from the
checkpoint; every page is then written from the run folder alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..files import DOCUMENT_LIMIT, Missing, Unreadable, failure, parse_object, read_bounded, replace_file
from ..runs import RunFolder

FINDINGS = "report.json"
SCHEMA = 1
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
    """One example: its input, its answer, and its symbols as they are, as predicted and as grounded.

    Attributes
    ----------
    example
        Its position in the data set.
    truth
        True symbols where known, in the network's names for them (see :attr:`Findings.renamed`).
    gives
        The answer that the predicted symbols have, where it is not the right one.
    """

    example: int
    input: Input
    answer: str | None = None
    truth: Symbols | None = None
    predicted: Symbols | None = None
    grounded: Symbols | None = None
    feasible: bool | None = None
    gives: str | None = None


@dataclass(frozen=True)
class Matrix:
    """How often symbols met: ``counts[row][column]``, both in the order of :attr:`Findings.symbols`."""

    rows: str
    columns: str
    data: str
    counts: list[list[int]]


@dataclass(frozen=True)
class Findings:
    """Counts and examples.

    Attributes
    ----------
    symbols
        The union alphabet; empty for reals.
    renamed
        True symbol to the network's name for it, where the rule cannot tell symbols apart; empty elsewhere.
    held_out, wrong, lucky
        How many held-out examples were looked at, how many predictions do not explain their answer, and how many do
        with other symbols than the true ones.
    watched, looked_at
        Training examples that were followed through the run, and held-out ones, mistakes first.
    """

    sites: int
    symbols: list[str]
    renamed: dict[str, str]
    matrices: list[Matrix]
    held_out: int
    wrong: int
    lucky: int
    watched: list[Shown]
    looked_at: list[Shown]

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
            return _parsed(data) if data.get("schema") == SCHEMA else None
        except Missing:
            return None
        except (Unreadable, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error) if isinstance(error, Unreadable) else f"it is not what a report keeps ({error!r})"
            raise failure(path, reason, "Delete the file; softground report makes it again") from error


def _parsed(data: Mapping[str, Any]) -> Findings:
    symbols = [str(s) for s in data["symbols"]]
    return Findings(
        sites=_count(data["sites"]),
        symbols=symbols,
        renamed={str(k): str(v) for k, v in data["renamed"].items()},
        matrices=[_matrix(m, len(symbols)) for m in data["matrices"]],
        held_out=_count(data["held_out"]),
        wrong=_count(data["wrong"]),
        lucky=_count(data["lucky"]),
        watched=[_shown(s) for s in data["watched"]],
        looked_at=[_shown(s) for s in data["looked_at"]],
    )


def _matrix(data: Mapping[str, Any], size: int) -> Matrix:
    counts = [[_count(n) for n in row] for row in data["counts"]]
    if [len(row) for row in counts] != [size] * size:
        raise ValueError(f"a matrix of {len(counts)} rows for {size} symbols")
    return Matrix(str(data["rows"]), str(data["columns"]), str(data["data"]), counts)


def _count(value: Any) -> int:
    """A whole number that can be counted to, and drawn."""
    number = int(value)
    if not 0 <= number < 2**53:
        raise ValueError(f"a count of {str(value)[:20]}")
    return number


def _shown(data: Mapping[str, Any]) -> Shown:
    seen = data["input"]
    given = Input(str(seen["text"]), [str(i) for i in seen["images"]], bool(seen["ink"]))
    symbols = {name: symbols_of(data[name]) for name in ("truth", "predicted", "grounded")}
    words = {name: None if data[name] is None else str(data[name]) for name in ("answer", "gives")}
    feasible = None if data["feasible"] is None else bool(data["feasible"])
    return Shown(_count(data["example"]), given, feasible=feasible, **symbols, **words)  # type: ignore[arg-type]


def symbols_of(value: Any) -> Symbols | None:
    """Symbols from JSON: all numbers, or words."""
    if not isinstance(value, list):
        return None
    if all(isinstance(v, int | float) for v in value):
        return [float(v) for v in value]
    return [str(v) for v in value]


__all__ = ["FINDINGS", "Findings", "Input", "Matrix", "Shown", "Symbols", "symbols_of"]
