"""Several networks that are trained side by side, each by its own loss; together they read by their mean."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..errors import LearnerError
from .blueprint import LAYERS


@LAYERS.register("softground.Ensemble")
class Ensemble(nn.Module):
    """P(z|x) as the mean of its members' (:mod:`softground.spaces.mixture`, with equal weights).

    A learner adds up the losses of the members, so that each learns as it would alone. They see the same batches, and
    differ in their first weights and in what they draw. Where answers leave several readings, members find different
    ones, and their mean says how sure one can be (L. Lakshminarayanan et al., NeurIPS 2017; for shortcuts, E. Marconato
    et al., UAI 2024, who also push members apart).

    >>> Ensemble([nn.Linear(16, 10) for _ in range(3)])(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 3, 4, 10])
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        if not members:
            raise LearnerError("An ensemble of 0 members was given; expected at least one.")
        for number, member in enumerate(members):
            self.add_module(str(number), member)

    @property
    def members(self) -> tuple[nn.Module, ...]:
        """The networks."""
        return tuple(self.children())

    def forward(self, x: Tensor) -> Tensor:
        outputs = [member(x) for member in self.members]
        if outputs[0].dim() != 3:
            raise LearnerError(
                f"Members of an ensemble gave outputs of shape {tuple(outputs[0].shape)}; expected (batch, sites, "
                "outputs). A member cannot be a mixture or an ensemble itself."
            )
        return torch.stack(outputs, 1)
