"""Pieces that every section is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .markup import Child, Html, tag


def section(anchor: str, heading: str, lede: str, *children: Child) -> Html:
    """A part of the page with a heading and one sentence on how it is read."""
    return tag("section", tag("h2", heading), tag("p", lede, class_="lede"), *children, id=anchor)


def card(heading: str, lede: str | None, *children: Child, class_: str = "card") -> Html:
    """A box with a heading, a line on how to read it, and a picture."""
    return tag(
        "figure", tag("figcaption", tag("h3", heading), tag("p", lede) if lede else None), *children, class_=class_
    )


def cards(*children: Child, class_: str = "cards") -> Html:
    """Cards beside each other where there is room."""
    return tag("div", *children, class_=class_)


def table(head: Sequence[Child], rows: Iterable[Sequence[Child]], class_: str | None = None) -> Html:
    """A table whose first column names the row; it scrolls by itself where it is too wide."""
    top = tag("tr", [tag("th", cell, scope="col") for cell in head])
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    return tag("div", tag("table", tag("thead", top), tag("tbody", body), class_=class_), class_="scroll", tabindex=0)


def key(*entries: tuple[str, str]) -> Html:
    """What colours mean, where they cannot be written beside their shapes: (class, name) pairs."""
    return tag("p", [tag("span", tag("i", class_=f"swatch {kind}"), name) for kind, name in entries], class_="key")


__all__ = ["card", "cards", "key", "section", "table"]
