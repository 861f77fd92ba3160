"""What a person sees while a run goes on, at the widths terminals have."""

from __future__ import annotations

import io
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from learner_cases import adam, addition, examples, make_learner
from softground import Stage, grounding_stages
from softground.report.progress import Display, result_table, summary_line
from softground.schedules import Constant
from softground.training import ZeroDegree

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
RECORD = {
    "stage": "I",
    "epoch": 1,
    "loss": 12.345,
    "gamma": 0.0123,
    "feasible": 0.987,
    "test_calculation_accuracy": 0.9123,
    "test_symbol_accuracy": 0.99876,
}


def shown(width: int, terminal: bool = True, **run: Any) -> str:
    """The display of a run of two stages, as characters."""
    screen = io.StringIO()
    console = Console(file=screen, width=width, force_terminal=terminal, color_system=None, legacy_windows=False)
    task = addition()
    stages = grounding_stages(task, schedule=Constant(1.0, warmup=1), epochs=12, optimizer=adam, zero_epochs=2)
    with Display(console) as display:
        make_learner(task, stages).fit(examples(task, 64), examples(task, 20, seed=1), observer=display, **run)
    return screen.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_bars_and_facts_fit_the_terminal(width: int) -> None:
    lines = ESCAPE.sub("\n", shown(width)).splitlines()
    assert max(map(len, lines)) <= width
    last = [line for line in lines if line.strip()][-3:]
    assert re.fullmatch(r"Stage I +━+ +12/12 epochs, +\d:\d\d:\d\d \+ 0:00:00 left *", last[0])
    assert re.fullmatch(r"Stage II +━+ +2/2 +epochs, +\d:\d\d:\d\d \+ 0:00:00 left *", last[1])
    assert last[2].startswith("training answers explained ")


def test_elsewhere_every_epoch_is_a_line_whole_whatever_the_width() -> None:
    lines = shown(40, terminal=False).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "Grounding",
        "Inverse",
        *(f"Stage I, epoch {n}/12" for n in range(1, 13)),
        "Stage II, epoch 1/2",
        "Stage II, epoch 2/2",
    ]
    assert re.fullmatch(
        r"Stage I, epoch 1/12: training answers explained [\d.]+%, held-out answer accuracy [\d.]+%", lines[2]
    )


def test_an_epoch_in_a_few_words_fits_eighty_columns() -> None:
    line = summary_line(RECORD)
    assert line == "training answers explained 98.7%, held-out calculation accuracy 91.2%"
    assert len(line) <= 80


def test_a_notebook_has_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []

    class Output:
        def update(self, text: dict[str, str], raw: bool) -> None:
            told.append(("changed", text["text/plain"]))

    def display(text: dict[str, str], raw: bool, display_id: bool) -> Output:
        told.append(("new", text["text/plain"]))
        return Output()

    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    module = ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shown = Display(Console(force_jupyter=True), verdict=True)
    shown("begin", {"stages": [Stage("I", ZeroDegree(), 200, adam)], "epochs": 0, "choice": ["Inverse: table"]})
    for epoch in range(200):
        shown("epoch", RECORD | {"epoch": epoch})
    shown("end", {"verdict": "Learnt."})
    assert [text for kind, text in told if kind == "new"][::2] == ["Inverse: table", "Learnt."]
    assert len([text for kind, text in told if kind == "new"]) == 3
    assert told[-2][1].startswith("Stage I, epoch 200/200: training answers explained")


def test_only_shares_are_percentages() -> None:
    line = summary_line({"loss": 1.0, "feasible": 0.5, "test_spearman": 0.987, "test_mean_error": 3.2})
    assert line == "training answers explained 50.0%, held-out spearman 0.987"
    screen = io.StringIO()
    Console(file=screen, width=80).print(result_table("run", {"now": {"spearman": 0.987, "mean_error": 3.2}}))
    assert re.search(r"spearman .*0\.987 ", screen.getvalue())
    assert re.search(r"mean error .*3\.2 ", screen.getvalue())


def test_the_table_shows_percentages_side_by_side_and_titles_as_they_are() -> None:
    screen = io.StringIO()
    before, after = {"symbol_accuracy": 0.1}, {"symbol_accuracy": 0.998, "answer_accuracy": 0.9}
    Console(file=screen, width=80).print(result_table("a [red] run", {"before": before, "after Stage I": after}))
    text = screen.getvalue()
    assert "a [red] run" in text
    assert re.search(r"symbol accuracy .*10\.00%.*99\.80%", text)
    assert re.search(r"answer accuracy .*–.*90\.00%", text)
