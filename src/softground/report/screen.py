"""The end of a run on the terminal: examples as they were read before and after training, figures, verdict, next steps.

Images are drawn in half blocks where the terminal can show them. Without a terminal, with ``NO_COLOR``, in an ASCII
locale and below 60 columns there are words only.
"""

from __future__ import annotations

import base64
import io
import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from ..files import harmless
from .facts import Facts
from .findings import Shown, Symbols
from .html.gallery import moments
from .html.run import headline
from .words import is_number, seconds, symbol

NARROW = 60  # columns, below which there are no images
SIDE = 8  # pixels of an image's sides, which are columns and half lines
EXAMPLES, LABEL = 2, 8  # examples shown, and columns before their images
COMMANDS = {
    "open": ("softground open {run}", "watch it, and test your own drawings"),
    "predict": ("softground predict {run} IMAGES", "read your images"),
    "new": ("softground new-task NAME", "write your own rule"),
    "inspect": ("softground inspect {task}", "see what the answers can tell"),
    "longer": ("softground train {task} --like {run} --epochs {more}", "train longer"),
    "label": ("softground train {task} --like {run} --anchors 1", "label one image of each symbol"),
    "distort": ("softground train {task} --like {run} --augment", "train on distorted images"),
    "again": ("softground train {task} --like {run}", "train it to its end"),
    "evaluate": ("softground evaluate {run}", "measure it"),
}
STEPS = {
    "learnt": ("open", "predict", "new"),
    "learnt_up_to_renaming": ("inspect", "label", "open"),
    "partly": ("open", "longer", "inspect"),
    "not_learnt": ("inspect", "label", "open"),
    "collapsed": ("inspect", "label", "open"),
    "memorised": ("distort", "inspect", "open"),
    "stopped": ("again", "open", "evaluate"),
    "unknown": ("open", "evaluate"),
}


def last_screen(console: Console, facts: Facts, path: Path) -> None:
    """Print it."""
    plain = not console.is_terminal or console.width < NARROW or "NO_COLOR" in os.environ or _ascii(console)
    for example in _chosen(facts):
        console.print()
        for line in _words(example, facts) if plain else _pictured(example, facts, console.width):
            console.print(line, soft_wrap=plain)
    console.print()
    figures = _figures(facts)
    whole = "   ".join(figures)
    for each in (*([whole] if len(whole) <= console.width else figures), _verdict(facts)):
        console.print(Text(harmless(each)), style="" if plain else "bold", soft_wrap=not console.is_terminal)
    console.print()
    found = steps(facts, path)
    longest = max(len(command) for command, _ in found)
    for command, words in found:
        long = console.is_terminal and longest + len(words) + 3 > console.width
        console.print(Text(f"{command}\n  {words}" if long else f"{command:<{longest}}   {words}"), soft_wrap=True)


def steps(facts: Facts, path: Path) -> list[tuple[str, str]]:
    """The next commands, which depend on the kind of the verdict. Rules without a name have only those on the run."""
    verdict, named = facts.summary.get("verdict"), isinstance(facts.config.get("recipe"), dict)
    kind = str(verdict.get("kind")) if isinstance(verdict, dict) else ""
    known = {"run": shlex.quote(str(path)), "task": facts.task, "more": 3 * max(1, len(facts.history))}
    found = [COMMANDS[name] for name in STEPS.get(kind, STEPS["unknown"])]
    return [(harmless(c.format(**known)), words) for c, words in found if named or "{task}" not in c]


def _ascii(console: Console) -> bool:
    try:
        "▀÷".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _chosen(facts: Facts) -> list[Shown]:
    """Examples to show: training examples that were followed, those with an image at each site first."""
    found = [each for each in facts.findings.watched if each.predicted and not each.real] if facts.findings else []
    return sorted(found, key=lambda each: not each.pictured)[:EXAMPLES]


def _read(example: Shown, facts: Facts) -> tuple[Symbols | None, Symbols, str]:
    """An example's symbols before training and now, and whether they are correct."""
    story = moments(example, facts.watched)
    before = story[0][2] if story[0][0] == "before" else None
    if example.truth is not None:
        return before, example.predicted or [], "correct" if not example.wrong_symbols else "wrong"
    return before, example.predicted or [], "explains its answer" if example.feasible else "does not explain its answer"


def _words(example: Shown, facts: Facts) -> Iterator[Text]:
    before, now, how = _read(example, facts)
    yield Text(f"Example {example.example + 1}, answer {harmless(example.answer or 'unknown')}")
    if before:
        yield Text(f"  before: {_joined(before)}")
    yield Text(f"  now:    {_joined(now)}  ({how})")


def _joined(symbols: Symbols) -> str:
    return harmless(" ".join(map(str, symbols)))


def _pictured(example: Shown, facts: Facts, width: int) -> Iterator[Text]:
    """The images in one row, and below each what it was read as."""
    before, now, how = _read(example, facts)
    if not example.pictured or LABEL + len(now) * (SIDE + 1) > width:
        yield from _words(example, facts)
        return
    images: list[list[list[int]]] = []
    with suppress(Exception):  # a file of anyone's may hold anything; the words suffice
        images = [_pixels(image, example.input.ink) for image in example.input.images]
    for top in range(0, SIDE if images else 0, 2):
        line = Text(" " * LABEL)
        for image in images:
            for over, under in zip(image[top], image[top + 1], strict=True):
                line.append("▀", Style(color=_grey(over), bgcolor=_grey(under)))
            line.append(" ")
        yield line
    answer = f"= {harmless(example.answer)}   " if example.answer else ""
    for label, symbols, more in (("before", before, ""), ("now", now, f"{answer}{how}")):
        if symbols:
            cells = "".join(symbol(str(each))[:SIDE].center(SIDE) + " " for each in symbols)
            text = Text(f"{label:<{LABEL}}{cells}", no_wrap=True)
            if more and LABEL + len(cells) + len(more) > width:
                yield text
                text = Text(" " * LABEL)
            yield text.append(more, "green" if how in ("correct", "explains its answer") else "red") if more else text


def _pixels(image: str, ink: bool) -> list[list[int]]:
    """Brightness of a small copy of an image, with bright ink."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(image)), formats=["PNG"]) as opened:
        small = opened.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    values = [255 - value if ink else value for value in small.tobytes()]
    return [values[row * SIDE : (row + 1) * SIDE] for row in range(SIDE)]


def _grey(value: int) -> str:
    return f"#{value:02x}{value:02x}{value:02x}"


def _figures(facts: Facts) -> list[str]:
    """At most three figures, with chance beside them."""
    return [f"{name} {value}" + f" ({below})" * bool(below) for name, value, below in headline(facts)]


def _verdict(facts: Facts) -> str:
    verdict, spent = facts.summary.get("verdict"), facts.summary.get("wall_seconds")
    sentence = verdict.get("sentence") if isinstance(verdict, dict) else ""
    return f"{sentence}  {seconds(spent)} of training." if is_number(spent) else str(sentence)  # type: ignore[arg-type]
