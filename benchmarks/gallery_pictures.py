"""Draw one held-out input of every example, its answer, and what the network reads after training.

    python benchmarks/gallery_pictures.py [NAME …]

Each example runs as it is, in this process; the picture shows the first input it was tested on. Pictures go into
``docs/images/gallery-NAME.svg``, where the gallery finds them.
"""

from __future__ import annotations

import argparse
import runpy
import textwrap
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

import softground as sg
from examples import TEACHES

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COLUMNS = {"receipts": 3, "grid_of_sums": 5, "magic_square": 3, "killer_sudoku": 4, "futoshiki": 4, "nonogram": 5}
SIDE, SCALE, GAP, LEVELS = 10, 3, 12, 4  # most pixels of an image, their size, the space around it, shades of ink
LINE, LETTERS = 20, 44  # height of a line of text, and its letters
STYLE = (
    "<style>text{font:15px sans-serif;fill:#222}.k{fill:#00796b}path{stroke:#222}rect{fill:#8882}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.k{fill:#4db6ac}path{stroke:#ddd}}</style>"
)
ANSWERS: dict[str, Callable[[Any], str]] = {
    "receipts": lambda cents: f"total {cents / 100:.2f}",
    "grid_of_sums": lambda sums: f"rows {_list(sums[:4])}; columns {_list(sums[4:])}",
    "killer_sudoku": lambda cages: "cages: " + ", ".join(f"{len(cells)} cells = {total}" for cells, total in cages),
    "futoshiki": lambda signs: "cells: " + ", ".join(f"{a + 1} < {b + 1}" for a, b in signs),
    "timetable": lambda tally: f"lessons that begin in hours 1 to 5: {_list(tally)}",
    "graph_colouring": lambda borders: "borders: " + ", ".join(f"{a + 1}–{b + 1}" for a, b in borders),
    "nonogram": lambda clues: f"rows {_clues(clues[:5])}; columns {_clues(clues[5:])}",
    "hierarchy": lambda holds: "the clauses hold, and one group is known",
    "tabular": lambda count: f"{count} of the five are ill",
    "instruments": lambda total: f"total {float(total[0] if isinstance(total, Sequence) else total):.1f}",
}


GROUPS = ("even", "five or more", "prime", "straight lines", "divisible by three")


def _labels(labels: Sequence[bool]) -> str:
    """The digit and its groups, of the hierarchy's fifteen labels."""
    names = [*map(str, range(10)), *GROUPS]
    return ", ".join(name for name, holds in zip(names, labels, strict=True) if holds)


def _list(values: Any) -> str:
    return ", ".join(map(str, values))


def _clues(lines: Any) -> str:
    return ", ".join(" ".join(map(str, line)) or "0" for line in lines)


class Tested:
    """The first input that an example tested on, its answer, and the reading, taken from its own calls."""

    def __init__(self) -> None:
        self.found: tuple[Any, Any, Any] | None = None
        evaluate, predict, score = sg.Learner.evaluate, sg.Learner.predict, sg.SoftGrounder.score

        def evaluated(learner: Any, data: Any, *given: Any, **named: Any) -> Any:
            part = data.parts[max(data.parts)] if hasattr(data, "parts") else data
            self.found = part.x[0], part.y[0], predict(learner, part.x[:1])[0]
            return evaluate(learner, data, *given, **named)

        def predicted(learner: Any, x: Any, *given: Any, **named: Any) -> Any:
            read = predict(learner, x, *given, **named)
            if self.found is None:
                self.found = x[0], None, read[0]
            return read

        def scored(model: Any, x: Any, y: Any, *given: Any, **named: Any) -> Any:
            self.found = x[0], y[0], model.predict(x[:1])[0]
            return score(model, x, y, *given, **named)

        self.before = evaluate, predict, score
        sg.Learner.evaluate, sg.Learner.predict, sg.SoftGrounder.score = evaluated, predicted, scored  # type: ignore

    def __enter__(self) -> Tested:
        return self

    def __exit__(self, *error: object) -> None:
        sg.Learner.evaluate, sg.Learner.predict, sg.SoftGrounder.score = self.before  # type: ignore[method-assign]


def picture(name: str, x: Tensor, y: Any, read: Sequence[Any]) -> str:
    """Images with what is read below each, and the answer; other inputs as numbers."""
    symbols = [f"{s:.2f}" if isinstance(s, float) else _symbol(s) for s in read]
    across = COLUMNS.get(name, min(len(symbols), 8))
    step = SIDE * SCALE + GAP
    if x.ndim == 3:  # one image, which all symbols are about
        parts, top = [_ink([x], [(0, 0)])], step
        symbols = [f"read: {_labels(read)}"]
    else:
        places = [(site % across * step, site // across * (step + LINE)) for site in range(len(symbols))]
        parts = [_ink(list(x), places)] if x.ndim > 3 else [_bars(v, *at) for v, at in zip(x, places, strict=True)]
        for symbol, (left, above) in zip(symbols, places, strict=True):
            middle = left + SIDE * SCALE / 2
            parts.append(f'<text class="k" x="{middle:g}" y="{above + step + 4}" text-anchor="middle">{symbol}</text>')
        top, symbols = (places[-1][1] + step + LINE), []
    told = "" if y is None else "answer: " + ANSWERS.get(name, str)(y)
    lines = [*symbols, *textwrap.wrap(told, LETTERS)]
    for number, line in enumerate(lines):
        parts.append(f'<text x="0" y="{top + LINE * (number + 1)}">{escape(line)}</text>')
    width, height = max(across * step, 330), top + LINE * len(lines) + 10
    title = f"<title>{escape(name.replace('_', ' '))}: an input, what is read (green), and the answer</title>"
    view = f'viewBox="-4 -4 {width + 8} {height}" width="{width + 8}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}>{title}{STYLE}{"".join(parts)}</svg>\n'


def _symbol(symbol: Any) -> str:
    return escape({True: "yes", False: "no"}[symbol] if isinstance(symbol, bool) else str(symbol))


def _ink(images: Sequence[Tensor], places: Sequence[tuple[float, float]]) -> str:
    """Images of one size at their places, as strokes of a few shades; all strokes of a shade are one path."""
    strokes: dict[int, list[str]] = {}
    frames, size = [], 1
    for image, (left, above) in zip(images, places, strict=True):
        pixels = image.reshape(1, *image.shape[-2:]).double()
        if max(pixels.shape[-2:]) > SIDE:
            pixels = adaptive_avg_pool2d(pixels, SIDE)
        shades = (pixels[0] / pixels.max().clamp(min=1e-9) * (LEVELS - 1)).round().long().tolist()
        size = len(shades)
        unit = SIDE * SCALE / size
        across, down = round(left / unit), round(above / unit)
        frames.append(f'<rect x="{across}" y="{down}" width="{size}" height="{size}"/>')
        for row, line in enumerate(shades):
            column = 0
            for level, run in groupby(line):
                length = len(list(run))
                if level:
                    strokes.setdefault(level, []).append(f"M{across + column} {down + row}h{length}")
                column += length
    paths = [f'<path stroke-opacity="{n / (LEVELS - 1):.1g}" d="{"".join(d)}"/>' for n, d in sorted(strokes.items())]
    middle = f'<g transform="translate(0 .5)">{"".join(paths)}</g>'
    return f'<g transform="scale({SIDE * SCALE / size:g})">{"".join(frames)}{middle}</g>'


def _bars(values: Tensor, left: float, above: float) -> str:
    """Measurements as bars, at most ten of them."""
    some = values.flatten().double()[:SIDE]
    heights = (some.abs() / some.abs().max().clamp(min=1e-9) * SIDE).tolist()
    bars = "".join(f"M{place}.5 {SIDE}v-{max(height, 0.3):.1f}" for place, height in enumerate(heights))
    return f'<g transform="translate({left:g} {above:g}) scale({SCALE})"><path d="{bars}"/></g>'


def main() -> None:
    options = argparse.ArgumentParser(description="Draw an input, its answer and the reading of every example.")
    options.add_argument("names", nargs="*", default=list(TEACHES))
    for name in options.parse_args().names:
        with Tested() as tested:
            module = runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
        assert tested.found is not None, name
        x, y, read = tested.found
        if y is None:  # an example that only predicted
            y = module["test"].y[0] if "test" in module else True
        path = IMAGES / f"gallery-{name.replace('_', '-')}.svg"
        path.write_text(picture(name, torch.as_tensor(x), y, list(read)), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
