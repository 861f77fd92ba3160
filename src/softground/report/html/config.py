"""What was asked for and where it ran, and every record as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .curves import Records, keys
from .markup import Child, Html, tag
from .numbers import figure, is_number
from .parts import card, table

MOST_ROWS = 200


def value(given: Any) -> str:
    """An option as it was given.

    >>> [value(v) for v in (None, True, 0.5, "exp", [1, 2])]
    ['–', 'yes', '0.5', 'exp', '[1, 2]']
    """
    match given:
        case None:
            return "–"
        case bool():
            return "yes" if given else "no"
        case float():
            return f"{given:g}"
    return str(given)


def settings(options: Mapping[str, Any], versions: Mapping[str, Any]) -> list[Html]:
    """Options, and versions and machine; options that were left to the preset are named at the end."""
    given = {name: v for name, v in options.items() if v is not None}
    left = [name for name in options if name not in given]
    rest = tag("p", "Left to the preset: ", tag("code", ", ".join(left)), class_="small") if left else None
    rows = [[tag("code", name), value(v)] for name, v in given.items()]
    found = [
        card("Options", "What was given, and the defaults.", table(["option", "value"], rows, class_="pairs"), rest)
    ]
    if versions:
        about = [[name, value(v)] for name, v in versions.items()]
        found.append(
            card("Versions and machine", "What the run was done with.", table(["what", "which"], about, class_="pairs"))
        )
    return found


def records(history: Records) -> Html:
    """All numbers behind the curves, folded away; thinned where there are very many."""
    names = [k for k in keys(history) if k != "epoch"]
    stride = -(-len(history) // MOST_ROWS)
    rows = []
    for i, record in enumerate(history, start=1):
        if (i - 1) % stride == 0 or i == len(history):
            cells: list[Child] = [
                figure(k, record[k]) if is_number(record.get(k)) else _absent(record, k) for k in names
            ]
            rows.append([i, str(record.get("stage", "")), *cells])
    note = f"Every {stride}th epoch and the last." if stride > 1 else None
    head = ["epoch", "stage", *[k.replace("_", " ") for k in names]]
    return tag(
        "details", tag("summary", "All numbers, epoch by epoch"), tag("p", note) if note else None, table(head, rows)
    )


def _absent(record: Mapping[str, Any], key: str) -> str:
    return "∞" if key == "gamma" and key in record else "–"


__all__ = ["records", "settings", "value"]
