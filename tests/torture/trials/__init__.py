"""One file a trial; each defines ``TRIAL``. Files whose name begins with an underscore are parts of others."""

from __future__ import annotations

import importlib
import pkgutil

from ..trial import Trial


def trials() -> dict[str, Trial]:
    """Every trial by its key, in the order of their rows."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = [importlib.import_module(f"{__name__}.{name}").TRIAL for name in names]
    return {trial.key: trial for trial in sorted(found, key=lambda trial: trial.row)}


__all__ = ["trials"]
