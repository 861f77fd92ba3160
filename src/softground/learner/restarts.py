r"""Signs that a run has failed, read off the training answers without labels; and further starts.

The scaled loss of the network's readings of the training examples,

.. math:: \ell = - \frac1n E \log \sum_{z \in S_y} \prod_i \frac{P(z_i|x)}{u(z_i)} ,

lies between that of an untrained network, :math:`-E \log |S_y| / n`, and that of a certain network that explains every
answer, −H(u). Its position between the two,

.. math:: \rho = \frac{\ell + H(u)}{H(u) - E \log |S_y| / n} ,

is near 0 after a successful run. A run has failed if ρ > 0.15, or if a symbol is read less than a fifth as often as in
uniform draws from the S_y of the training answers. The first sign finds readings that do not explain the answers, the
second finds merged symbols. Without a distribution on S_y, only the second is available. An example counts at most as
much as an uninformative one; with a noise level, it counts by the probability that its answer is correct. Examples do
not count if readings explain all but a few answers and the failures are spread evenly over the symbols: then answers or
images are bad, because a wrong reading fails on some symbols more than on others.

After a failed start, the next one begins with other weights and another way of :mod:`softground.learner.grounding`. The
start with the lowest scaled loss is kept; this loss also penalises unused symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from ..files import Json
from ..target import Target
from ..training.information import drawn_usage, left_open, spread
from ..training.scaled import divided, readings
from .evaluation import BATCH, believe, output_of
from .trained_part import TrainedPart

_Batch = tuple[Any, Tensor | None, Tensor, Tensor, Tensor]  # a belief, known symbols, answers, weights, explained
RHO, RARE = 0.15, 0.2
WRONG, EVEN = 0.35, 1.5  # the largest share of bad answers, and how evenly they are spread
MET, OFTEN = 20, 0.5  # informative examples of a symbol: the least number, the largest share of all
ROWS, SITES = 64, 2**16  # read at least this many examples, and beyond that at most this many sites
SHOWN = 6  # symbols named in a message


@dataclass(frozen=True)
class Failure:
    """A sign that a run has failed: ``"unexplained"`` answers or ``"unused"`` symbols."""

    kind: str
    figures: Mapping[str, float]
    sentence: str
    names: Sequence[str] = ()  # of the unused symbols


@dataclass(frozen=True)
class Start:
    """The outcome of one start."""

    way: str
    stage: str  # its last one
    loss: float | None  # the scaled loss; None without a distribution on S_y
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Start:
        """The start that a checkpoint holds."""
        return cls(**{**given, "failures": tuple(Failure(**each) for each in given["failures"])})


def best_of(starts: Sequence[Start]) -> Start:
    """The start with the lowest scaled loss; without a distribution on S_y, the first that has not failed."""
    return min(starts, key=lambda start: len(start.failures) if start.loss is None else start.loss)


def failures_of(starts: Sequence[Start]) -> tuple[Failure, ...]:
    """Signs of failure in the start that was kept."""
    return best_of(starts).failures if starts else ()


@torch.no_grad()
def judged(parts: Sequence[TrainedPart], history: Sequence[Json], way: str, stage: str) -> Start | None:
    """Judge a start by the training answers; None if it learnt from labels, or if its symbols are reals."""
    if not all(part.teacher.weak and part.task.space.categorical for part in parts):
        return None
    # Each process reads some of its own examples of every shape; the counts are summed over processes.
    read, total = [_Read(part, history) for part in parts], parts[0].total
    names = list(dict.fromkeys(symbol for each in read for symbol in each.task.space.symbols))
    counts = total(torch.stack([each.by_name(names) for each in read]).sum(0))
    (used, drawn), (met, missed) = counts[:2] / counts[:2].sum(1, keepdim=True).clamp(min=1e-9), counts[2:]
    failures, loss = [], None
    if rare := [str(names[at]) for at in (used < RARE * drawn).nonzero().flatten().tolist()]:
        shown = ", ".join(rare[:SHOWN]) + (" …" if len(rare) > SHOWN else "")
        said = f"The network hardly ever reads {shown}, though the answers leave room for it: symbols are merged."
        failures.append(Failure("unused", {"symbols": len(rare), "of": len(names)}, said, rare))
    if all(part.task.inverse.exact for part in parts):
        examples = total(counts.new_tensor(float(sum(len(y) for each in read for _, _, y, *_ in each.batches))))
        bad, seen = float(missed.sum() / met.sum().clamp(min=1)), met >= MET
        # Symbols in most of the examples do not show where readings fail.
        tells = bool((met <= OFTEN * examples.to(met)).all())
        spread_evenly = tells and bad <= WRONG and bool((missed[seen] <= EVEN * bad * met[seen]).all())
        shares = dict(zip(names, used.unbind(), strict=True))
        sums = total(torch.stack([each.sums(shares, spread_evenly) for each in read]).sum(0)).tolist()
        loss, nothing = (value / max(sums[2], 1e-9) for value in sums[:2])
        certain = -float(torch.special.entr(used).sum())
        rho = (loss - certain) / (nothing - certain) if nothing > certain else 0.0
        if rho > RHO:
            said = f"What is read does not explain the training answers: {1 - rho:.0%} of the way is done from nothing "
            said += "learnt to certain and correct."
            figures = {"rho": rho, "loss": loss, "certain": certain, "nothing": nothing}
            failures.append(Failure("unexplained", figures, said))
    return Start(way, stage, loss, tuple(failures))


class _Read:
    """The network's readings of some of this process's training examples.

    ``counts`` by symbol: readings, draws, examples with such a reading, and unexplained ones among them.
    """

    def __init__(self, part: TrainedPart, history: Sequence[Json]) -> None:
        data, self.task = part.data, part.task
        space, noise = self.task.space, part.noise
        self.where, self.batches = space.layout(data.device).symbols, list[_Batch]()
        self.counts = torch.zeros(4, len(space.symbols), dtype=torch.double, device=data.device)
        rows = (~part.unexplained.empty).nonzero().flatten()
        rows = rows[spread(len(rows), max(ROWS, SITES // space.sites))]
        for index, x in data.walk(list(torch.split(rows, BATCH))):
            belief = believe(space, output_of(part.network, x), data.at(index))
            y, known = part.y[index], None if data.known is None else data.known[index]
            informed = belief if known is None else belief.given(known)
            explained, weight = self.task.feasible(mode := informed.mode(), y), torch.ones(len(y), device=data.device)
            if noise is not None:
                weight = noise.meant(self.task, informed, y, index, noise.at(history))
            used, sites = readings(belief, known, self.where, len(space.symbols))
            shown = torch.zeros(len(y), len(space.symbols), device=data.device)
            shown = shown.scatter(1, self.where[torch.arange(space.sites, device=data.device), mode], 1.0)
            drawn = drawn_usage(self.task, y, known) * sites
            self.counts += torch.stack([used.double(), drawn, shown.sum(0), shown[~explained].sum(0)])
            self.batches.append((belief, known, y, weight, explained))

    def by_name(self, names: Sequence[Any]) -> Tensor:
        """The counts by the symbols' names in all parts, ``[4, names]``."""
        place = torch.tensor([names.index(symbol) for symbol in self.task.space.symbols], device=self.counts.device)
        return self.counts.new_zeros(4, len(names)).index_add(1, place, self.counts)

    def sums(self, used: Mapping[Any, Tensor], spread_evenly: bool) -> Tensor:
        """Sums of the scaled loss, −log |S_y| and the unknown sites over the examples that count."""
        shares = torch.stack([used[symbol] for symbol in self.task.space.symbols])
        total = shares.new_zeros(3)
        for belief, known, y, weight, explained in self.batches:
            scaled = divided(belief, shares, 1.0, self.where)
            scaled = scaled if known is None else scaled.given(known)
            loss = -self.task.inverse.law(Target(scaled, y, 1.0)).log_mass(quiet=True).double()
            nothing = -left_open(self.task, y, known)
            sites = torch.full_like(loss, self.task.space.sites) if known is None else (known < 0).sum(1).double()
            worth = (weight * explained if spread_evenly else weight)[:, None]
            fine = nothing.isfinite()
            total += (worth * torch.stack([torch.minimum(loss, nothing), nothing, sites], 1))[fine].sum(0)
        return total
