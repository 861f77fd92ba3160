"""A page: one file that holds its style and its images, and may load nothing at all.

Pages are written by the templates beside this module. Whatever they insert is escaped: it comes from a config or a file
that anybody may have written. The Python side gathers numbers and coordinates, and holds no markup.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..numbers import seconds, symbol
from .gallery import ONE_ROW, columns, moments, panels, thinned

if TYPE_CHECKING:
    from jinja2 import Environment

# Even if something slipped through the escaping, a browser would neither run nor fetch it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def render(template: str, **facts: Any) -> str:
    """A whole document."""
    return environment().get_template(template).render(facts)


@cache
def environment() -> Environment:
    """The templates, and what they may call."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_short,
    )
    made.filters |= {"seconds": seconds, "symbol": symbol}
    made.globals |= {f.__name__: f for f in (columns, moments, panels, thinned)}
    made.globals |= {"one_row": ONE_ROW, "policy": POLICY}
    return made


def _short(value: Any) -> Any:
    """Coordinates with at most two decimals, which is finer than a pixel.

    >>> _short(12.345), _short(3.0), _short("x")
    ('12.35', '3', 'x')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
