"""Known symbols: a code, or 'unknown', for every site of every example."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from .examples import Examples

UNKNOWN = -1


def known_codes(known: Any, space: Any, count: int) -> Tensor:
    """Known symbols of ``count`` examples as codes ``[count, sites]``, −1 where a site is unknown.

    A tensor or array of whole numbers holds codes already. Anything else is one row per example, of the symbols
    themselves with None for 'unknown'; None instead of a row knows nothing of the example.

    >>> from softground.spaces import Categorical
    >>> known_codes([(None, "b"), None], Categorical(["abc", "abc"]), 2).tolist()
    [[-1, 1], [-1, -1]]
    """
    if not space.categorical:
        raise DataError(
            f"Known symbols were given for {space!r}, whose components are reals. Leave them out, or state what is "
            "known of them in the rule."
        )
    if isinstance(known, np.ndarray) and np.issubdtype(known.dtype, np.number):
        known = torch.from_numpy(known)
    codes: Tensor = known if isinstance(known, Tensor) else _encoded(known, space)
    if tuple(codes.shape) != (count, space.sites) or codes.is_floating_point():
        raise DataError(
            f"The known symbols are {codes.dtype} of shape {tuple(codes.shape)}; expected codes, whole numbers of "
            f"shape ({count}, {space.sites}) with {UNKNOWN} where a site is unknown, or rows of symbols with None."
        )
    outside = (codes < UNKNOWN) | (codes >= torch.tensor(space.sizes, device=codes.device))
    if bool(outside.any()):
        row, site = outside.nonzero()[0].tolist()
        raise DataError(
            f"Example {row} has the known code {int(codes[row, site])} at site {site}; expected 0 to "
            f"{space.sizes[site] - 1}, or {UNKNOWN} where the site is unknown."
        )
    return codes.long()


def reveal(examples: Examples, share: float, seed: int) -> Examples:
    """Examples of which a random ``share`` of the true symbols is known: for experiments."""
    if not 0 <= share <= 1:
        raise DataError(f"known={share} was given; expected the share of symbols that are known, from 0 to 1.")
    if examples.symbols is None:
        raise DataError("Some symbols of these examples are to be known, and they have no true symbols.")
    chance = torch.rand(examples.symbols.shape, generator=torch.Generator().manual_seed(seed))
    return replace(examples, known=torch.where(chance < share, examples.symbols, UNKNOWN))


def _encoded(known: Any, space: Any) -> Tensor:
    codes = [{symbol: code for code, symbol in enumerate(alphabet)} | {None: UNKNOWN} for alphabet in space.alphabets]
    table = []
    for number, row in enumerate(known):
        row = [None] * space.sites if row is None else list(row)
        if len(row) != space.sites:
            raise DataError(f"Example {number} has {len(row)} known symbols; expected {space.sites}, None for unknown.")
        for site, symbol in enumerate(row):
            if symbol not in codes[site]:
                raise DataError(
                    f"Example {number} has the known symbol {symbol!r} at site {site}; expected None or one of its "
                    f"alphabet, {list(space.alphabets[site])!r}."
                )
        table.append([codes[site][symbol] for site, symbol in enumerate(row)])
    return torch.tensor(table, dtype=torch.long).reshape(len(table), space.sites)
