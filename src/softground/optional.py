"""Packages that only some users need are imported where they are used; without one, an error says how to get it."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import SoftgroundError


def load(module: str, purpose: str, packages: str, error: type[SoftgroundError] = SoftgroundError) -> Any:
    """The module; where it is not installed, an error that names the packages themselves.

    An extra (``softground[rules]``) would be looked up on an index that may not have this project.

    >>> load("no.such", "Learning", "such").real
    Traceback (most recent call last):
    softground.errors.SoftgroundError: Learning needs no, which is not installed: pip install such.
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        name = module.partition(".")[0]
        raise error(f"{purpose} needs {name}, which is not installed: pip install {packages}.") from missing
