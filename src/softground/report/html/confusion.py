"""Confusion matrices: one row per symbol, shaded by the share of the row, mistakes in a colour of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Matrix
from .markup import Html, tag
from .numbers import symbol
from .parts import card
from .svg import WIDTH, drawing, text

MOST_SYMBOLS = 32  # beyond this a cell is smaller than a finger and a letter
TOP, MOST_LEFT, CHARACTER = 42, 96, 7
NUMBERS_TO = 16  # symbols up to which shares are written into the cells


LEDES = {
    ("true", "predicted"): "What the network reads where the row's symbol stands.",
    (
        "grounded",
        "predicted",
    ): "Where the chain says the row's symbol, what the network reads. No label is needed for this one.",
    ("true", "grounded"): "What the chains say where the row's symbol stands.",
}


def confusions(matrices: Sequence[Matrix], symbols: Sequence[str]) -> list[Html]:
    """A card per matrix."""
    return [_card(matrix, symbols) for matrix in matrices]


def _card(matrix: Matrix, symbols: Sequence[str]) -> Html:
    total = sum(map(sum, matrix.counts))
    same = sum(matrix.counts[i][i] for i in range(len(symbols)))
    share = f"{same / total:.2%}" if total else "–"
    lede = f"{LEDES.get((matrix.rows, matrix.columns), '')} {share} of {total:,} symbols lie on the diagonal."
    picture = draw(matrix, symbols) if len(symbols) <= MOST_SYMBOLS else None
    return card(
        f"{matrix.rows.capitalize()} against {matrix.columns}, {matrix.data}", lede, picture, worst(matrix, symbols)
    )


def draw(matrix: Matrix, symbols: Sequence[str]) -> Html:
    """The matrix as squares; an empty cell is not drawn."""
    names = [symbol(name) for name in symbols]
    left = min(MOST_LEFT, 20 + CHARACTER * max(map(len, names)))
    size = min(44.0, (WIDTH - left) / len(names))
    width, height = left + size * len(names), TOP + size * len(names)
    small = f"font-size:{min(12.0, size):.1f}px"
    parts = [
        text(0, 12, f"{matrix.rows} ↓  {matrix.columns} →", class_="axis"),
        tag("rect", x=left, y=TOP, width=size * len(names), height=size * len(names), class_="field"),
    ]
    for i, name in enumerate(names):
        middle = (i + 0.5) * size
        across, down = name[: max(1, int(size / CHARACTER))], name[: int(left / CHARACTER)]
        parts.append(tag("text", across, x=left + middle, y=TOP - 8, text_anchor="middle", style=small))
        parts.append(tag("text", down, x=left - 8, y=TOP + middle + 4, text_anchor="end", style=small))
    for i, row in enumerate(matrix.counts):
        for j, count in enumerate(row):
            if count:
                place = left + j * size, TOP + i * size
                parts.append(_cell(matrix, names, (i, j), place, size, count / sum(row)))
    label = f"Confusion matrix of {matrix.rows} against {matrix.columns} symbols, {matrix.data}"
    widest = f"max-width:{1.3 * width:.0f}px"  # a small matrix is not blown up to the card's width
    return tag("div", drawing(width, height, parts, label=label), class_="matrix", style=widest)


def _cell(
    matrix: Matrix, names: Sequence[str], at: tuple[int, int], place: tuple[float, float], size: float, share: float
) -> Html:
    (i, j), (x, y) = at, place
    # The root lifts rare confusions above the threshold of the eye; on the diagonal nothing is rare.
    strength = share if i == j else max(0.12, share**0.5)
    words = f"{matrix.rows} {names[i]}, {matrix.columns} {names[j]}: {matrix.counts[i][j]:,} ({share:.1%} of the row)"
    box = tag(
        "rect",
        tag("title", words),
        x=x + 0.5,
        y=y + 0.5,
        width=size - 1,
        height=size - 1,
        rx=2,
        class_="same" if i == j else "other",
        fill_opacity=strength,
    )
    if len(names) > NUMBERS_TO or share < 0.0095:
        return box
    kind = "count on" if strength > 0.6 else "count"
    return tag("g", box, text(x + size / 2, y + size / 2 + 4, f"{100 * share:.0f}", class_=kind, anchor="middle"))


def worst(matrix: Matrix, symbols: Sequence[str], most: int = 5) -> Html:
    """The most frequent confusions in words."""
    found = [(count, i, j) for i, row in enumerate(matrix.counts) for j, count in enumerate(row) if i != j and count]
    if not found:
        return tag("p", "No confusion at all.", class_="small")
    found.sort(key=lambda entry: (-entry[0], entry[1:]))
    names = [
        tag("span", tag("b", symbol(symbols[i])), " → ", tag("b", symbol(symbols[j]), class_="wrong"), f" {count:,}×")
        for count, i, j in found[:most]
    ]
    rest = sum(count for count, *_ in found[most:])
    return tag("p", "Most frequent: ", names, f"and {rest:,} others" if rest else None, class_="small pairs")


__all__ = ["confusions", "draw", "worst"]
