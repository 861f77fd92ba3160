r"""Independent draws from Q* itself, where the inverse knows its law. Exact, and no chain is needed.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad w(z) = P(z|x)^{1/\gamma} .

A table or a listing costs a look-up or two per solution, a scan one pass over its sites. The site-wise marginals
Q*_i(s) come from the same weights: with them the loss −Σ_i Σ_s Q*_i(s) log P_i(s|x) has the exact gradient, at γ = 1
that of the semantic loss (Proposition 2), with no sampling noise at all.
"""

from dataclasses import dataclass, replace

from torch import Tensor

from ..beside import beside
from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Inverse
from ..projections.base import Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, redrawn


@dataclass(frozen=True)
class Exact(Kernel):
    """Target Q*; each step is an independent draw from it, whatever the chain's state.

    The inverse knows Q* (:meth:`~softground.inverses.Inverse.law`): a table, a listing, a scan. Steps report Q*'s
    marginals by default, which cost little and remove the sampling noise. The loss then needs no draws; without
    ``draws`` the chains stay at the states they began with. A ``late`` draw goes :func:`~softground.beside.beside` the
    marginals in a GPU's recording, and may not be there yet when a step returns; for callers that read it beside too.
    """

    independent = True
    inverse: Inverse
    marginals: bool = True
    draws: bool = True
    late: bool = False

    def __post_init__(self) -> None:
        if not (self.marginals or self.draws):
            raise LearnerError("Exact was told to give neither marginals nor draws; it must give one of them.")

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        law = self.inverse.law(target)
        if self.late and self.draws and self.marginals:
            with beside(target, z, law):
                after = law.draw(dice)
                told = redrawn(z, after, None)
            return after, replace(told, marginals=law.marginals())
        if self.draws and self.marginals:
            after, marginals = law.draw_with_marginals(dice)
            return after, redrawn(z, after, marginals)
        after = law.draw(dice) if self.draws else z
        return after, redrawn(z, after, law.marginals() if self.marginals else None)

    def static(self, target: Target[CategoricalBelief]) -> bool:
        return self.inverse.static_law(target)


def exact_kernel(inverse: Inverse, marginals: bool) -> Kernel:
    """The exact kernel, where the inverse knows Q*."""
    if not inverse.exact:
        raise LearnerError(
            "The exact kernel needs an inverse that knows all of S_y, such as a table, a listing or a scan; the "
            f"inverse is {inverse!r}. Use a table, or the guided kernel."
        )
    return Exact(inverse, marginals)


@KERNELS.register("exact")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return exact_kernel(walk.inverse, marginals)
