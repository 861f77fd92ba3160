"""Examples of chosen digits: every site shows a random image of its digit, drawn with replacement."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...data.digits import Digits
from ...data.examples import Examples
from ...errors import DataError
from ...spaces.categorical import Categorical

Codes = npt.NDArray[np.int64]
Rule = Callable[[Tensor], list[Any]]  # the answers of symbol codes [examples, sites]
LISTED = 2**20  # combinations, more of which are not listed to find those that do not occur


def shown(pool: Digits, space: Categorical, codes: Codes, answers: Rule, rng: np.random.Generator) -> Examples:
    """One example for each row of ``codes``, in a random order."""
    codes = rng.permutation(codes)
    digits = np.array(space.symbols, dtype=np.int64)[codes]
    index = np.empty_like(digits)
    for digit in np.unique(digits):
        places, wanted = np.flatnonzero(pool.labels == digit), digits == digit
        if not len(places):
            raise DataError(f"The images hold no {digit}; every digit that occurs needs at least one.")
        index[wanted] = rng.choice(places, int(wanted.sum()))
    return _examples(pool, index, codes, answers)


def every_image(pool: Digits, space: Categorical, answers: Rule, rng: np.random.Generator) -> Examples:
    """Every image of the space's symbols once, dealt out at random; at most ``sites`` − 1 are left over."""
    codes = {digit: code for code, digit in enumerate(space.symbols)}
    fits = rng.permutation(np.flatnonzero(np.isin(pool.labels, np.array(space.symbols))))
    index = fits[: len(fits) // space.sites * space.sites].reshape(-1, space.sites)
    return _examples(pool, index, np.vectorize(codes.__getitem__, otypes=[np.int64])(pool.labels[index]), answers)


def others(space: Categorical, occur: Codes) -> Codes:
    """All combinations that do not occur."""
    if space.size > LISTED:
        raise DataError(f"{space.size:,} combinations are too many to list; at most {LISTED:,} are. Use fewer sites.")
    seen = {tuple(row) for row in occur.tolist()}
    return np.array([row for row in product(*map(range, space.sizes)) if row not in seen]).reshape(-1, space.sites)


def _examples(pool: Digits, index: Codes, codes: Codes, answers: Rule) -> Examples:
    symbols = torch.from_numpy(codes)
    return Examples(torch.from_numpy(pool.images[index][:, :, None]), answers(symbols), symbols)
