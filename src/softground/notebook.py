"""What a notebook shows of the library's objects: tables of their facts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .figures import Figure
from .files import harmless


def as_html(title: str, facts: Mapping[str, object]) -> str:
    """A title, and a row for each fact that is not None.

    >>> as_html("Task", {"rule": "a < b", "network": None})
    '<b>Task</b><table><tr><th>rule</th><td>a &lt; b</td></tr></table>'
    """
    known = {name: harmless(str(fact)) for name, fact in facts.items() if fact is not None}
    rows = "".join(f"<tr><th>{escape(harmless(name))}</th><td>{escape(fact)}</td></tr>" for name, fact in known.items())
    return f"<b>{escape(harmless(title))}</b><table>{rows}</table>"


def task_facts(task: Any) -> dict[str, object]:
    """A task's facts; a family's are its shapes."""
    if not hasattr(task, "space"):
        return {"task": task}
    space = task.space
    return {
        "task": task.name,
        "sites": space.sites,
        "symbols": ", ".join(map(str, space.symbols[:20])) + " …" * (len(space.symbols) > 20)
        if space.categorical
        else None,
        "rule": type(task.constraint).__name__,
        "inverse": None if task.open else repr(task.inverse),
    }


def network_facts(network: Any) -> dict[str, object]:
    """A network's class and size."""
    return {"network": f"{type(network).__name__}, {sum(p.numel() for p in network.parameters()):,} parameters"}


class Results(dict[str, Any]):
    """Figures after each stage."""

    def _repr_html_(self) -> str:
        return "".join(as_html(f"After stage {stage}", _in_words(found)) for stage, found in self.items())


def _in_words(figures: Mapping[str, Any]) -> dict[str, object]:
    found = (Figure.parse(name, value) for name, value in figures.items())
    return {f.flat.replace("_", " "): f"{f.value:.2%}" if f.share else f.value for f in found}
