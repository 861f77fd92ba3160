"""The end of a run on the terminal, at the widths terminals have."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from report_cases import facts
from softground.report.facts import Facts
from softground.report.findings import Findings, Input, Shown, png
from softground.report.screen import STEPS, last_screen, steps

RUN = Path("runs/a run")
HEADLINE = [
    {"name": "held-out answers explained", "value": 0.978, "chance": 0.001},
    {"name": "held-out symbols correct", "value": 0.997, "chance": 1 / 13},
    {"name": "symbols in use", "value": 12, "of": 13},
]


def finished(kind: str = "learnt", sites: int = 3) -> Facts:
    """A run whose network reads one example as it should."""
    known = facts()
    dot = torch.zeros(1, 8, 8, dtype=torch.uint8)
    dot[0, 3, 4] = 255
    picture = Input(images=[png(255 - dot)] * sites, ink=True)
    now = (["4", "/", "2"] * sites)[:sites]
    example = Shown(0, picture, "2", now, now, now, True)
    story = [{"epochs": 0, "stage": None, "examples": [0], "grounded": None, "predicted": [["9"] * sites]}]
    findings = replace(known.findings or Findings(1, [], {}, [], 0, 0, 0, [], []), watched=[example])
    verdict = {"kind": kind, "sentence": "A sentence.", "checked_on": "held-out answers"}
    summary = {"verdict": verdict, "headline": HEADLINE, "wall_seconds": 15.0}
    return replace(known, findings=findings, watched=story, summary=summary, config={"task": "hwf", "recipe": {}})


def printed(found: Facts, width: int = 80, terminal: bool = True, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    last_screen(Console(file=file, width=width, force_terminal=terminal, color_system="truecolor"), found, RUN)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_images_stand_above_what_is_read_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = printed(finished())
    assert text.count("▀") == 3 * 8 * 4
    assert "\x1b[38;2;0;0;0;48;2;255;255;255m▀" in text  # the dot, in the lower half of its line
    assert "÷" in text
    before, now = (next(line for line in text.splitlines() if line.startswith(name)) for name in ("before", "now"))
    assert before.split() == ["before", "9", "9", "9"]
    assert now.split()[:4] == ["now", "4", "÷", "2"]
    assert text.index("A sentence.") > text.index("symbols in use 12 of 13") > text.index("chance 7.7%")


@pytest.mark.parametrize(
    ("terminal", "width", "encoding", "variable"),
    [(False, 80, "utf-8", ""), (True, 40, "utf-8", ""), (True, 80, "ascii", ""), (True, 80, "utf-8", "1")],
)
def test_elsewhere_there_are_words_only(
    terminal: bool, width: int, encoding: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", variable) if variable else monkeypatch.delenv("NO_COLOR", raising=False)
    text = printed(finished(), width, terminal, encoding)
    assert "▀" not in text
    assert "before: 9 9 9" in text
    assert "now:    4 / 2  (correct)" in text


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("sites", [1, 7, 30])
def test_it_fits_the_terminal(width: int, sites: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = io.StringIO()
    last_screen(Console(file=screen, width=width, force_terminal=True, color_system=None), finished(sites=sites), RUN)
    assert max(map(len, screen.getvalue().splitlines())) <= width


@pytest.mark.parametrize("kind", [*STEPS])
def test_next_steps_depend_on_the_kind(kind: str) -> None:
    found = dict(steps(finished(kind), RUN))
    assert len(found) == len(STEPS[kind]) <= 3
    assert all("{" not in command for command in found)
    assert any("'runs/a run'" in command for command in found)
    own = replace(finished(kind), config={"task": "my rule"})
    assert not [command for command, _ in steps(own, RUN) if "my rule" in command]
    assert len({str(dict(steps(finished(each), RUN))) for each in ("learnt", "partly", "not_learnt", "stopped")}) == 4


@pytest.mark.parametrize("broken", [{}, {"verdict": 3, "headline": [3]}, {"headline": [{"value": "x"}]}])
def test_a_folder_that_lacks_something_still_ends(broken: dict[str, Any]) -> None:
    assert "softground open" in printed(replace(finished(), summary=broken, findings=None, watched=[]))
