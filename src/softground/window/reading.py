"""What the network reads in pictures of symbols, its value by the rule, and what an answer would make of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data.images import read_symbols
from ..errors import ConstraintError, DataError, InfeasibleAnswer, SoftgroundError
from ..files import Json, harmless
from ..model import Model
from ..report.gathering import written
from ..report.words import symbol
from ..task import Task

LIKELIEST = 4  # symbols of a site that are shown


def readers(model: Model) -> dict[int, Model]:
    """By the number of symbols, what reads as many of them, one grey picture each; empty where pictures do not fit."""
    each = [model.of(shape) for shape in model.space] if isinstance(model.space, Mapping) else [model]
    fit = [one for one in each if one.space.categorical and one.shape and len(one.shape) == 4 and one.shape[1] == 1]
    return {one.space.sites: one for one in fit if one.shape[0] == one.space.sites}


def read(model: Model, pictures: Sequence[bytes], answer: str = "") -> Json:
    """Symbols, probabilities and value of one example; with an answer, also its most probable explanation."""
    known = readers(model)
    if len(pictures) not in known:
        counts = ", ".join(map(str, known)) or "no"
        raise DataError(f"{len(pictures)} pictures were given; this network reads {counts} pictures of single symbols.")
    model = known[len(pictures)]
    names = [Path(f"picture {site + 1}") for site in range(len(pictures))]
    shape: Any = model.shape
    x = read_symbols(names, shape[0], shape[1:], dtype=model.dtype, contents=dict(zip(names, pictures, strict=True)))
    chances = torch.from_numpy(model.predict_proba(x))[0]
    codes = model.predict_codes(x).cpu()
    found: Json = {"sites": _likeliest(model, chances), **_told(model, codes, chances)}
    if found["computes"] and found["value"] is None:
        with suppress(SoftgroundError):  # a search may give up
            found["allowed"] = _told(model, model.predict_codes(x, constrained=True).cpu(), chances)
    if answer.strip():
        try:
            best = model.predict_codes(x, [answer_of(answer)]).cpu()
            other = _told(model, best, chances) | {"differs": (best != codes)[0].nonzero().flatten().tolist()}
        except Exception as error:  # an answer of another type, at which a rule may fail, or one that nothing explains
            words = str(error) if isinstance(error, SoftgroundError) else f"the rule fails at it: {error}"
            if isinstance(error, InfeasibleAnswer):
                words = f"No symbols for these {len(pictures)} pictures give the answer {answer.strip()!r}."
            elif isinstance(error, ConstraintError):
                words = f"{answer.strip()!r} is not an answer of this rule. Type one, such as 7, 7/2, True or [1, 2]."
            other = {"error": words}
        found["explanation"] = other
    return found


def _likeliest(model: Model, chances: Tensor) -> list[list[tuple[str, float]]]:
    """The most probable symbols of each site, and how probable they are."""
    best, codes = chances.topk(min(LIKELIEST, chances.shape[1]))
    return [
        [(symbol(str(named[code])), round(p, 4)) for p, code in zip(*row, strict=True) if p > 0]
        for named, row in zip(model.space.named, zip(best.tolist(), codes.tolist(), strict=True), strict=True)
    ]


def _told(model: Model, codes: Tensor, chances: Tensor) -> Json:
    """A reading in words, with its value where the rule computes one, and its probability."""
    values = model.task.computed(codes) if isinstance(model.task, Task) else None
    return {
        "symbols": [symbol(str(each)) for each in model.space.decode(codes)[0]],
        "value": None if values is None or (value := written(values[0])) is None else harmless(value),
        "computes": values is not None,
        "probability": float(chances.gather(1, codes[0, :, None]).prod()),
    }


def answer_of(text: str) -> Any:
    """An answer as it is typed: a number, a fraction, True or False, a list of these, or else a word.

    >>> answer_of("7"), answer_of("7/2"), answer_of("[1, [2]]"), answer_of("True"), answer_of("a b")
    (7, Fraction(7, 2), (1, (2,)), True, 'a b')
    """
    text = text.strip()
    if re.fullmatch(r"-?\d+/0*[1-9]\d*", text):
        return Fraction(text)
    try:
        return _fixed(json.loads({"True": "true", "False": "false"}.get(text, text)))
    except (ValueError, RecursionError):
        return text


def _fixed(value: object) -> Any:
    return tuple(map(_fixed, value)) if isinstance(value, list) else value
