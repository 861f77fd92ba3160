"""A page: one file that holds its style, its images and at most one script of ours, and may load nothing at all.

Pages are written by the templates beside this module. Whatever they insert is escaped: it comes from a config or a file
that anybody may have written. The Python side gathers numbers and coordinates, and holds no markup.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...files import harmless
from ..words import seconds, symbol
from .gallery import ONE_ROW, columns, moments, panels, thinned

if TYPE_CHECKING:
    from jinja2 import Environment

# Even if something slipped through the escaping, a browser would neither run nor fetch it: of all scripts, it runs the
# one that has this digest.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SIFT = files(__package__).joinpath("templates", "sift.js").read_text(encoding="utf-8")
SIFT_POLICY = f"{POLICY}; script-src 'sha256-{base64.b64encode(hashlib.sha256(SIFT.encode()).digest()).decode()}'"


def render(template: str, **facts: Any) -> str:
    """A whole document."""
    return environment().get_template(template).render(facts)


@cache
def environment() -> Environment:
    """The templates, and what they may call."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_short,
    )
    made.filters |= {"seconds": seconds, "symbol": symbol, "typeset": _typeset}
    made.globals |= {f.__name__: f for f in (columns, moments, panels, thinned)}
    made.globals |= {"one_row": ONE_ROW, "policy": POLICY, "sift_policy": SIFT_POLICY, "sift": Markup(SIFT)}
    return made


def _typeset(text: object) -> Any:
    """A sentence with S_y and Q* as they are printed.

    >>> str(_typeset("S_y & Q*"))
    'S<sub><i>y</i></sub> &amp; Q<sup>*</sup>'
    """
    from markupsafe import Markup, escape

    marks = {"S_y": Markup("S<sub><i>y</i></sub>"), "Q*": Markup("Q<sup>*</sup>")}
    found = escape(text)
    for word, mark in marks.items():
        found = found.replace(word, mark)
    return found


def _short(value: object) -> Any:
    """Coordinates with at most two decimals, which is finer than a pixel. Text cannot reverse what follows it.

    >>> _short(12.345), _short(3.0), _short("x")
    ('12.35', '3', 'x')
    """
    value = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
    return harmless(value) if type(value) is str else value  # none that is markup already
