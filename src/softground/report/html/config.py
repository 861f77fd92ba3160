"""What was asked for: every setting, by its path."""

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
DEEPEST = 12  # nesting that is shown; a forged file may hold much more


def listed(value: Any, path: Path = ()) -> Iterator[tuple[Path, str | None]]:
    """Every setting as (its path, its value); a group of settings comes before its members and has no value.

    >>> list(listed({"lr": 0.1, "stages": [{"keep": None}]}))
    [(('lr',), '0.1'), (('stages',), None), (('stages', '1'), None), (('stages', '1', 'keep'), '–')]
    """
    groups = isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value)
    members = {str(i): item for i, item in enumerate(value, start=1)} if groups else value
    if isinstance(members, Mapping) and members and len(path) < DEEPEST:
        if path:
            yield path, None
        for name, member in members.items():
            yield from listed(member, (*path, name))
    elif path:
        yield path, "…" if groups else ", ".join(map(_word, value)) if isinstance(value, list) else _word(value)


def flat(settings: Any) -> dict[str, str]:
    """Every setting by its path, without the groups.

    >>> flat({"lr": 0.1, "stages": [{"epochs": 3}]})
    {'lr': '0.1', 'stages › 1 › epochs': '3'}
    """
    return {" › ".join(path): words for path, words in listed(settings) if words is not None}


def _word(value: Any) -> str:
    """One value.

    >>> [_word(v) for v in (None, True, 0.5, "exp", {}, {"a": 1})]
    ['–', 'yes', '0.5', 'exp', '–', '…']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in (None, "", {}) else "…" if isinstance(value, Mapping) else str(value)
