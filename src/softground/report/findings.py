"""What a report needs the network and the data for, kept in the run folder so that a page needs neither.

``report.json`` holds counts and a few examples, with their images. It is made at the end of a run, or later from the
checkpoint; every page is then written from the run folder alone.

Inputs are kept as a person can look at them: images as PNG, graphs and values in a few words.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from ..files import DOCUMENT_LIMIT, Missing, Unreadable, failure, parse_object, read_bounded, replace_file, typed
from ..runs import RunFolder

FINDINGS = "report.json"
SCHEMA = 2
Symbols = list[str] | list[float]
SMALLEST, LARGEST = 4, 96  # sides of an image: smaller is a vector, larger is made smaller
MOST_ROWS, MOST_VALUES, MOST_TEXT = 8, 10, 300


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

    epochs: int  # of training, through all stages
    symbols: list[str]  # the union alphabet; empty for reals
    renamed: dict[str, str]  # true symbol to the network's name for it, where the rule cannot tell symbols apart
    matrices: list[Matrix]
    held_out: int  # how many examples were read
    wrong: int  # predictions among them that do not explain their answer
    lucky: int  # predictions that do, with other symbols than the true ones
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
        """The findings of a run; None if there are none or they are of another version."""
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


def look_at(x: object, sites: int) -> Input:
    """One input of a data set."""
    if isinstance(x, dict):
        return Input(text=_cut("; ".join(f"{key}: {_words(value)}" for key, value in x.items())))
    values = _values(x)
    frames = None if values is None else images(values, sites)
    return Input(text=_words(x)) if frames is None else _pictured(frames)


def _values(x: object) -> Tensor | None:
    """An input's numbers; None for anything else."""
    try:
        return torch.as_tensor(x).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        return None


def images(x: Tensor, sites: int) -> Tensor | None:
    """``[images, channels, height, width]`` where an input is images: one per site, or one of everything."""
    if x.dim() == 2 and x.dtype == torch.uint8:
        x = x[None]
    if x.dim() == 3 and x.shape[0] == sites and sites not in (1, 3):
        x = x[:, None] if x.dtype == torch.uint8 or min(x.shape[1:]) >= 2 * SMALLEST else x
    if x.dim() == 3:
        x = x[None]
    fits = x.dim() == 4 and x.shape[1] in (1, 3) and min(x.shape[2:]) >= SMALLEST
    return x if fits and not x.is_complex() else None


def _pictured(frames: Tensor) -> Input:
    """PNG images, base64; grey ones are inverted where needed to show dark ink on white."""
    if frames.dtype != torch.uint8:
        low, high = min(0.0, float(frames.min())), max(1.0, float(frames.max()))
        frames = ((frames.double() - low) * (255 / (high - low))).round().clamp(0, 255).to(torch.uint8)
    grey = frames.shape[1] == 1
    if grey and float(frames.float().mean()) < 127.5:
        frames = 255 - frames
    return Input(images=[png(frame) for frame in frames], ink=grey)


def png(frame: Tensor) -> str:
    """An image ``[1 or 3, height, width]`` of bytes as base64 PNG.

    >>> png(torch.zeros(1, 4, 4, dtype=torch.uint8))[:11]
    'iVBORw0KGgo'
    """
    from PIL import Image

    pixels = frame[0] if len(frame) == 1 else frame.permute(1, 2, 0)
    picture = Image.fromarray(pixels.contiguous().numpy())
    picture.thumbnail((LARGEST, LARGEST))
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _words(x: object) -> str:
    """An input in a few words; a symmetric matrix without a diagonal is a graph's weights."""
    values = _values(x)
    if values is None:
        return _cut(str(x))
    if values.dim() < 2:
        return _row(values.flatten())
    square = values.dim() == 2 and 3 <= len(values) == values.shape[1] and not values.diagonal().any()
    if square and values.any() and (values == values.T).all() and (values >= 0).all():
        return f"a graph of {len(values)} vertices and {int((values != 0).sum()) // 2} edges"
    rows = values.flatten(1)
    return "\n".join([*map(_row, rows[:MOST_ROWS]), *(["…"] if len(rows) > MOST_ROWS else [])])


def _row(values: Tensor) -> str:
    """Numbers in a row.

    >>> _row(torch.tensor([1.0, 0.25, -3.14159]))
    '1, 0.25, -3.14'
    """
    shown = ", ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values[:MOST_VALUES].tolist())
    return shown + (f", … ({len(values)} values)" if len(values) > MOST_VALUES else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
