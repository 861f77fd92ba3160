"""softground: teach networks to recognise symbols from rules instead of labels.

The paper (Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023) reads in this order:

1. ``spaces/categorical.py``    symbol vectors z, and P(z|x) from the network's output
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

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .preparing import register as _register

if _TYPE_CHECKING:
    from ._public import *  # noqa: F403

__version__ = "0.4.0.dev0"

_NAMES = {  # by room; what a rule, data, a loop and an except need
    "constraints": "All AllDifferent Allowed Between CPMpy Clause Cnf Contains Count Increasing Not OneOf Program SMT "
    "Scan Sum Value",
    "data": "Anchors Examples Records handwritten",
    "dice": "seeded",
    "errors": "InfeasibleAnswer SoftgroundError",
    "estimator": "SoftGrounder",
    "inspection": "inspect",
    "inverses": "Budget",
    "layer": "GroundingLoss Posterior collate",
    "learner": "Learner Stage grounding_stages",
    "model": "load",
    "networks": "PerSite convnet default_network mlp",
    "spaces": "Categorical",
    "task": "Family Task",
}
_ROOM = {name: room for room, names in _NAMES.items() for name in names.split()}

_register(lambda: _import_module(".report.reporter", __name__).RunReporter())


def __getattr__(name: str) -> _Any:
    """Rooms and public names are imported at first use (PEP 562): the command line's help need not wait for torch."""
    if name == "__all__":
        return sorted(_ROOM)
    if name in _ROOM:
        return getattr(_import_module(f".{_ROOM[name]}", __name__), name)
    if not name.startswith("_"):
        if _find_spec(f"{__name__}.{name}") is not None:
            return _import_module(f".{name}", __name__)
        retired = _import_module(".retired", __name__)
        if name in retired.MOVED:
            return retired.moved(name)
        if instead := retired.NAMES.get(name):
            raise AttributeError(f"softground.{name} is gone. {instead}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and the rooms with further ones."""
    rooms = {room.partition(".")[0] for room in _import_module(".retired", __name__).MOVED.values()}
    return sorted({*_ROOM, *rooms, "errors", "__version__"})
