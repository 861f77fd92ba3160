r"""Signs that a run has failed, read off the training answers without labels; and further starts.

The scaled loss of what the network reads in the training examples,

.. math:: \ell = - \frac1n E \log \sum_{z \in S_y} \prod_i \frac{P(z_i|x)}{u(z_i)} ,

lies between that of a network that has learnt nothing, :math:`-E \log |S_y| / n`, and that of one which is certain and
explains every answer, −H(u). Where it stands between the two,

.. math:: \rho = \frac{\ell + H(u)}{H(u) - E \log |S_y| / n} ,

is near 0 after a run that went well. A run has failed where ρ > 0.15, or where a symbol is read less than a fifth as
often as uniform draws from the S_y of the training answers use it. The first finds readings that do not explain the
answers; the second those that do, but merge symbols. Both are needed. Without a law of S_y there is the second alone.
An example counts at most as much as one of which nothing is learnt; with a noise level, by the probability that its
answer is meant. Where readings explain all but a few answers, and these are spread evenly over the symbols read, it is
answers or images that are bad, and those examples do not count: a wrong reading fails on some symbols more than others.

After a start that has failed the next one begins with other weights, in another of the ways of
:mod:`softground.learner.grounding`. The start with the lowest scaled loss is kept, which counts symbols in use too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from ..files import Json
from ..target import Target
from ..training.information import drawn_usage, left_open, spread
from ..training.scaled import divided, readings
from ..training.usage import columns
from .evaluation import BATCH, believe, output_of
from .trained_part import TrainedPart

RHO, RARE = 0.15, 0.2
WRONG, EVEN, MET = 0.35, 1.5, 20  # most answers that may be bad, how evenly, and examples of a symbol that tell
ROWS, SITES = 64, 2**16  # examples that are read at least, and sites at most beyond that
SHOWN = 6  # symbols in a sentence


@dataclass(frozen=True)
class Failure:
    """A sign that a run has failed: ``"unexplained"`` answers or ``"unused"`` symbols."""

    kind: str
    figures: Mapping[str, float]
    sentence: str


@dataclass(frozen=True)
class Start:
    """What became of one start."""

    way: str
    stage: str  # its last one
    loss: float | None  # the scaled loss; None without a law
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Start:
        """The start that a checkpoint holds."""
        return cls(**{**given, "failures": tuple(Failure(**each) for each in given["failures"])})


def best_of(starts: Sequence[Start]) -> Start:
    """The start whose scaled loss is lowest; without a law, the first that has not failed."""
    return min(starts, key=lambda start: len(start.failures) if start.loss is None else start.loss)


def failures_of(starts: Sequence[Start]) -> tuple[Failure, ...]:
    """The signs that the start which is kept has failed."""
    return best_of(starts).failures if starts else ()


@torch.no_grad()
def judged(parts: Sequence[TrainedPart], history: Sequence[Json], way: str, stage: str) -> Start | None:
    """How a start has ended, by the training answers; None if it learnt from labels, or what are no symbols."""
    if not all(part.teacher.weak and part.task.space.categorical for part in parts):
        return None
    found, total = [_Read(part, history) for part in parts], parts[0].total
    # Each process has read some of its own examples, of every shape; together they have read enough.
    names = list(dict.fromkeys(symbol for each in found for symbol in each.space.symbols))
    used, drawn = (
        total(torch.stack([each.spread_out(kind, names) for each in found]).sum(0)) for kind in ("used", "drawn")
    )
    used, drawn = used / used.sum().clamp(min=1e-9), drawn / drawn.sum().clamp(min=1e-9)
    failures = []
    if bool((rare := used < RARE * drawn).any()):
        symbols = [str(names[at]) for at in rare.nonzero().flatten().tolist()]
        shown = ", ".join(symbols[:SHOWN]) + (" …" if len(symbols) > SHOWN else "")
        failures.append(
            Failure(
                "unused",
                {"symbols": len(symbols), "of": len(names)},
                f"The network hardly ever reads {shown}, though the answers leave room for it: symbols are merged.",
            )
        )
    loss = None
    if all(each.task.inverse.exact for each in found):
        met, missed = (
            total(torch.stack([each.spread_out(kind, names) for each in found]).sum(0)) for kind in ("met", "missed")
        )
        bad, seen = float(missed.sum() / met.sum().clamp(min=1)), met >= MET
        if bad <= WRONG and bool((missed[seen] <= EVEN * bad * met[seen]).all()):
            for each in found:
                each.weights = each.weights * each.explained
        shares = {name: used[at] for at, name in enumerate(names)}
        sums = total(torch.stack([each.sums(shares) for each in found]).sum(0))
        whole, left, sites = sums.tolist()
        certain, nothing = float(torch.special.entr(used).sum()), -left / max(sites, 1e-9)
        loss = whole / max(sites, 1e-9)
        rho = (loss + certain) / (nothing + certain) if nothing + certain > 0 else 0.0
        if rho > RHO:
            failures.append(
                Failure(
                    "unexplained",
                    {"rho": rho, "loss": loss, "certain": -certain, "nothing": nothing},
                    "What the network reads does not explain the training answers well enough: of the way from "
                    f"nothing learnt to certain and correct {1 - rho:.0%} is done.",
                )
            )
    return Start(way, stage, loss, tuple(failures))


class _Read:
    """What the network reads in some training examples of a part, those that this process owns."""

    def __init__(self, part: TrainedPart, history: Sequence[Json]) -> None:
        data, self.task, self.space = part.data, part.task, part.task.space
        rows = (~part.unexplained.empty).nonzero().flatten()
        rows = rows[spread(len(rows), max(ROWS, SITES // self.space.sites))]
        beliefs, self.weights = [], torch.ones(len(rows), dtype=torch.double, device=rows.device)
        for index, x in data.walk(list(torch.split(rows, BATCH))):
            beliefs.append(believe(self.space, output_of(part.network, x), data.at(index)))
        self.beliefs, self.y = beliefs, part.y[rows]
        self.known = None if data.known is None else data.known[rows]
        self.where = columns(self.space).to(rows.device)
        if part.noise is not None and part.noise.lawful:
            level, start = part.noise.at(history), 0
            for belief in self.given(beliefs):
                own = slice(start, start := start + len(belief))
                self.weights[own] = part.noise.meant(self.task, belief, self.y[own], rows[own], level, None)
        mode = torch.cat([belief.mode() for belief in self.given(beliefs)])
        self.explained = self.task.feasible(mode, self.y)
        shown = torch.zeros(len(mode), len(self.space.symbols), dtype=torch.double, device=rows.device)
        shown = shown.scatter(1, self.where[torch.arange(self.space.sites, device=rows.device), mode], 1.0)
        self.met, self.missed = shown.sum(0), shown[~self.explained].sum(0)
        each = [
            readings(belief, known, self.where, len(self.space.symbols))
            for belief, known in zip(beliefs, self.split(), strict=True)
        ]
        self.used = sum((total for total, _ in each), torch.zeros(len(self.space.symbols), device=rows.device)).double()
        self.sites = sum(float(count) for _, count in each)
        self.drawn = drawn_usage(self.task, self.y, self.known) * self.sites

    def split(self) -> list[Tensor | None]:
        """The known symbols of each batch."""
        if self.known is None:
            return [None] * len(self.beliefs)
        return list(torch.split(self.known, [len(belief) for belief in self.beliefs]))

    def given(self, beliefs: Sequence[Any]) -> Iterator[Any]:
        """Beliefs given the known symbols."""
        for belief, known in zip(beliefs, self.split(), strict=True):
            yield belief if known is None else belief.given(known)

    def spread_out(self, kind: str, names: Sequence[Any]) -> Tensor:
        """How often symbols are used or drawn, by their names in all parts."""
        own: Tensor = getattr(self, kind)
        place = torch.tensor([names.index(symbol) for symbol in self.space.symbols], device=own.device)
        return own.new_zeros(len(names)).index_add(0, place, own)

    def sums(self, used: Mapping[Any, Tensor]) -> Tensor:
        """The scaled loss, log |S_y| and the unknown sites, each added up over the examples."""
        shares = torch.stack([used[symbol] for symbol in self.space.symbols])
        scaled = self.given([divided(belief, shares, 1.0, self.where) for belief in self.beliefs])
        each = torch.split(self.y, [len(belief) for belief in self.beliefs])
        mass = torch.cat(
            [self.task.inverse.law(Target(belief, y, 1.0)).log_mass() for belief, y in zip(scaled, each, strict=True)]
        )
        left = left_open(self.task, self.y, self.known)
        sites = torch.full_like(left, self.space.sites) if self.known is None else (self.known < 0).sum(1).double()
        fine, worth = left.isfinite(), self.weights[:, None]
        return (worth[fine] * torch.stack([torch.minimum(-mass.double(), -left), left, sites], 1)[fine]).sum(0)
