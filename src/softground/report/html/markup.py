"""Markup that cannot be broken out of: whatever is not markup already is escaped on its way in.

A page is put together by :func:`tag` alone. A plain ``str`` is text, from a config or a file that anybody may have
written; only what :func:`tag` made is :class:`Html`, and passes unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"br", "img", "meta"})
SHAPES = frozenset({"circle", "line", "path", "polyline", "rect"})  # closed at once when nothing is in them


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def tag(name: str, /, *children: Child, **attributes: str | float | None) -> Html:
    """An element; children that are not markup are escaped, attributes always.

    ``class_`` stands for ``class``, other underscores for hyphens; an attribute that is None is left out. Numbers are
    written with at most two decimals, which is finer than a pixel.

    >>> tag("p", "1 < 2", tag("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    >>> tag("line", x1=0.0, x2=12.345)
    '<line x1="0" x2="12.35"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID or (name in SHAPES and not children):
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    """Children one after the other, as markup."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child))
        elif isinstance(child, int | float):
            parts.append(escape(_text(child)))
        elif child is not None:
            parts.append(joined(*child))
    return Html("".join(parts))


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


__all__ = ["Child", "Html", "joined", "tag"]
