"""By which way S_y was known, and why not by another; and signs that a run did not learn."""

from __future__ import annotations

from typing import Any

from ...learner.signs import signs
from ..facts import Facts
from ..numbers import is_number, seconds


def choice(facts: Facts) -> dict[str, Any] | None:
    """The choice as a table, and what was said of the walk; None where nothing was left open."""
    kept: Any = facts.config.get("chosen")
    rows: list[list[str]] = []
    walks: list[str] = []
    for shape, one in kept.items() if isinstance(kept, dict) else ():
        if not isinstance(one, dict):
            continue
        name = [str(shape)] if len(kept) > 1 else []
        refused = one.get("refused")
        tried = [r for r in refused if isinstance(r, dict)] if isinstance(refused, list) else []
        rows += [_row(name, r, "no") for r in tried] + ([_row(name, one, "taken")] if "rung" in one else [])
        walk = one.get("walk")
        reasons = walk.get("reasons") if isinstance(walk, dict) else None
        walks += [str(reason) for reason in reasons] if isinstance(reasons, list) else []
    head = [*(["shape"] if any(len(row) > 4 for row in rows) else []), "way", "", "why", "time"]
    return {"head": head, "rows": rows, "walks": walks} if rows or walks else None


def _row(name: list[str], one: dict[str, Any], taken: str) -> list[str]:
    spent = one.get("seconds")
    return [*name, str(one.get("rung")), taken, str(one.get("reason")), seconds(spent) if is_number(spent) else "–"]  # type: ignore[arg-type]


def warned(facts: Facts) -> list[str]:
    """What is wrong with a run, in sentences."""
    return list(signs(facts.history).values())
