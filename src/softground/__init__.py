"""softground: teach networks to recognise symbols from rules instead of labels.

Data flows one way: a :class:`Task` bundles a **space** of symbol vectors, a **constraint** (the rule) and an
**inverse**; a **projection** and a **kernel** walk the feasible set S_y; a :class:`Learner` trains the network on
where the chains go.

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._public import *  # noqa: F403

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Public names are imported at first use (PEP 562), so that the command line's help need not wait for torch."""
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module("._public", __name__)
    try:
        return getattr(public, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*globals(), *import_module("._public", __name__).__all__]
