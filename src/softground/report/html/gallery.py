"""Examples to look at: what was shown, what the network reads, and how the groundings of some came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..findings import Findings, Shown, Symbols, symbols_of
from .markup import Child, Html, tag
from .numbers import symbol
from .scatter import distances

ONE_ROW = 10  # sites up to which symbols stand in one row
MOST_MOMENTS, MOST_BOARDS = 9, 6


def columns(sites: int) -> int:
    """How many sites stand beside each other: a square is shown as a board.

    >>> columns(7), columns(16), columns(81), columns(24)
    (7, 4, 9, 10)
    """
    root = round(sites**0.5)
    return sites if sites <= ONE_ROW else root if root * root == sites else ONE_ROW


def looked_at(shown: Sequence[Shown]) -> list[Html]:
    """Held-out examples: the images, what is read in them, and what that gives."""
    return [tag("article", _head(example, "test"), _reading(example), class_=_kind(example)) for example in shown]


def followed(findings: Findings, records: Sequence[Mapping[str, Any]]) -> list[Html]:
    """Training examples through the run, a line (or a board) for each moment."""
    parts = []
    for example in findings.watched:
        story = moments(example, records)
        if example.predicted and not isinstance(example.predicted[0], str):
            body: Child = [_input(example), distances(example.truth, story)]
        elif findings.sites <= ONE_ROW:
            body = _film(example, story)
        else:
            boards = [_board(example, moment) for moment in thinned(story, MOST_BOARDS)]
            width = f"--w:{max(130, 26 * columns(findings.sites))}px"
            body = [_pictures(example), tag("div", boards, class_="boards", style=width)]
        parts.append(tag("article", _head(example, "training"), body, class_="example"))
    return parts


Moment = tuple[str, Symbols | None, Symbols | None]  # when, grounded, predicted


def moments(example: Shown, records: Sequence[Mapping[str, Any]]) -> list[Moment]:
    """An example's symbols after the epochs that were recorded; its last ones where none were."""
    story: list[Moment] = []
    for record in records:
        index = record.get("examples")
        if not isinstance(index, list) or example.example not in index:
            continue
        place = index.index(example.example)
        grounded, predicted = (_entry(record.get(name), place) for name in ("grounded", "predicted"))
        when = f"epoch {record['epochs']}" if record.get("stage") else "before"
        story.append((when, grounded, predicted))
    return story or [("at the end", example.grounded, example.predicted)]


def thinned(story: Sequence[Moment], most: int) -> list[Moment]:
    """At most ``most`` moments, the early ones closer together; the first and the last always.

    >>> [when for when, *_ in thinned([(str(k), None, None) for k in range(101)], 6)]
    ['0', '2', '5', '15', '39', '100']
    """
    last = len(story) - 1
    if last < most:
        return list(story)
    # aᵏ − 1 is convex and 0 at k = 0, so it rises by more than one wherever it is above k: no moment comes twice.
    growth = (last + 1) ** (1 / (most - 1))
    return [story[max(k, round(growth**k - 1))] for k in range(most)]


def _entry(value: Any, place: int) -> Symbols | None:
    return symbols_of(value[place]) if isinstance(value, list) and place < len(value) else None


def _head(example: Shown, data: str) -> Html:
    answer = [" · answer ", tag("b", example.answer)] if example.answer is not None else None
    return tag("header", f"{data} example {example.example + 1:,}", answer)


def _kind(example: Shown) -> str:
    return "example" if example.feasible is None else "example right" if example.feasible else "example wrong"


def _reading(example: Shown) -> list[Child]:
    """Images with the symbols read in them; a verdict in words."""
    parts: list[Child] = []
    if example.predicted and not isinstance(example.predicted[0], str):
        parts += [_input(example), distances(example.truth, [("", example.grounded, example.predicted)])]
    else:
        if not _per_site(example):
            parts.append(_input(example))
        parts.append(_sites(example, example.predicted, images=True))
    return [*parts, tag("footer", _verdict(example))]


def _verdict(example: Shown) -> list[Child]:
    if example.feasible is None:
        return []
    if example.gives is not None and example.answer is not None:
        words: list[Child] = [tag("b", f"✗ gives {example.gives}"), f", not {example.answer}"]
    else:
        words = [tag("b", "✓ explains its answer" if example.feasible else "✗ does not explain its answer")]
    truth, predicted = example.truth, example.predicted
    if truth and predicted and isinstance(predicted[0], str):
        count = sum(a != b for a, b in zip(truth, predicted, strict=False))
        words.append(f" · {count} of {len(truth)} symbols wrong" if count else None)
    return words


def _per_site(example: Shown) -> bool:
    return bool(example.predicted) and len(example.input.images) == len(example.predicted or [])


def _input(example: Shown) -> Child:
    if example.input.images:
        return tag("div", [_image(example, k) for k in range(len(example.input.images))], class_="whole")
    words = example.input.text
    return tag("pre", words) if "\n" in words else tag("p", words, class_="words") if words else None


def _image(example: Shown, place: int) -> Html:
    source = f"data:image/png;base64,{example.input.images[place]}"
    return tag("img", src=source, alt=f"input {place + 1}", class_="ink" if example.input.ink else None)


def _sites(example: Shown, main: Symbols | None, small: Symbols | None = None, images: bool = False) -> Html:
    """A symbol a site, wrong ones marked; ``small`` beside it where it differs."""
    cells = []
    for site, word in enumerate(main or []):
        true = example.truth[site] if example.truth and site < len(example.truth) else None
        wrong = true is not None and true != word
        image = _image(example, site) if images and _per_site(example) else None
        note = None
        if small and site < len(small) and small[site] != word:
            note = tag("small", symbol(str(small[site])), class_="bad" if true not in (None, small[site]) else None)
        correction = tag("small", f"is {symbol(str(true))}") if images and wrong else None
        cells.append(
            tag("span", image, tag("span", symbol(str(word)), note), correction, class_="cell bad" if wrong else "cell")
        )
    return tag("div", cells, class_="sites", style=f"--n:{columns(len(cells) or 1)}")


def _pictures(example: Shown) -> Child:
    if not _per_site(example):
        return _input(example)
    cells = [tag("span", _image(example, k), class_="cell") for k in range(len(example.input.images))]
    return tag("div", cells, class_="sites pictures", style=f"--n:{columns(len(cells))}")


def _film(example: Shown, story: Sequence[Moment]) -> list[Child]:
    """Images on top, and below them a line of symbols for each moment."""
    rows: list[Child] = [tag("span"), _pictures(example)] if _per_site(example) else []
    for when, grounded, predicted in thinned(story, MOST_MOMENTS):
        rows += [tag("span", when, class_="when"), _moment(example, grounded, predicted)]
    if example.truth:
        rows += [tag("span", "truth", class_="when"), _sites(example, example.truth)]
    return [None if _per_site(example) else _input(example), tag("div", rows, class_="film")]


def _board(example: Shown, moment: Moment) -> Html:
    when, grounded, predicted = moment
    return tag("div", tag("span", when, class_="when"), _moment(example, grounded, predicted))


def _moment(example: Shown, grounded: Symbols | None, predicted: Symbols | None) -> Html:
    """The grounding with the prediction beside it; where there is no chain, the prediction alone."""
    if grounded is None:
        return tag("div", _sites(example, predicted), class_="alone")
    return _sites(example, grounded, predicted)


__all__ = ["columns", "followed", "looked_at", "moments", "thinned"]
