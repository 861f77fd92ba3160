"""``evenodd`` and ``half``: sums of two digits, of which only a few pairs occur.

The pairs that occur leave other readings of the digits that explain every sum. EvenOdd: 36 of them, two one-to-one,
d and d + 5 (mod 10); a label for one even and one odd digit leaves one. Half: three of them (six with ten outputs), of
which the true one alone is one-to-one.

For every pair that occurs there are 420 training, 120 validation and 60 test examples; the other pairs, 60 of each from
the test images, are out of distribution (``ood``), and those of them whose sum was seen in training are ``seen_sums``.
``images`` holds every test image of these digits once. ``mixed`` is another test of EvenOdd, Soft-PNet's: 960 examples,
uniform over the 50 pairs of an even and an odd digit.

References: S. Bortolotti et al., rsbench, NeurIPS 2024; E. Marconato et al., BEARS, UAI 2024; Soft-PNet,
arXiv 2609.12247 (``mixed``, and the 16 pairs as knowledge of the rule).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..constraints import Program
from ..data.digits import Digits, divide_digits
from ..data.examples import Examples, Split
from ..errors import DataError
from ..experiments.problem import TASKS
from ..files import Json
from ..metrics import share
from ..spaces.categorical import Categorical
from ..task import Task
from .of_digits import PRESETS, OfDigits

EACH = {"train": 420, "validation": 120, "test": 60}  # examples of every pair
MIXED = 960
PAIRS = {
    "evenodd": [(0, 6), (1, 5), (2, 8), (4, 6), (3, 7), (1, 9), (4, 8), (3, 9)],
    "half": [(0, 0), (0, 1), (2, 3), (2, 4)],
}
Codes = npt.NDArray[np.int64]
Rule = Callable[[Tensor], list[Any]]  # the answers of symbol codes [examples, sites]
LISTED = 2**20  # most combinations that are listed to find those that do not occur


@dataclass(frozen=True, kw_only=True)
class Pairs(OfDigits):
    """Sums of two digits, of which only some pairs occur."""

    train_size: int | None = None
    """Training pairs, at random (default: all, 420 of each that occurs)."""
    known_pairs: bool = False
    """Restrict the rule to the pairs that occur, as Soft-PNet does."""

    @property
    def values(self) -> range:
        """The digits that the network can output."""
        return range(10)

    @property
    def digits(self) -> range:
        """The digits that occur."""
        return range(10)

    def support(self) -> Tensor:
        return torch.tensor(sorted({p for a, b in PAIRS[self.name] for p in ((a, b), (b, a))}))

    def load(self, seed: int) -> Split:
        seen, unseen, note, rng = self.pools(seed, 6)
        space, occur = Categorical([self.digits] * 2), self.support().numpy()
        rest = others(space, occur)

        def part(pool: Any, codes: Codes, each: int, chance: np.random.Generator) -> Examples:
            return shown(pool, space, codes.repeat(each, 0), sums, chance)

        def training(pool: object, chance: np.random.Generator) -> Examples:
            train = part(pool, occur, EACH["train"], chance)
            if self.train_size is None:
                return train
            if not 1 <= self.train_size <= len(train):
                raise DataError(
                    f"{self.train_size} training pairs were asked for; there are 1 to {len(train):,}, "
                    f"{EACH['train']} of each pair that occurs."
                )
            return train.subset(self.train_size)

        def apart(share: float, chance: int) -> tuple[Examples, Examples]:
            (kept, one), (held, two) = divide_digits(seen, share, chance)
            return training(kept, one), part(held, occur, EACH["validation"], two)

        ood = part(unseen, rest, EACH["test"], rng[3])
        known = {int(total) for total in occur.sum(1)}
        more = {"ood": ood, "seen_sums": ood.rows([row for row, total in enumerate(ood.y) if total in known])}
        more |= self.further(unseen, space, rng[4]) | {"images": every_image(unseen, space, sums, rng[5])}
        test, validation = part(unseen, occur, EACH["test"], rng[2]), part(seen, occur, EACH["validation"], rng[1])
        note = f"{note} Images are drawn with replacement."
        return Split(training(seen, rng[0]), test, note, validation, more, apart)

    def further(self, pool: object, space: Categorical, rng: np.random.Generator) -> dict[str, Examples]:
        """Further test sets of one of the tasks."""
        return {}

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        space = Categorical([self.values] * 2)
        known = torch.zeros(len(self.values), len(self.values), dtype=torch.bool)
        known[tuple(self.support().T)] = True

        def total(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
            return a + b, known.to(a.device)[a, b] if self.known_pairs else torch.ones_like(a, dtype=torch.bool)

        return Task(space, Program(total, space, vectorised=True, partial=True), metrics=self.metrics, name=self.name)

    def metrics(self, predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """Shares of correct sums and digits, whether or not the rule knows the pairs."""
        if symbols is None:
            return {"sum_accuracy": share(feasible)}
        right = predicted.sum(1) == symbols.sum(1)
        return {"sum_accuracy": share(right), "symbol_accuracy": share(predicted == symbols)}

    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        return PRESETS[name] | {"batch_size": 64}


@TASKS.register("evenodd")
@dataclass(frozen=True, kw_only=True)
class EvenOdd(Pairs):
    """MNIST-EvenOdd: sums of two even or two odd digits, 16 pairs of which occur; 36 readings explain them."""

    name: ClassVar[str] = "evenodd"

    def further(self, pool: Any, space: Categorical, rng: np.random.Generator) -> dict[str, Examples]:
        pairs = np.array([pair for pair in product(range(10), repeat=2) if sum(pair) % 2])
        return {"mixed": shown(pool, space, rng.choice(pairs, MIXED), sums, rng)}

    def metrics(self, predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """Without labels nothing tells d from d + 5; ``up_to_shift_accuracy`` takes the better of the two."""
        found = super().metrics(predicted, feasible, symbols)
        if symbols is not None:
            shifted = share((predicted + 5) % 10 == symbols)
            found["up_to_shift_accuracy"] = max(found["symbol_accuracy"], shifted)
        return found


@TASKS.register("half")
@dataclass(frozen=True, kw_only=True)
class Half(Pairs):
    """MNIST-Half: sums of two digits from 0 to 4, seven pairs of which occur; three readings explain them."""

    name: ClassVar[str] = "half"

    outputs: Literal[5, 10] = 5
    """How many digits the network can output: 0 … 4 as the reference networks do, or all ten."""

    @property
    def values(self) -> range:
        return range(self.outputs)

    @property
    def digits(self) -> range:
        return range(5)


def sums(codes: Tensor) -> list[int]:
    """The sum of each pair."""
    total: list[int] = codes.sum(1).tolist()
    return total


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
    """The combinations that do not occur."""
    if space.size > LISTED:
        raise DataError(f"{space.size:,} combinations are too many to list; at most {LISTED:,} are. Use fewer sites.")
    seen = {tuple(row) for row in occur.tolist()}
    return np.array([row for row in product(*map(range, space.sizes)) if row not in seen]).reshape(-1, space.sites)


def _examples(pool: Digits, index: Codes, codes: Codes, answers: Rule) -> Examples:
    symbols = torch.from_numpy(codes)
    return Examples(torch.from_numpy(pool.images[index][:, :, None]), answers(symbols), symbols)
