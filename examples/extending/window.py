"""Drop neighbouring sites, for rules in which neighbours compensate for each other, such as carries.

``draw`` must not look at the current state of a chain: that keeps Q* invariant.
"""

from __future__ import annotations

import torch

from softground.dice import Dice
from softground.errors import ProjectionError
from softground.projections import Dropped, Projection
from softground.spaces import Space


class Window(Projection):
    """Drop ``width`` sites in a row, the first of them drawn uniformly at every step and for every example.

    >>> import softground as sg
    >>> Window(sg.Categorical([range(10)] * 7), 3).draw(sg.dice.Sampler(0), 2, torch.device("cpu")).sites.tolist()
    [[4, 5, 6], [3, 4, 5]]
    """

    def __init__(self, space: Space, width: int) -> None:
        if not 0 < width < space.sites:
            raise ProjectionError(f"A window of {width} sites was given; expected 1 to {space.sites - 1} sites.")
        self.width, self.places = width, space.sites - width + 1

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        first = dice.categorical(torch.zeros(batch, self.places, device=device))
        return Dropped(first[:, None] + torch.arange(self.width, device=device))
