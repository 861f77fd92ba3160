"""Draw the pictures of docs/what_can_y_tell.md from the maps that the search finds.

    python benchmarks/shortcut_pictures.py

``docs/images/shortcuts-pairs.svg``: the pairs of MNIST-EvenOdd that occur. ``docs/images/shortcuts-maps.svg``: all maps
of digits that explain their sums, one panel each, by what they make of 0 and of 1.
"""

from __future__ import annotations

import re
from pathlib import Path

from softground import Task
from softground.inspection.maps import MapSearch
from softground.inspection.support import declared
from softground.tasks import TASKS
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
STYLE = re.search(r" *<style>.*?</style>\n", (IMAGES / "scan.svg").read_text(encoding="utf-8"), re.S)[0]  # type: ignore[index]
CELL, STEP, MARGIN = 34, 6, 46  # of a pair; of a digit in a panel; around the picture


def maps() -> list[tuple[int, ...]]:
    """The maps that explain the sums of EvenOdd's pairs, as the images of 0 … 9."""
    problem = TASKS["evenodd"]()
    task = problem.task()
    assert isinstance(task, Task)
    support = declared(task, problem.support(), take(task, [6, 10, 12], 3, 0, TimeLimit()))
    return sorted(MapSearch(task, support, TimeLimit()).search(one_to_one=False).maps())


def pairs_picture() -> str:
    """A grid of all pairs, with the sums of those that occur."""
    problem = TASKS["evenodd"]()
    support = problem.support()
    assert support is not None
    occur = {(a, b): a + b for a, b in support.tolist()}
    parts = []
    for a in range(10):
        middle = MARGIN + CELL * a + CELL / 2
        parts += [_text(middle, MARGIN - 12, a, "mid"), _text(MARGIN - 18, middle + 5, a, "mid")]
        for b in range(10):
            x, y = MARGIN + CELL * b, MARGIN + CELL * a
            kind = "box" if (a, b) in occur and a % 2 == 0 else "soft" if (a, b) in occur else "thin"
            parts.append(
                f'<rect class="{kind}" x="{x + 2}" y="{y + 2}" width="{CELL - 4}" height="{CELL - 4}" rx="4"/>'
            )
            if (a, b) in occur:
                parts.append(_text(x + CELL / 2, y + CELL / 2 + 5, occur[a, b], "mid"))
    size = 2 * MARGIN + 10 * CELL
    words = (
        "Sixteen of the hundred ordered pairs occur, even digits with even ones and odd with odd, with sums 6, 10, 12."
    )
    return _svg(size, size - 20, "The pairs of MNIST-EvenOdd that occur", words, parts)


def maps_picture() -> str:
    """A panel for each map: the digit shown from left to right, the digit read upwards."""
    found = maps()
    evens, odds = sorted({f[0] for f in found}), sorted({f[1] for f in found})
    side = 10 * STEP + 18
    parts = [
        _text(MARGIN + side * len(evens) / 2, 22, "0 is read as", "mid"),
        _text(10, 40, "1 is", ""),
        _text(10, 58, "read as", ""),
    ]
    for column, zero in enumerate(evens):
        parts.append(_text(MARGIN + 24 + side * column + side / 2, 44, zero, "mid"))
    for row, one in enumerate(odds):
        parts.append(_text(34, 56 + side * row + side / 2, one, "mid"))
    for f in found:
        x, y = MARGIN + 24 + side * evens.index(f[0]), 52 + side * odds.index(f[1])
        right, distinct = f == tuple(range(10)), len(set(f)) == 10
        kind = "box" if right else "soft" if distinct else "thin"
        parts.append(f'<rect class="{kind}" x="{x + 3}" y="{y + 3}" width="{side - 6}" height="{side - 6}" rx="5"/>')
        for digit, image in enumerate(f):
            colour = "dot" if image == digit else "spot" if distinct else "head"
            at = f'cx="{x + 12 + STEP * digit}" cy="{y + side - 12 - STEP * image}"'
            parts.append(f'<circle class="{colour}" {at} r="2.2"/>')
    width, height = MARGIN + 40 + side * len(evens), 66 + side * len(odds)
    words = (
        f"{len(found)} panels, one for each map of digits that explains every sum: the digit shown runs to the right, "
        "the digit read upwards. Two are one-to-one: the true map, and d + 5 modulo 10. A label for an even digit "
        "leaves one column, a label for an odd digit one row."
    )
    return _svg(width, height, "The 36 readings that explain every sum of MNIST-EvenOdd", words, parts)


def _text(x: float, y: float, words: object, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{words}</text>'


def _svg(width: float, height: float, title: str, words: str, parts: list[str]) -> str:
    ground = f'<rect class="ground" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="10"/>'
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
    body = "\n".join(f"  {part}" for part in [ground, *parts])
    labels = f'  <title id="t">{title}</title>\n  <desc id="d">{words}</desc>\n'
    return f'{head} role="img" aria-labelledby="t d">\n{labels}{STYLE}{body}\n</svg>\n'


PICTURES = {"shortcuts-pairs.svg": pairs_picture, "shortcuts-maps.svg": maps_picture}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")
