"""The whole inspection: what is recommended for each task, what it prints, and that it keeps to its limit."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

import softground as sg
from inspection_cases import Unlisted, checking
from softground.errors import LearnerError
from softground.experiments import Experiment
from softground.inspection import inspect
from softground.inspection.show import projections, renderables
from softground.inspection.sizes import number
from softground.kernels import Composed, DirectWalk, Exact
from softground.projections import SwapSymbols
from softground.tasks.addition import addition_task
from softground.tasks.formulas import formula_task
from softground.tasks.sdsp import SiteGibbs
from softground.tasks.sdsp.path_task import sdsp_task
from softground.tasks.sudoku import sudoku_task
from softground.walks import TimeLimit, recommend
from softground.walks.connectivity import Led, fibres
from softground.walks.ranking import Ranked
from softground.walks.recommendation import choose
from softground.walks.solutions import take

EXACT: dict[str, tuple[sg.Task, type]] = {
    "formulas": (formula_task(5), Exact),
    "sudoku": (sudoku_task(4), Exact),
    "addition": (addition_task(3), Exact),
    "shortest paths": (sdsp_task(6), SiteGibbs),
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains are led for fewer steps here; how they are led is tested elsewhere."""
    monkeypatch.setattr("softground.walks.connectivity.STEPS", {"tensor": 40, "solver": 40})


def unlisted() -> sg.Task:
    """Formulas of length 3 behind an inverse that cannot list."""
    task = formula_task(3)
    return sg.Task(task.space, task.constraint, Unlisted(task.inverse))


@pytest.mark.parametrize("name", EXACT)
def test_what_is_exact_is_recommended_without_looking(name: str) -> None:
    task, kind = EXACT[name]
    found = recommend(task)
    assert isinstance(found.kernel, kind)
    assert found.projection is None
    assert (found.steps, found.gamma0) == (1, 1.0)
    assert found.reasons[0].startswith(kind.__name__)
    assert kind.__name__ in str(found)


def test_elsewhere_a_walk_on_the_best_projection_is() -> None:
    task = unlisted()
    found = recommend(task, seed=1)
    assert isinstance(found.kernel, Composed)
    assert found.projection is not None
    assert 1 <= found.steps <= 10
    assert found.gamma0 >= 1
    assert "Guided" in found.reasons[0]
    assert "reached" in found.reasons[1]
    again = recommend(task, seed=1)
    assert str(found) == str(again)  # decided by the seed, not by the clock


def test_a_rule_that_computes_nothing_needs_answers() -> None:
    task = checking()
    walk = sg.Task(task.space, task.constraint, Unlisted(task.inverse))
    with pytest.raises(LearnerError, match="give the training answers"):
        recommend(walk)
    assert recommend(walk, [10, 27, 3]).projection is not None


@pytest.mark.parametrize("name", [*EXACT, "unlisted formulas"])
def test_an_inspection_is_readable_and_json(name: str) -> None:
    task = unlisted() if name == "unlisted formulas" else EXACT[name][0]
    answers: Any = {"formulas": [7, 8, 42], "sudoku": [True], "addition": [100, 999, 1500, 77, 3]}.get(name)
    if name == "shortest paths":
        experiment = Experiment.named("sdsp", nodes=6, train_size=4, test_size=2)
        answers = [experiment.train[i][1] for i in range(4)]
    found = inspect(task, answers, sample=4)
    text = str(found)
    for part in ("The problem", "Can y identify", "Recommended", found.recommendation.name):
        assert part in text
    assert ("Projections" in text) == (name == "unlisted formulas")  # an exact run needs none
    read = json.loads(found.to_json())
    assert read == found.as_dict()
    assert read["recommendation"]["reasons"]
    assert read["left_out"] == []
    assert math.isfinite(read["seconds"])
    if name == "sudoku":
        assert "NO: 24 renamings" in text
        assert "24 maps explain every answer, all of them" in text
        assert "reasoning shortcut" in " ".join(text.split())
        assert read["sizes"][0]["count"] == 288
        assert read["identification"]["count"] == 24
    if name == "unlisted formulas":
        assert "estimated" in text
        assert not any(s["exact"] for s in read["sizes"])


@pytest.mark.parametrize("looks", [1, 10, 60])
def test_the_limit_is_kept_and_what_is_missing_is_named(looks: int) -> None:
    """The clock counts how often it is asked; an inspection asks before every piece of work."""
    asked = 0

    def clock() -> float:
        nonlocal asked
        asked += 1
        return float(asked)

    full = inspect(formula_task(3))
    found = inspect(formula_task(3), seconds=TimeLimit(looks, clock))
    assert asked < looks + 60  # every part asks a few times more, to be told no
    assert found.left_out
    assert "Cut short by the time limit" in str(found)
    assert len(found.ranked) < len(full.ranked) or len(found.sizes) < len(full.sizes)
    assert found.recommendation.name == "Exact"
    json.loads(found.to_json())


@pytest.mark.parametrize("task", [formula_task(5), sudoku_task(4)], ids=["formulas", "sudoku"])
def test_every_number_is_there_at_80_columns(task: sg.Task) -> None:
    """On a narrow screen and in a pipe: nothing is cut, whatever the names are."""
    name = "a walk with a name that is much too long for any column of a table (21 sets of 2 of 7 sites)"
    walk = sg.kernels.Collapsed(
        task.inverse, sg.projections.RandomDrop(task.space, 2), sg.projections.ChangeOne(task.space)
    )
    found = inspect(task, None, sample=3, kernels={name: walk})
    file = io.StringIO()
    console = Console(width=80, file=file, highlight=False)
    for part in (*renderables(found), *projections(found)):
        console.print(part)
    lines = file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "…" not in file.getvalue()
    tables = [line.split() for line in lines if line.startswith(" ")]
    for r in found.ranked:
        assert r.fibres is None or f"{r.fibres.movement:.0%}" in file.getvalue()
        assert r.led is not None
        end = [f"{r.led.arrived:.0%}", "–" if r.led.steps is None else f"{r.led.steps:.0f}", f"{r.led.agreement:.0%}"]
        assert any(row[-3:] == end and len(row) >= 8 for row in tables)
    text = " ".join(file.getvalue().split())
    assert all(reason in text for reason in found.recommendation.reasons if "walk" not in reason)
    assert number(found.states) in text
    assert all(word in file.getvalue() for word in name.split())


def test_a_kernel_that_cannot_walk_here_is_named_and_left_out() -> None:
    """The others are looked at all the same."""
    task = formula_task(3)
    capped = sg.inverses.Enumeration(task.space, task.constraint, cap=2)
    broken = sg.kernels.Collapsed(
        capped, sg.projections.RandomDrop(task.space, 2), sg.projections.ChangeOne(task.space)
    )
    fine = sg.kernels.Collapsed(
        task.inverse, sg.projections.RandomDrop(task.space, 2), sg.projections.ChangeOne(task.space)
    )
    found = inspect(task, [5, 6], kernels={"broken": broken, "fine": fine})
    assert list(found.refused) == ["broken"]
    assert "cap is 2" in found.refused["broken"]
    assert "fine" in {r.name for r in found.ranked}
    assert "The kernel broken cannot walk here" in " ".join(str(found).split())
    assert json.loads(found.to_json())["refused"] == found.refused


def test_progress_names_the_parts() -> None:
    said: list[str] = []
    inspect(formula_task(3), [5, 6], progress=said.append)
    assert said[0] == "solutions of the answers"
    assert "projections" in said


def test_a_kernel_of_ones_own_is_recommended_where_no_projection_will_do() -> None:
    """9×9 boards: small sets have no freedom; exchanges of two digits have."""
    task = sudoku_task(9)
    sample = take(task, [True], 1, 0, TimeLimit())
    swaps = DirectWalk(SwapSymbols(task.space), task.constraint)
    own = Ranked("swaps", swaps, led=Led(8, 0.0, None, 0.5, 40))
    single = sg.projections.RandomDrop(task.space, 1)
    walk = sg.kernels.Collapsed(task.inverse, single, sg.projections.ChangeOne(task.space))
    poor = Ranked("any 1", walk, single, fibres(walk, sample, 0), led=Led(8, 0.0, None, 0.55, 40))
    found = choose(task, sample, sorted([poor, own], key=Ranked.rank), 0)
    assert found.kernel is swaps
    assert "swaps" in found.reasons[0]
    good = replace(poor, led=Led(8, 1.0, 10.0, 1.0, 40))
    assert choose(task, sample, sorted([own, good], key=Ranked.rank), 0).projection is single
