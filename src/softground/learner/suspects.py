"""Training examples whose answer is probably wrong, as a noise level tells them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import torch

from ..constraints.answers import in_words
from ..files import cell
from ..training.starts import EMPTY, WAITING, WAITS
from ..training.step import CHAINS
from .device import everyone
from .evaluation import beliefs

if TYPE_CHECKING:
    from .learner import Learner
    from .training import Training

LIKELY = 0.5  # an answer less probably meant than this is suspect


@dataclass(frozen=True)
class Suspect:
    """An example whose answer is probably wrong."""

    example: int  # its position in the training set
    answer: str
    reading: str  # what the network reads
    gives: str  # the answer that this has, for a rule that computes answers
    meant: float  # the probability that the answer is meant


def suspects(learner: Learner) -> list[Suspect]:
    """The training examples whose answer is less probably meant than not, the least probable first."""
    own = [one for part in learner.loop.parts for one in _suspects(learner, part)]
    found = [one for each in everyone(learner.fabric, own) for one in each]
    return sorted(found, key=lambda one: (one.meant, one.example))


def _suspects(learner: Learner, part: Training) -> list[Suspect]:
    task, noise, train = part.task, part.noise, part.data
    found: list[Suspect] = []
    if noise is None:  # no stage has learnt from answers
        return found
    level = noise.at(learner.loop.progress.history)
    chains, waiting = (part.remembered(name) for name in (CHAINS, WAITING))
    for index, belief in beliefs(task.space, learner.network, train, train.known):
        z = belief.mode()
        own = None if chains is None else chains[index]
        meant = noise.meant(task, belief, part.y[index], index, level, own)
        if waiting is not None and not noise.lawful:  # then there is no chain to judge by
            meant = torch.where(waiting[index] == WAITS, 1.0, torch.where(waiting[index] == EMPTY, 0.0, meant))
        doubtful = (meant < LIKELY).nonzero().flatten()
        answers = task.computed(z[doubtful]) or [None] * len(doubtful)
        for row, reading, gives in zip(doubtful.tolist(), task.space.decode(z[doubtful]), answers, strict=True):
            answer = in_words(train.answers[int(index[row])])
            words = (answer, " ".join(map(str, reading)), "" if gives is None else str(gives))
            found.append(Suspect(train.place(int(index[row])), *words, float(meant[row])))
    return found


def written(found: Sequence[Suspect]) -> bytes:
    """Suspects as CSV."""
    text = io.StringIO()
    table = csv.DictWriter(text, [f.name for f in fields(Suspect)])
    table.writeheader()
    table.writerows({name: cell(value) for name, value in asdict(one).items()} for one in found)
    return text.getvalue().encode()
