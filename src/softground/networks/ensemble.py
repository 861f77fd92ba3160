"""Several networks trained side by side, each by its own loss, and read by their mean."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from ..errors import LearnerError
from .blueprint import LAYERS


@LAYERS.register("softground.Ensemble")
class Ensemble(nn.Module):
    """A network whose P(z|x) is the mean of its members', site by site (:meth:`softground.Categorical.belief`).

    A learner adds up the members' losses, so each learns as if it were alone. They see the same batches and differ in
    their first weights and random draws. If answers allow several readings, members find different ones, and the mean
    shows the uncertainty (L. Lakshminarayanan et al., NeurIPS 2017; for shortcuts, E. Marconato
    et al., UAI 2024, who also push members apart).

    >>> Ensemble([nn.Linear(16, 10) for _ in range(3)])(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 3, 4, 10])
    """

    def __init__(self, members: Sequence[nn.Module], read: Literal["mean"] = "mean") -> None:
        super().__init__()
        if not members or read != "mean":
            raise LearnerError(
                f"An ensemble of {len(members)} members that reads by {read!r} was given; expected at least one "
                "member, and 'mean'. Train networks one by one to take the best."
            )
        self.read = read  # part of saved ensembles
        # Saved ensembles hold these too, from releases that compared members.
        self.register_buffer("losses", torch.zeros(len(members)))
        self.register_buffer("noted", torch.tensor(False))
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
                "outputs). A member cannot be an ensemble itself."
            )
        return torch.stack(outputs, 1)
