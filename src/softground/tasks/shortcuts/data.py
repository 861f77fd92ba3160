"""Examples of chosen digits: every site shows a random image of its digit, drawn with replacement."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...data.digits import load_digits, put_away
from ...data.examples import Examples, Split
from ...data.idx import Digits
from ...errors import DataError
from ...spaces.categorical import Categorical

Codes = npt.NDArray[np.int64]
Rule = Callable[[Tensor], list[Any]]  # the answers of symbol codes [examples, sites]
VALIDATION = 0.2  # of the training rows, so many more to validate on
LISTED = 2**20  # combinations, more of which are not listed to find those that do not occur


def rows_of_digits(problem: Any, rule: Any, drawn: Callable[..., Codes], seed: int) -> Split:
    """Training, validation and test rows of a problem that says which of them are ``occurring``, or draws them.

    Rows that do not occur, where there are such, are the further test set ``ood``. Training and validation rows are
    drawn from the same images, unless a share of them is put away.
    """
    if problem.train_size < 1:
        raise DataError(f"train_size is {problem.train_size}; give a positive number of examples.")
    seen, unseen, note = load_digits(problem.data, problem.data_dir)
    occur = problem.support()
    rngs = [np.random.default_rng(chance) for chance in np.random.SeedSequence(seed).spawn(4)]

    def part(pool: Digits, share: float, rng: np.random.Generator, rows: Codes | None) -> Examples:
        count = max(1, round(share * problem.train_size))
        codes = drawn(count, rng) if rows is None else evenly(rows, count, rng)
        return shown(pool, rule.space, codes, rule.compute, rng)

    own = None if occur is None else occur.numpy()
    train, validation, test = (
        part(pool, share, rng, own)
        for rng, (pool, share) in zip(rngs, [(seen, 1.0), (seen, VALIDATION), (unseen, 0.3)], strict=False)
    )
    more = {} if own is None else {"ood": part(unseen, 0.3, rngs[3], others(rule.space, own))}

    def apart(share: float, chance: int) -> tuple[Examples, Examples]:
        (kept, one), (held, two) = put_away(seen, share, chance)
        return part(kept, 1.0, one, own), part(held, VALIDATION, two, own)

    return Split(train, test, f"{note} Images are drawn with replacement.", validation, more, apart)


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


def evenly(codes: Codes, count: int, rng: np.random.Generator) -> Codes:
    """So many rows: each of ``codes`` equally often, up to one, at random."""
    return np.tile(rng.permutation(codes), (-(-count // len(codes)), 1))[:count]


def combinations(space: Categorical, given: Sequence[str]) -> Codes:
    """Combinations written as words with one digit for each site, as codes.

    >>> combinations(Categorical([range(3)] * 4), ["0120", "2101"]).tolist()
    [[0, 1, 2, 0], [2, 1, 0, 1]]
    """
    names = [str(symbol) for symbol in space.symbols]
    for word in given:
        if len(word) != space.sites or not set(word) <= set(names):
            raise DataError(
                f"The combination {word!r} was given; expected {space.sites} digits, each of {', '.join(names)}."
            )
    if len(set(given)) < len(given):
        raise DataError(f"The combinations {' '.join(given)} were given, some of them twice; give each once.")
    return np.array([[names.index(digit) for digit in word] for word in given]).reshape(-1, space.sites)


def _examples(pool: Digits, index: Codes, codes: Codes, answers: Rule) -> Examples:
    symbols = torch.from_numpy(codes)
    return Examples(torch.from_numpy(pool.images[index][:, :, None]), answers(symbols), symbols)
