"""Known symbols: a code, or 'unknown', for every site of every example."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..dice import stream
from ..errors import DataError
from ..spaces.base import Space
from ..spaces.categorical import Categorical
from .examples import Ragged

UNKNOWN = -1


def known_codes(known: Any, space: Space, count: int, place: Callable[[int], int] = int) -> Tensor:
    """Convert known symbols of ``count`` examples to codes ``[count, sites]``, −1 for unknown sites.

    A tensor or array of whole numbers holds codes, also as a row. Any other row has symbols, with None for 'unknown';
    None instead of a row means that all its symbols are unknown. Errors name an example by its ``place``.

        >>> from softground.spaces import Categorical
        >>> known_codes([(None, "b"), None], Categorical(["abc", "abc"]), 2).tolist()
        [[-1, 1], [-1, -1]]
    """
    if not isinstance(space, Categorical):
        raise DataError(
            f"Known symbols were given for {space!r}, whose components are reals. Leave them out, or state what is "
            "known of them in the rule."
        )
    codes = torch.as_tensor(known) if _is_codes(known) else _encoded(known, space, place)
    if tuple(codes.shape) != (count, space.sites) or codes.is_floating_point():
        raise DataError(
            f"The known symbols are {codes.dtype} of shape {tuple(codes.shape)}; expected codes, whole numbers of "
            f"shape ({count}, {space.sites}) with {UNKNOWN} where a site is unknown, or rows of symbols with None."
        )
    outside = (codes < UNKNOWN) | (codes >= torch.tensor(space.sizes, device=codes.device))
    if bool(outside.any()):
        row, site = outside.nonzero()[0].tolist()
        raise DataError(
            f"Example {place(row)} has the known code {int(codes[row, site])} at site {site}; expected 0 to "
            f"{space.sizes[site] - 1}, or {UNKNOWN} where the site is unknown."
        )
    return codes.long()


def reveal(examples: Any, share: float, seed: int) -> Any:
    """Mark a random ``share`` of the true symbols as known, for experiments."""
    if isinstance(examples, Ragged):
        parts = {shape: reveal(part, share, stream(seed, str(shape))) for shape, part in examples.parts.items()}
        return Ragged(parts, examples.positions)
    if not 0 <= share <= 1:
        raise DataError.of({"known": share}, "expected the share of symbols that are known, from 0 to 1.")
    if examples.symbols is None:
        raise DataError("Some symbols of these examples are to be known, and they have no true symbols.")
    chance = torch.rand(examples.symbols.shape, generator=torch.Generator().manual_seed(seed))
    return replace(examples, known=torch.where(chance < share, examples.symbols, UNKNOWN))


def _is_codes(known: object) -> bool:
    """Whether these are codes in a tensor or an array, not symbols."""
    return isinstance(known, Tensor) or (isinstance(known, np.ndarray) and known.dtype.kind in "iuf")


def _encoded(known: Any, space: Categorical, place: Callable[[int], int]) -> Tensor:
    codes = [{symbol: code for code, symbol in enumerate(alphabet)} | {None: UNKNOWN} for alphabet in space.alphabets]
    table = []
    for number, row in enumerate(known):
        coded, given = _is_codes(row), [None] * space.sites if row is None else row
        given = given.tolist() if isinstance(given, Tensor | np.ndarray) else given
        if not isinstance(given, Sequence) or len(given) != space.sites:
            raise DataError(
                f"Example {place(number)} has the known symbols {row!r}; expected {space.sites} of them, None where "
                "one is unknown, or None for all."
            )
        for site, symbol in enumerate(given):
            if coded and isinstance(symbol, int):
                continue
            if coded or not isinstance(symbol, Hashable) or symbol not in codes[site]:
                raise DataError(
                    f"Example {place(number)} has the known symbol {symbol!r} at site {site}; expected None or one of "
                    f"its alphabet, {list(space.alphabets[site])!r}{', or codes, whole numbers' * coded}."
                )
        table.append(given if coded else [codes[site][symbol] for site, symbol in enumerate(given)])
    return torch.tensor(table, dtype=torch.long).reshape(len(table), space.sites)
