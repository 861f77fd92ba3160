"""Run what ``make demo`` runs, and draw it: what the network is told, and how it comes to read.

    python benchmarks/demo.py [--draw]

The record is ``benchmarks/results/demo.json``, the picture ``docs/images/demo.svg``; ``--draw`` only draws.
"""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from provenance import provenance, read_page

from softground.report.words import symbol

ROOT = Path(__file__).resolve().parent.parent
RECORD, PICTURE = ROOT / "benchmarks" / "results" / "demo.json", ROOT / "docs" / "images" / "demo.svg"
DEMO = ["train", "hwf", "--data", "digits", "--preset", "best", "--image-size", "8", "--epochs", "6"]
STYLE = re.search(r" *<style>.*?</style>\n", (ROOT / "docs" / "images" / "scan.svg").read_text(), re.S)[0]  # type: ignore[index]
LEVELS = 8  # of grey
CELL, LEFT, TOP = 42, 84, 46  # a symbol's width; where the first stands


def measure() -> dict[str, Any]:
    """The run: figures epoch by epoch, and some held-out and training examples."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "softground", *DEMO, "--quiet", "--out", f"{place}/run"], check=True)
        run = Path(place) / "run"
        config, summary, found = (json.loads((run / f"{n}.json").read_text()) for n in ("config", "summary", "report"))
        history = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        story = [json.loads(line) for line in (run / "gallery.jsonl").read_text().splitlines()]
    figures = [config["before"], *({k.removeprefix("test_"): v for k, v in epoch.items()} for epoch in history)]
    examples = [
        {"value": one["answer"], "pixels": [greys(image) for image in one["input"]["images"]]}
        | {"read": [record["predicted"][place] for record in story]}
        for place, one in enumerate(found["watched"])
    ]
    names = ("symbol_accuracy", "calculation_accuracy")
    return {
        "runs": {
            "demo": {"figures": {name: [epoch[name] for epoch in figures] for name in names}, "examples": examples}
            | {"seconds": summary["wall_seconds"], "recipe": config["recipe"]}
            | provenance()
        }
    }


def greys(image: str) -> list[str]:
    """A picture's rows, a digit a pixel: 0 is paper."""
    seen = Image.open(io.BytesIO(base64.b64decode(image))).convert("L")
    pixels = [(255 - v) * (LEVELS - 1) // 255 for v in seen.tobytes()]
    return ["".join(map(str, pixels[k : k + seen.width])) for k in range(0, len(pixels), seen.width)]


def picture(run: dict[str, Any]) -> str:
    """Two training examples with what is read in them, and the curves."""
    epochs, parts = (0, 1, 2, 3, 6), []
    for row, example in enumerate(run["examples"][:2]):
        y = TOP + 176 * row
        parts += [text(LEFT - 10, y + 26, "x", "end hand"), strip(example["pixels"], y)]
        parts += [text(LEFT + 7 * CELL + 8, y + 26, f"y = {example['value']}")]
        for line, epoch in enumerate(epochs):
            at = y + 58 + 21 * line
            parts.append(text(LEFT - 10, at, f"epoch {epoch}" if epoch else "untrained", "small end"))
            for site, word in enumerate(example["read"][epoch]):
                kind = "mid" if word == example["read"][-1][site] else "mid late"
                parts.append(text(LEFT + CELL * (site + 0.5), at, symbol(word), kind))
    x0, x1, y0, y1 = 530, 712, TOP + 296, TOP + 34
    for share in (0, 0.5, 1):
        y = y0 + share * (y1 - y0)
        parts += [f'<path class="thin" d="M{x0} {y:.0f}H{x1}"/>', text(x0 - 6, y + 4, f"{share:.0%}", "small end")]
    steps = len(run["figures"]["symbol_accuracy"]) - 1
    for (name, values), kind in zip(run["figures"].items(), ("line", "dash"), strict=True):
        points = " ".join(f"{x0 + k / steps * (x1 - x0):.1f},{y0 + v * (y1 - y0):.1f}" for k, v in enumerate(values))
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
        words = f"{name.removesuffix('_accuracy').replace('calculation', 'formula')}s {values[-1]:.1%}"
        parts.append(
            text((x0 + x1) / 2, TOP - 4 + 18 * (kind == "dash"), ("—  " if kind == "line" else "- -  ") + words, "mid")
        )
    parts += [text(x0 + k / steps * (x1 - x0), y0 + 18, str(k), "small mid") for k in (0, steps)]
    parts.append(text((x0 + x1) / 2, y0 + 18, "epoch", "small mid"))
    parts.append(text(LEFT, 22, "Told: images x and the value y of each formula. Read:"))
    parts.append(text((x0 + x1) / 2, 22, "Held-out, read right:", "mid"))
    title = "What make demo does"
    told = (
        "Two training formulas with their values, what the network reads in them epoch by epoch (coloured where it is "
        "another symbol in the end), and the shares of held-out symbols and formulas that are read right."
    )
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 392" width="740" height="392" role="img" '
        f'aria-labelledby="t d">\n  <title id="t">{title}</title>\n  <desc id="d">{told}</desc>\n'
    )
    more = "    .ink { fill: #2b2f36; } .late { fill: #b8862f; }\n"
    dark = "    @media (prefers-color-scheme: dark) { .ink { fill: #e6e8eb; } .late { fill: #d9ab5c; } }\n"
    style = STYLE.replace("  </style>", f"{more}{dark}  </style>")
    ground = '  <rect class="ground" x="0.5" y="0.5" width="739" height="391" rx="8"/>\n'
    return head + style + ground + "".join(f"  {part}\n" for part in parts) + "</svg>\n"


def strip(images: list[list[str]], y: float) -> str:
    """Images side by side: a path for each level of grey."""
    paths: dict[str, list[str]] = {}
    for site, image in enumerate(images):
        size = (CELL - 4) / len(image)
        for row, pixels in enumerate(image):
            for column, level in enumerate(pixels):
                x = LEFT + CELL * site + 2 + size * column
                paths.setdefault(level, []).append(f"M{x:.4g} {y + size * row:.4g}h{size:.3g}v{size:.3g}h-{size:.3g}z")
    return "".join(
        f'<path class="ink" fill-opacity="{int(level) / (LEVELS - 1):.2f}" d="{"".join(squares)}"/>'
        for level, squares in sorted(paths.items())
        if level != "0"
    )


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Words at a place."""
    return f'<text class="{kind}" x="{x:.4g}" y="{y:.4g}">{words}</text>'


def main() -> None:
    """Measure unless told otherwise, and draw."""
    if "--draw" not in sys.argv:
        RECORD.write_text(json.dumps(measure(), ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(read_page(RECORD)["runs"]["demo"]), encoding="utf-8")


if __name__ == "__main__":
    main()
