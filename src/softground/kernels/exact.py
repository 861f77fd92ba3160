r"""Independent draws from Q*, with an exact inverse. No chain is needed.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad w(z) = P(z|x)^{1/\gamma} .

A table or a listing costs one or two look-ups per solution, a scan one pass over its sites. The site-wise marginals
Q*_i(s) come from the same weights. With them the loss −Σ_i Σ_s Q*_i(s) log P_i(s|x) has the exact gradient, without
sampling noise; at γ = 1 it is that of the semantic loss (Proposition 2).
"""

from dataclasses import dataclass

from torch import Tensor

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

    The inverse is a table, a listing or a scan (:meth:`~softground.inverses.Inverse.law`). By default a network learns
    from Q*'s marginals, which cost little and remove the sampling noise; it then needs neither draws nor chains.
    """

    independent = True
    inverse: Inverse
    marginals: bool = True

    @property
    def walks(self) -> bool:
        return not self.marginals

    def marginals_of(self, target: Target[CategoricalBelief]) -> Tensor:
        return self.inverse.law(target).marginals()

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        law = self.inverse.law(target)
        after = law.draw(dice)
        return after, redrawn(z, after, law.marginals() if self.marginals else None)


def exact_kernel(inverse: Inverse, marginals: bool) -> Kernel:
    """The exact kernel; refuses an inverse without Q*."""
    if not inverse.exact:
        raise LearnerError(
            "The exact kernel needs an inverse that knows all of S_y, such as a table, a listing or a scan; the "
            f"inverse is {inverse!r}. Use a table, or the guided kernel."
        )
    return Exact(inverse, marginals)


@KERNELS.register("exact")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return exact_kernel(walk.inverse, marginals)
