"""Facts of made-up runs, and a strict reader of pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import torch

from softground.report.facts import Facts
from softground.report.findings import Findings, Input, Matrix, Shown, png
from softground.report.html.page import SIFT, environment

VOID = {"br", "img", "meta"}
# Everything a page may be made of. No script but our own, no link, no frame, no form, no object.
ALLOWED = VOID | {
    "script",
    "html",
    "head",
    "title",
    "style",
    "body",
    "header",
    "main",
    "footer",
    "nav",
    "section",
    "article",
    "figure",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "p",
    "a",
    "b",
    "i",
    "code",
    "pre",
    "small",
    "sub",
    "sup",
    "span",
    "div",
    "details",
    "ul",
    "li",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "g",
    "text",
    "tspan",
    "line",
    "rect",
    "circle",
    "polyline",
}
ATTRIBUTES = {
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "id",
    "class",
    "style",
    "href",
    "src",
    "alt",
    "title",
    "scope",
    "tabindex",
    "role",
    "aria-label",
    "viewbox",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "width",
    "height",
    "points",
    "text-anchor",
    "fill-opacity",
}


class Page(HTMLParser):
    """A page's elements and text; refuses elements that are not closed in order, or that a page must not have."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, f"<{tag}> in a report"
        names = [name for name, _ in attrs]
        assert set(names) <= ATTRIBUTES, f"<{tag}> has {set(names) - ATTRIBUTES}"
        assert len(names) == len(set(names))
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            assert data == SIFT, "a script of somebody else's"
        elif "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All that is written, in one line."""
        return re.sub(r"\s+", " ", " ".join(self.words))

    def all(self, tag: str, kind: str | None = None) -> list[dict[str, str | None]]:
        """The attributes of every element of a name, and of a class."""
        return [a for t, a in self.elements if t == tag and (kind is None or kind in (a.get("class") or "").split())]


def drawn(template: str, macro: str, *given: Any) -> str:
    """What one macro of a template makes of something."""
    made = environment().get_template(f"{template}.html").module
    return str(getattr(made, macro)(*given))


def loads(html: str) -> list[str]:
    """Whatever a browser would fetch: sources, links elsewhere, and style that points somewhere."""
    page = Page(html)
    found = [v for _, a in page.elements for k, v in a.items() if k in ("src", "href") and v is not None]
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.S)) + "".join(
        a.get("style") or "" for _, a in page.elements
    )
    found += re.findall(r"url\(\s*['\"]?([^'\")]*)", styles) + re.findall(r"@import\s+(\S+)", styles)
    return [v for v in found if not v.startswith(("data:image/png;base64,", "#"))]


def history(stages: tuple[tuple[str, int], ...] = (("I", 6), ("II", 2)), **more: Any) -> list[dict[str, Any]]:
    """Records of a run whose γ is ∞, then falls, then is 0."""
    records: list[dict[str, Any]] = []
    for stage, epochs in stages:
        for epoch in range(epochs):
            done = len(records)
            gamma = None if done == 0 else 0.5**done if stage == "I" else 0.0
            chains = {"acceptance": 0.5, "moved": 0.9 - 0.1 * epoch, "unknown": 0.0} if stage == "I" else {"used": 0.75}
            spent = {"network": 1.0, "sampling": 0.25, "solver": 0.125, "total": 1.5}
            records.append(
                {
                    "stage": stage,
                    "epoch": epoch,
                    "gamma": gamma,
                    "loss": 0.8**done,
                    "feasible": done / 10,
                    **chains,
                    "seconds": spent,
                    "test_symbol_accuracy": done / 8,
                    **more,
                }
            )
    return records


def picture(seed: int) -> str:
    """A grey image."""
    return png(torch.randint(256, (1, 8, 8), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8))


def findings(sites: int = 5, **more: Any) -> Findings:
    """Counts and examples of a task with the digits 0 and 1, and a plus."""
    truth = ["0", "+", "1", "1", "0", "+", "1"][:sites] + ["1"] * max(0, sites - 7)
    read = ["1", *truth[1:]]
    given = Input(images=[picture(k) for k in range(sites)], ink=True)
    wrong = Shown(3, given, answer="7/2", truth=truth, predicted=read, feasible=False, gives="11/3")
    right = Shown(4, given, answer="7/2", truth=truth, predicted=truth, feasible=True)
    watched = Shown(0, given, answer="2", truth=truth, predicted=truth, grounded=read, feasible=True)
    counts = [[90, 10, 0], [0, 100, 0], [0, 0, 50]]
    matrices = [
        Matrix(rows, "predicted", data, counts) for rows, data in (("true", "held-out"), ("grounded", "training"))
    ]
    known = {
        "epochs": 8,
        "symbols": ["0", "1", "+"],
        "renamed": {},
        "held_out": 20,
        "wrong": 3,
        "lucky": 1,
        "matrices": matrices,
        "watched": [watched],
        "looked_at": [wrong, right],
    }
    return Findings(**(known | more))


def watched(sites: int = 5, epochs: int = 8) -> list[dict[str, Any]]:
    """A gallery that follows example 0."""
    records: list[dict[str, Any]] = []
    for done in range(epochs + 1):
        symbols = ["+" if done < k else "1" for k in range(sites)]
        grounded = [symbols] if 0 < done <= 6 else None
        stage = None if done == 0 else "I" if done <= 6 else "II"
        records.append(
            {"epochs": done, "stage": stage, "examples": [0], "grounded": grounded, "predicted": [["0"] * sites]}
        )
    return records


RELIABILITY: dict[str, list[Any]] = {
    "readings": [0, 0, 4, 8, 0, 20, 10, 30, 100, 1200],
    "confidence": [None, None, 0.25, 0.375, None, 0.55, 0.625, 0.75, 0.875, 0.99],
    "accuracy": [None, None, 0.5, 0.375, None, 0.25, 0.5, 0.5, 0.75, 0.98],
}


def facts(name: str = "a-run", **more: Any) -> Facts:
    """A finished run of two stages."""
    summary = {
        "task": "hwf",
        "symbol_accuracy": 0.875,
        "grounded": 1234,
        "wall_seconds": 75.0,
        "parameters": 56789,
        "before": {"symbol_accuracy": 0.125},
        "after_stage_I": {"symbol_accuracy": 0.75},
        "after_stage_II": {"symbol_accuracy": 0.875},
        "train": {"symbol_accuracy": 0.9375},
        "reliability": {"test": RELIABILITY, "ood": RELIABILITY},
        "seed": 0,
        "note": "Digits, made up.",
        "versions": {"python": "3.11", "gpu": None},
    }
    known = {
        "name": name,
        "config": {"task": "hwf", "recipe": {"preset": "paper", "schedule": None}},
        "history": history(),
        "summary": summary,
        "watched": watched(),
        "findings": findings(),
    }
    return Facts(**(known | more))
