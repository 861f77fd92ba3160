"""Published lists of formulas: written text, claimed value, and the images that show each symbol."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....data.images import Images
from ....errors import DataError
from .alphabet import encode, parse, value
from .source import Indices

TOLERANCE = 1e-3  # relative difference allowed between a formula's exact value and the value its list claims


@dataclass(frozen=True)
class Listing:
    """Formulas of one length: row ``n`` shows ``images[index[n]]`` and means ``codes[n]``."""

    index: Indices
    codes: Indices


@dataclass(frozen=True)
class Published:
    """A published set of formulas and the images, ink bright, that they point to.

    ``labels`` (places in ``SYMBOLS``) and ``writers`` describe the images one by one, where the layout has them.
    """

    images: Images
    train: Listing
    test: Listing
    labels: Indices | None = None
    writers: npt.NDArray[np.str_] | None = None


def chosen(
    formulas: Sequence[tuple[str, object]], length: int, size: int | None, side: str, path: Path
) -> tuple[list[int], Indices]:
    """Places and codes of the first ``size`` formulas of a length, or of all.

    ``formulas`` are texts and claimed values; each that is chosen must have the value that its list claims.
    """
    places = [place for place, (text, _) in enumerate(formulas) if len(text) == length]
    if not places:
        lengths = ", ".join(map(str, sorted({len(text) for text, _ in formulas}))) or "none at all"
        raise DataError(f"No {side} formula of length {length} in {path}; lengths found: {lengths}.")
    if size is not None and size > len(places):
        raise DataError(
            f"{side}_size is {size} but {path} has only {len(places)} {side} formulas of length {length}: "
            f"give at most {len(places)}, or None for all."
        )
    places = places[:size]
    codes = [_checked_codes(*formulas[place], f"{path}, {side} formula {place}") for place in places]
    return places, np.array(codes, dtype=np.int64)


def _checked_codes(text: str, claimed: object, where: str) -> list[int]:
    symbols = parse(text)
    codes, exact = encode(symbols), value(symbols)
    if codes is None or exact is None:
        raise DataError(
            f"{where}: {text!r} is not a formula of digits 1-9 and operators + - * / in turn: correct or remove it."
        )
    if not _close(exact, claimed):
        raise DataError(
            f"{where}: {text!r} is {exact} (about {float(exact):.6g}) but the list claims {reprlib.repr(claimed)}; "
            "the file is damaged or uses other rules: fetch it again."
        )
    return codes


def _close(exact: Fraction, claimed: object) -> bool:
    try:
        return isinstance(claimed, int | float) and math.isclose(exact, claimed, rel_tol=TOLERANCE, abs_tol=1e-9)
    except OverflowError:  # a whole number that no float holds
        return False
