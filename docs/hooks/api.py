"""The sections of the API page: one for each room, with the names that it offers, read from the sources.

A name that ``softground`` itself exports stands there as ``softground.NAME``; the others as ``softground.ROOM.NAME``.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src" / "softground"
MARK = "<!-- api -->"
ROOMS = {
    "task": "Tasks",
    "layer": "In your own loop",
    "data": "Data",
    "spaces": "Symbols",
    "constraints": "Rules",
    "reals": "Real numbers",
    "inverses": "Feasible sets",
    "projections": "Projections",
    "kernels": "Kernels",
    "schedules": "Schedules",
    "training": "Objectives and loss terms",
    "learner": "Training",
    "estimator": "The estimator",
    "networks": "Networks",
    "model": "Models",
    "metrics": "Figures",
    "inspection": "Inspection",
    "walks": "The choice of a walk",
    "experiments": "Runs by name",
    "tasks": "Ready-made tasks",
    "target": "Target",
    "dice": "Random draws",
    "errors": "Errors",
}


def sections() -> str:
    """Headings and entries for every room, as mkdocstrings reads them."""
    own = exported()
    parts = []
    for room, title in ROOMS.items():
        names = [*own.get(room, []), *(name for name in offered(room) if name not in own.get(room, []))]
        entries = [f"::: softground.{'' if name in own.get(room, []) else f'{room}.'}{name}" for name in names]
        parts.append("\n\n".join([f"## {title}: `{room}`", *entries]))
    return "\n\n".join(parts)


def exported() -> dict[str, list[str]]:
    """The names of ``softground`` itself, by the room that has them."""
    return {room: names.split() for room, names in _assigned(SOURCE / "__init__.py", "_NAMES").items()}


def offered(room: str) -> list[str]:
    """``__all__`` of a room, or the public classes and functions of a room that is one file."""
    if (SOURCE / room).is_dir():
        return list(_assigned(SOURCE / room / "__init__.py", "__all__"))
    body = ast.parse((SOURCE / f"{room}.py").read_text(encoding="utf-8")).body
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [node.name for node in body if isinstance(node, kinds) and node.name[0] != "_" and ast.get_docstring(node)]


def _assigned(path: Path, name: str) -> Any:
    """The literal that a file assigns to a name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise LookupError(f"{path} does not assign {name}")
