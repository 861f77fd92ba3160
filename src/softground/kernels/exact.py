r"""Independent draws from Q* itself, where the inverse knows its law. Exact, and no chain is needed.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad w(z) = P(z|x)^{1/\gamma} .

A table or a listing costs a look-up or two per solution, a scan one pass over its sites. The site-wise marginals
Q*_i(s) come from the same weights: with them the loss −Σ_i Σ_s Q*_i(s) log P_i(s|x) has the exact gradient, at γ = 1
that of the semantic loss (Proposition 2), with no sampling noise at all.
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

    The inverse knows Q* (:meth:`~softground.inverses.Inverse.law`): a table, a listing, a scan. A network learns from
    Q*'s marginals by default, which cost little and remove the sampling noise; it then needs no draws, and no chains.
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
