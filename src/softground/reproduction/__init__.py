"""``softground reproduce``: the paper's tables, figures and claims, measured again and put beside its numbers.

Every run is a *cell* with a name and a record of its own (:mod:`.cell`, :mod:`.store`); :mod:`.plan` says which there
are, :mod:`.pool` runs them, :mod:`.render` writes the page from the records alone.
"""

from .cell import Cell, Where
from .plan import plan, select
from .pool import run_all
from .render import render
from .store import Store
from .work import run

__all__ = ["Cell", "Store", "Where", "plan", "render", "run", "run_all", "select"]
