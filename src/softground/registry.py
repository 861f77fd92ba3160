"""Registries of kernels, objectives and other parts by name, and imports of optional packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import SoftgroundError
from .retired import MEMBERS, Retired

T = TypeVar("T")


class Registry(dict[str, T]):
    """Parts of one kind by their names. Each part's own file registers it.

    >>> shapes: Registry[type] = Registry("shape")
    >>> @shapes.register("round")
    ... class Circle: ...
    >>> shapes["round"] is Circle
    True
    >>> shapes["square"]
    Traceback (most recent call last):
    softground.errors.SoftgroundError: There is no shape 'square'; there is 'round'.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def register(self, name: str) -> Callable[[T], T]:
        """Give the decorated part a name, which must be free."""

        def keep(part: T) -> T:
            if name in self:
                raise SoftgroundError(f"There is a {self.kind} {name!r} already; choose another name.")
            self[name] = part
            return part

        return keep

    def __or__(self, more: Mapping[str, T]) -> Registry[T]:  # type: ignore[override]
        """A new registry with these parts and more."""
        both: Registry[T] = Registry(self.kind)
        both.update({**self, **more})
        return both

    def __missing__(self, name: str) -> T:
        known = ", ".join(map(repr, self))
        if instead := MEMBERS.get((self.kind, name)):
            raise Retired(f"The {self.kind} {name!r} is gone. {instead}")
        raise SoftgroundError(f"There is no {self.kind} {name!r}; there is {known or 'none yet'}.")


def load(module: str, purpose: str, packages: str, error: type[SoftgroundError] = SoftgroundError) -> Any:
    """Import a module of an optional package; the error names the packages to install.

    It does not name an extra (``softground[rules]``), because the index may not have this project.

    >>> load("no.such", "Learning", "such").real
    Traceback (most recent call last):
    softground.errors.SoftgroundError: Learning needs no, which is not installed: pip install such.
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        name = module.partition(".")[0]
        raise error(f"{purpose} needs {name}, which is not installed: pip install {packages}.") from missing
