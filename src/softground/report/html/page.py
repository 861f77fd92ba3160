"""A page: one file that holds its style and its images, and may load nothing at all."""

from __future__ import annotations

from importlib.resources import files

from .markup import Child, Html, joined, tag

# Even if something slipped through the escaping, a browser would neither run nor fetch it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(title: str, *children: Child) -> str:
    """A whole document."""
    style = Html(files(__package__).joinpath("style.css").read_text(encoding="utf-8"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    return joined(Html("<!DOCTYPE html>\n"), tag("html", head, tag("body", *children), lang="en"), "\n")


def contents(*entries: tuple[str, str]) -> Html:
    """Links to the parts of the page."""
    return tag("nav", [tag("a", name, href=f"#{anchor}") for anchor, name in entries], aria_label="Contents")


__all__ = ["contents", "page"]
