r"""``sums``: recognise digits from the sum of a few of them, in rows of different lengths.

.. math:: y = z_1 + z_2 + \dots + z_n, \qquad n \text{ from the first to the last of } \texttt{digits},

a scan whose state is the sum so far: :math:`9n + 1` states, whatever :math:`10^n` is. From 86 digits on, S_y is summed
by a tree of convolutions. Every image is used once: they are shuffled and dealt out, a row of each length in turn.

**Long rows.** The sum of n digits has a spread of :math:`2.9 \sqrt n`, so at first it says little about a digit except
a mean and a variance. Neighbouring digits are then read as one, and a confident softmax does not separate them again.
A prior on how often digits are used (:mod:`softground.training.usage`) keeps them apart. The rule says little about
each of n digits, so the prior's weight is a number divided by n. Distortions make this plateau longer: rows of 100
digits can afford them and are read better with them, rows of 1,024 cannot.

With ``repeat`` images recur until there are ``train_size`` rows, as in the published sums of up to 1,024 digits: 5,000
rows to train on, 1,000 to test on. Memory holds each image once. A validation part has its own images.

Reference: S. Choi et al., CTSketch: Compositional tensor sketching for scalable neurosymbolic learning, 2025.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from ..constraints import Scan
from ..data.digits import Digits
from ..data.examples import Examples, Ragged, Split
from ..data.gathered import Gathered
from ..errors import DataError
from ..experiments.problem import TASKS
from ..files import Json
from ..metrics import accuracies
from ..spaces.categorical import Categorical
from ..task import Family, Task
from .of_digits import IMAGES_PER_BATCH, PRESETS, OfDigits, with_own_images

MOST_DIGITS = 2048
LONG = 86  # digits from which a row's sum says little about each
METRICS = partial(accuracies, name="sum_accuracy")
LEAST_BATCH = 16  # rows, however long they are
PRIOR = 16  # the prior on usage counts like this many digits
LONG_ROWS: Json = {"network": "strided", "epochs": 12, "usage": "uniform", "learning_rate": 5e-3, "restarts": 0}
UNDISTORTED = 512  # digits from which distortions hold learning up for too long; between 100 and 1,024


@TASKS.register("sums")
@dataclass(frozen=True, kw_only=True)
class Sums(OfDigits):
    """Sums of digits: recognise handwritten digits from the sums of rows of them, of one length or of several."""

    name: ClassVar[str] = "sums"

    digits: tuple[int, ...] = (2, 6)
    """The fewest and the most digits of a row; one number if all rows have that length."""
    train_size: int | None = None
    """Training rows (default: as many as the images make, each used once)."""
    test_size: int | None = None
    """Test rows (default: as many as the images make, each used once)."""
    repeat: bool = False
    """Whether images may recur, so that any number of rows can be made."""

    @property
    def lengths(self) -> range:
        """The lengths of rows."""
        first, last = min(self.digits, default=0), max(self.digits, default=0)
        if len(self.digits) not in (1, 2) or not 2 <= first <= last <= MOST_DIGITS:
            raise DataError.of(
                {"digits": list(self.digits)},
                f"expected the fewest and the most digits of a row, from 2 to {MOST_DIGITS}.",
            )
        return range(first, last + 1)

    def load(self, seed: int) -> Split:
        train, test, note, (first, second) = self.pools(seed)
        rows, tests = self._rows(train, self.train_size, first), self._rows(test, self.test_size, second, "test")
        if not self.repeat:  # held-out rows show images of their own
            return Split(rows, tests, f"{note} Every image is used once.")
        return Split(rows, tests, f"{note} Images recur.", apart=with_own_images(train, len(rows), self._rows))

    def _rows(self, pool: Digits, size: int | None, rng: np.random.Generator, kind: str = "training") -> Ragged:
        rows = deal(pool, self.lengths, rng, size if self.repeat else None)
        if size is None:
            return rows
        if not len(self.lengths) <= size <= len(rows):
            raise DataError(
                f"{size} {kind} rows were asked for; these images make {len(self.lengths)} to {len(rows):,}, and more "
                "where they may recur (repeat)."
            )
        return rows.rows(range(size))

    def task(self, inverse: str = "auto", **solver: Any) -> Family:
        return Family(sums_task, self.lengths)

    def preset(self, name: str, given: Mapping[str, object]) -> Json:
        settings = PRESETS[name] | {"batch_size": max(LEAST_BATCH, IMAGES_PER_BATCH[name] // max(self.lengths))}
        if name == "paper" or min(self.lengths) < LONG:
            return settings
        most = max(self.lengths)
        return settings | LONG_ROWS | {"usage_weight": PRIOR / most, "augment": most < UNDISTORTED}


def sums_task(digits: int) -> Task:
    """Sums of a row of digits as a task."""
    space = Categorical([range(10)] * digits)
    return Task(space, Scan(operator.add, space, vectorised=True), metrics=METRICS, name="sums")


def deal(pool: Digits, lengths: range, rng: np.random.Generator, rows: int | None = None) -> Ragged:
    """Rows of every length in turn: as many as the images make, or at least ``rows`` rows in which images recur."""
    count = len(pool.labels)
    rounds = count // sum(lengths) if rows is None else -(-rows // len(lengths))
    if rounds < 1:
        raise DataError(
            f"{count:,} images do not make a row of each length; use fewer digits, or let them recur (repeat)."
        )
    size = rounds * sum(lengths)
    order = (rng.permutation(max(size, count))[:size] % count).reshape(rounds, sum(lengths))
    images = torch.from_numpy(pool.images[:, None])
    parts, places, start = {}, {}, 0
    for turn, length in enumerate(lengths):
        index, start = order[:, start : start + length], start + length
        labels = torch.from_numpy(pool.labels[index]).long()
        x: Any = images[index] if rows is None else Gathered(images, torch.from_numpy(index))
        parts[length] = Examples(x, labels.sum(1).tolist(), labels)
        places[length] = range(turn, rounds * len(lengths), len(lengths))
    return Ragged(parts, places)
