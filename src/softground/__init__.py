"""softground: teach networks to recognise symbols from rules instead of labels.

The paper (Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023) reads in this order:

1. ``spaces/categorical.py``    what a symbol vector z is, and P(z|x) as the network's output says it
2. ``constraints/answers.py``   answers y, exact or known by a relation, as numbers
3. ``constraints/program.py``   a rule as a Python function: which z have which answer
4. ``inverses/sets.py``         S_y as a set that reduces, and Q* on it: mass, marginals, mode, draws
5. ``inverses/table.py``        S_y of a tabulated rule, and the completions of a projection
6. ``dice.py``                  every random draw
7. ``kernels/base.py``          one step of a chain; then ``exact.py``, and the paper's ``metropolis.py``
8. ``training/step.py``         one training step, of a teacher and terms
9. ``training/teachers.py``     Stage I (the softened grounding), Stage II, and labels
10. ``learner/loop.py``         Algorithm 1: stages of epochs of batches
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .preparing import register

if TYPE_CHECKING:
    from ._public import *  # noqa: F403

__version__ = "0.4.0.dev0"

register(lambda: import_module(".report.reporter", __name__).RunReporter())


def __getattr__(name: str) -> Any:
    """Rooms and public names are imported at first use (PEP 562): the command line's help need not wait for torch."""
    if not name.startswith("_") or name == "__all__":
        if find_spec(f"{__name__}.{name}") is not None:
            return import_module(f".{name}", __name__)
        public = import_module("._public", __name__)
        if hasattr(public, name):
            return getattr(public, name)
        if instead := import_module(".retired", __name__).NAMES.get(name):
            raise AttributeError(f"softground.{name} is gone. {instead}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *import_module("._public", __name__).__all__]
