r"""Several networks that are trained side by side, each by its own loss, and read by their mean.

**Scouts** are linear readings of the raw input that compete before the network learns; it begins with the best one:

.. math:: \mathrm{logits}(x) = f_\theta(x) + W_{k^*} \bar x, \qquad
          k^* = \arg\min_k \ell(W_k \bar x) \text{ after a short stage in which the } W_k \text{ alone are trained.}

Which of the readings that explain the answers a network finds is decided early, when its features tell apart only what
the answers tell apart: symbols with the same part in the rule are merged then, and no later loss parts them. Pixels
tell more symbols apart than untrained features do. A linear reading has little else to learn, costs next to nothing,
and which one it finds depends on its first weights. Many are tried, and the loss, with a prior on how often symbols
are used (:mod:`softground.training.usage`), says which is one-to-one. The network, whose last layer begins at 0,
then begins with the best one's reading and learns the rest. No label is looked at.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from ..errors import LearnerError
from .blueprint import LAYERS

MOMENTUM = 0.02  # of the running means of losses
GAIN, SOFT = 3.0, 0.1  # the norm of an input; the variance below which a pixel counts less
APART = 8.0  # by how much first weights exceed torch's own: the farther apart, the more different readings are found


class Several(nn.Module):
    """Readings that learn side by side, each by its own loss; the one whose training loss is lowest is the best."""

    losses: Tensor
    noted: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("losses", torch.zeros(count))
        self.register_buffer("noted", torch.tensor(False))

    def note(self, losses: Tensor) -> None:
        """Take a batch's losses of the readings into their running means."""
        losses = losses.to(self.losses)
        self.losses.copy_(torch.where(self.noted, self.losses.lerp(losses, MOMENTUM), losses))
        self.noted.fill_(True)

    def best(self, every: Tensor) -> Tensor:
        """What the best reading says, out of ``every[batch, count, …]``."""
        return every.index_select(1, self.losses.argmin()[None]).squeeze(1)


@LAYERS.register("softground.Ensemble")
class Ensemble(Several):
    """P(z|x) as the mean of its members', taken site by site (:meth:`softground.Categorical.belief`).

    A learner adds up the losses of the members, so that each learns as it would alone. They see the same batches, and
    differ in their first weights and in what they draw. Where answers leave several readings, members find different
    ones, and their mean says how sure one can be (L. Lakshminarayanan et al., NeurIPS 2017; for shortcuts, E. Marconato
    et al., UAI 2024, who also push members apart).

    >>> Ensemble([nn.Linear(16, 10) for _ in range(3)])(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 3, 4, 10])
    """

    def __init__(self, members: Sequence[nn.Module], read: Literal["mean"] = "mean") -> None:
        super().__init__(len(members))
        if not members or read != "mean":
            raise LearnerError(
                f"An ensemble of {len(members)} members that reads by {read!r} was given; expected at least one "
                "member, and 'mean'. Train networks one by one to take the best."
            )
        self.read = read  # saved ensembles name it
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


@LAYERS.register("softground.Scouted")
class Scouted(Several):
    """A network from ``[batch, sites, …]`` to ``[batch, sites, outputs]`` with ``scouts`` linear readings of a site.

    ``inputs`` is the size of a site's input. While ``scouting``, which a learner sets in its first stage, training sees
    the scouts alone, as members of an ensemble.

    >>> network = Scouted(nn.Linear(16, 10), scouts=3, inputs=16, outputs=10)
    >>> network(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 4, 10])
    """

    scouting = False

    def __init__(self, network: nn.Module, scouts: int, inputs: int, outputs: int) -> None:
        super().__init__(scouts)
        self.network, self.scouts, self.inputs, self.outputs = network, scouts, inputs, outputs
        self.centred = nn.BatchNorm1d(inputs, eps=SOFT, affine=False)
        self.linear = nn.Linear(inputs, scouts * outputs)
        with torch.no_grad():
            self.linear.weight.mul_(APART)
            for last in [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1:]:
                for weights in last.parameters():
                    weights.zero_()

    def forward(self, x: Tensor) -> Tensor:
        shape = x.shape[:2]
        pixels = x.flatten(2).flatten(0, 1)
        pixels = pixels if pixels.is_floating_point() else pixels.to(self.linear.weight.dtype) / 255
        seen = self.centred(pixels) * (GAIN / math.sqrt(self.inputs))
        every: Tensor = self.linear(seen).view(*shape, self.scouts, self.outputs).transpose(1, 2)
        if self.training and self.scouting:
            idle = torch.stack([weights.sum() for weights in self.network.parameters()]).sum()
            return every + 0 * idle  # several processes want a gradient of every weight
        scores: Tensor = self.network(x)
        return scores + self.best(every)
