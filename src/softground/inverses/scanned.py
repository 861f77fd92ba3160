r"""The inverse of a scan: fibres by the recursion that sums over S_y.

With the kept sites fixed and the dropped ones free, β_t(s) > 0 says whether reading can still end well from state s at
position t. Going through the sites once more, a partial completion is kept only while that holds: no dead end is ever
followed, and the work is proportional to the completions found, not to the combinations there are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..constraints.scan import Scan
from ..constraints.scan.messages import NEVER, suffix
from ..dice import Dice, Sampler
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .base import Fibre, Inverse, Start
from .default import default_inverse
from .law import Law, refuse_empty


class Scanned(Inverse):
    """Fibres, starts and most probable solutions of a :class:`~softground.constraints.Scan`.

    Parameters
    ----------
    scan
        The rule.
    cap
        Largest number of completions listed per example; a larger fibre is cut there and flagged incomplete.
    """

    exact = True

    def __init__(self, scan: Scan, *, cap: int = 100_000) -> None:
        self.scan = self.constraint = scan
        self.space: Categorical = scan.space
        self.cap = cap

    def __repr__(self) -> str:
        return f"Scanned({self.scan!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        batch, device = len(z), z.device
        tables = self.scan.tables(device)
        cues, order = tables.cues[y], tables.order
        free = torch.zeros_like(z, dtype=torch.bool).scatter(1, dropped.sites, True)
        symbols = torch.arange(self.space.width, device=device)
        # Which symbols each site may take: all of its alphabet where it is dropped, else the one it has.
        may = torch.where(free[..., None], self.space.layout(device).allowed, z[..., None] == symbols)[:, order]
        beta = suffix(tables.layers, cues, tables.accepts[y], torch.where(may, 0.0, NEVER).double())
        owner = torch.arange(batch, device=device)
        state = torch.zeros_like(owner)
        read = torch.zeros(batch, 0, dtype=torch.long, device=device)
        whole = torch.ones(batch, dtype=torch.bool, device=device)
        for t, layer in enumerate(tables.layers):
            into = layer[cues[owner, t], state]
            good = may[owner, t, : into.shape[1]] & (beta[t + 1][owner[:, None], into] > NEVER / 2)
            row, symbol = good.nonzero(as_tuple=True)
            owner, state = owner[row], into[row, symbol]
            read = torch.cat([read[row], symbol[:, None]], 1)
            if len(owner) > self.cap:
                kept, full = self._cut(owner, batch)
                whole = whole & ~full
                owner, state, read = owner[kept], state[kept], read[kept]
        values = torch.empty_like(read).index_copy_(1, order, read).gather(1, dropped.sites[owner])
        return _padded(owner, values, whole)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        uniform = self.space.uniform(len(y), y.device)
        found = torch.isfinite(self.scan.log_partition(uniform, y))
        z = self.scan.sample(uniform, y, Sampler(seed, y.device))
        return Start(torch.where(found[:, None], z, 0), found, torch.ones_like(found))

    def law(self, target: Target[CategoricalBelief]) -> Law:
        return Recursive(self.scan, target.weights, target.answers)

    def static_law(self, target: Target[CategoricalBelief]) -> bool:
        return self.scan.solvable  # else the device is asked which S_y are empty

    def _cut(self, owner: Tensor, batch: int) -> tuple[Tensor, Tensor]:
        """Which partial completions are among their example's first ``cap``, and which examples have more."""
        count = torch.bincount(owner, minlength=batch)
        place = torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner]
        return place < self.cap, count > self.cap


class Recursive(Law):
    """Q* by the scan's recursion: S_y is never listed, and its marginals are one backward pass through log Z."""

    def __init__(self, scan: Scan, weights: CategoricalBelief, y: Tensor) -> None:
        self.scan, self.weights, self.y = scan, weights, y

    def draw(self, dice: Dice) -> Tensor:
        self._refuse_empty()
        return self.scan.sample(self.weights, self.y, dice)

    def marginals(self) -> Tensor:
        with torch.enable_grad():
            scores = self.weights.scores.detach().requires_grad_()
            total = self.scan.log_partition(CategoricalBelief(self.weights.space, scores), self.y)
            (marginals,) = torch.autograd.grad(total.sum(), scores)
        self._refuse_empty(total.detach())
        return marginals

    def log_mass(self) -> Tensor:
        return self.scan.log_partition(self.weights, self.y)

    def mode(self) -> Tensor:
        self._refuse_empty()
        return self.scan.most_probable(self.weights, self.y)

    def _refuse_empty(self, total: Tensor | None = None) -> None:
        if not self.scan.solvable:
            refuse_empty(torch.isinf(self.log_mass() if total is None else total))


def _padded(owner: Tensor, values: Tensor, whole: Tensor) -> Fibre:
    """Ragged completions as one rectangle, in lexicographic order."""
    batch, width = len(whole), values.shape[1]
    for column in reversed(range(width)):  # a stable sort by the last entry first is a lexicographic sort
        turn = values[:, column].argsort(stable=True)
        owner, values = owner[turn], values[turn]
    turn = owner.argsort(stable=True)
    owner, values = owner[turn], values[turn]
    count = torch.bincount(owner, minlength=batch)
    options = max(1, int(count.max())) if batch else 1
    place = torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner]
    table = torch.zeros(batch, options, width, dtype=torch.long, device=owner.device)
    table[owner, place] = values
    mask = torch.arange(options, device=owner.device) < count[:, None]
    return Fibre(table, mask, whole)


@default_inverse.register
def _(constraint: Scan, space: Categorical) -> Scanned:
    return Scanned(constraint)
