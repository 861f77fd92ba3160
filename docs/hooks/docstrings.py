"""Docstrings as the API pages show them: they are written for ``help()``, and the site's parser wants a little more.

Doctests after the text get the heading that ends the list of parameters; parameters described together are told apart,
so that each has its own type; roles such as ``:class:`` become code; tables become blocks as they are written; formulas
become MathML (see ``formulas.py``).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from formulas import formula

ROLE = re.compile(r":[a-z]+:`(~?)([^`]+)`")
MATH = re.compile(r"^([ \t]*)\.\. math:: *(.*(?:\n(?:\1[ \t]+.*|[ \t]*(?=\n\1[ \t]+\S)))*)", re.M)
INLINE = re.compile(r":math:`([^`]+)`")
EXAMPLE = re.compile(r"\n\n(?=>>> )")
TABLE = re.compile(r"^=+ =+\n.*\n=+ =+\n(?:.*\n)+?=+ =+$", re.M)
TOGETHER = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", re.M)


def shown(text: str) -> str:
    """A docstring in the form that the parser reads."""
    text = INLINE.sub(lambda found: formula(found[1]), MATH.sub(_display, text))
    text = TABLE.sub(lambda table: "\n".join(f"    {line}" for line in table[0].splitlines()), text)
    text = ROLE.sub(lambda role: f"`{role[2].rsplit('.', 1)[-1] if role[1] else role[2]}`", text)
    text = TOGETHER.sub(_apart, text.replace("``", "`"))
    if text.startswith(">>> "):
        return f"Examples\n--------\n{text}"
    return EXAMPLE.sub("\n\nExamples\n--------\n", text, count=1)


def _display(found: re.Match[str]) -> str:
    return f"{found[1]}{formula(found[2], 'block')}\n"


def _apart(found: re.Match[str]) -> str:
    text = found[2].rstrip("\n")
    return "".join(f"{name}\n{text}\n" for name in found[1].split(", "))


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = shown(obj.docstring.value)
