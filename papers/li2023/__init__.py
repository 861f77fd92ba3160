"""Li et al., ICLR 2023: its tables, figures and claims, measured again and put beside its numbers.

    python -m papers.li2023 all --data-dir DIR

The methods that it compares itself with are in :mod:`.baselines`, which this package registers. To train and resume
them, give any of softground's commands:

    python -m papers.li2023 train hwf --preset paper --objective mapo
    python -m papers.li2023 resume runs/NAME

Every run is a *cell* with a name and a record of its own (:mod:`.cell`, :mod:`.store`); :mod:`.plan` says which there
are, :mod:`.pool` runs them, :mod:`.render` writes the page from the records alone.
"""

from . import baselines

__all__ = ["baselines"]
