"""Formulas as MathML, which every browser draws: made when the site is built, so that reading it needs no script.

TeX stands between dollars, ``$…$`` in a line and ``$$…$$`` by itself, as GitHub shows it too. The notation that pages
use in running text, S_y, Q\\* and P(z|x), is typeset where it stands, so that the sources read well as they are.
Code and headings are left alone.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(^```.*?^```[ \t]*$|`[^`\n]+`|^(?: {4,}|#)[^\n]*$)", re.M | re.S)
DOLLARS = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)", re.S)
NOTATION = re.compile(r"\bS_(?:y|True|False|\d+)\b|\bQ\\?\*|\bP\(z\\?\|x(?:, y)?\)(?:\^[({]1/γ[)}])?")
# What Markdown would take for its own inside the markup.
ESCAPED = str.maketrans({"*": "&#42;", "_": "&#95;", "|": "&#124;", "`": "&#96;", "\\": "&#92;", "\n": " "})


def typeset(text: str) -> str:
    """Markdown with its formulas as MathML."""
    parts = CODE.split(text)
    return "".join(part if place % 2 else _typeset(part) for place, part in enumerate(parts))


def formula(tex: str, display: str = "inline") -> str:
    """TeX as MathML in one line, safe inside Markdown."""
    return convert(tex.strip(), display=display).translate(ESCAPED)


def _typeset(text: str) -> str:
    found = DOLLARS.split(text)
    for place in range(0, len(found), 3):  # text, then display or inline formula, in turn
        found[place] = NOTATION.sub(lambda word: formula(_tex(word[0])), found[place])
    for place in range(1, len(found), 3):
        found[place] = formula(found[place], "block") if found[place] else ""
        found[place + 1] = formula(found[place + 1]) if found[place + 1] else ""
    return "".join(found)


def _tex(words: str) -> str:
    """Running text as TeX."""
    words = (
        re.sub(r"S_(\w+)", lambda word: rf"S_{{{_upright(word[1])}}}", words).replace(r"\*", "*").replace("Q*", "Q^*")
    )
    return re.sub(r"\^[({]1/γ[)}]", r"^{1/\\gamma}", words.replace(r"\|", "|"))


def _upright(index: str) -> str:
    return index if len(index) == 1 or index.isdigit() else rf"\mathrm{{{index}}}"
