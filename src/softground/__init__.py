"""softground: teach networks to recognise symbols from rules instead of labels.

Data flows one way: a :class:`Task` bundles a **space** of symbol vectors, a **constraint** (the rule) and an
**inverse**; a **projection** and a **kernel** walk the feasible set S_y; a :class:`Learner` trains the network on
where the chains go.

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .reporting import register

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
