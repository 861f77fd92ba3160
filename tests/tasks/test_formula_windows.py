"""Windows of a formula: their fibres, and the defaults that walk on them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from learner_cases import Stop, assert_same_run
from softground.constraints import Between
from softground.errors import CheckpointError, LearnerError
from softground.experiments import Experiment
from softground.inverses import Enumeration
from softground.kernels import Guided
from softground.learner import open_choices
from softground.projections import Dropped, RandomDrop
from softground.schedules import Constant
from softground.tasks.formulas import Formulas, completions, formula_program, formula_task
from softground.tasks.formulas.completions import LongFormulas
from softground.training import SoftenedGrounding


@pytest.mark.parametrize(("length", "width"), [(9, 3), (11, 5), (35, 3)])
def test_fibres_are_those_of_enumeration(length: int, width: int) -> None:
    program, generator = formula_program(length), torch.Generator().manual_seed(length)
    firsts = torch.arange(0, length - width + 1, 2).repeat(3)
    states = (torch.rand(len(firsts), length, generator=generator) * torch.tensor(program.space.sizes)).long()
    y = program.encode(program.compute(states))
    dropped = Dropped(firsts[:, None] + torch.arange(width))
    ours, theirs = (
        inverse.fibre(states, y, dropped) for inverse in (LongFormulas(program), Enumeration(program.space, program))
    )
    assert bool((ours.count >= 1).all())
    for row in range(len(states)):
        assert torch.equal(ours.values[row][ours.mask[row]], theirs.values[row][theirs.mask[row]])


def test_whole_numbers_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Double precision keeps too many candidates here; the rule discards them."""
    program = formula_program(9)
    z = program.space.encode([(9, "*", 9, "*", 9, "*", 9, "+", 1)])
    y, dropped = program.encode([6562]), Dropped(torch.tensor([[2, 3, 4]]))
    before = completions.window_fibre(program, z, y, dropped)
    monkeypatch.setattr(completions, "TOLERANCE", 1e-2)
    after = completions.window_fibre(program, z, y, dropped)
    assert torch.equal(before.values, after.values)
    assert before.count.tolist() == [1]


def test_where_doubles_cannot_tell_digits_apart_a_fibre_is_incomplete() -> None:
    """A term of 9¹³ hides what comes after it; no completion is lost in silence."""
    program = formula_program(35)
    z = program.space.encode(
        [
            [9, *[times, 9] * 12, "+", 1, "/", 9, "/", digit, "/", 7, last, 5]
            for times in "*+"
            for digit in range(1, 10)
            for last in "+-"
        ]
    )
    y = program.encode(program.compute(z))
    dropped = Dropped(torch.arange(30, 35).expand(len(z), -1))
    fibre = completions.window_fibre(program, z, y, dropped)
    own = ((fibre.values == z[:, None, 30:]).all(-1) & fibre.mask).any(1)
    assert bool((own | ~fibre.complete).all())
    assert fibre.complete.tolist() == [False] * 18 + [True] * 18


def test_only_windows_are_windows() -> None:
    sites = {"window": [2, 3, 4], "begins with an operator": [1, 2, 3], "apart": [0, 2, 4], "even": [2, 3], "one": [2]}
    assert [name for name, given in sites.items() if completions.is_window(Dropped(torch.tensor([given])))] == [
        "window"
    ]


def test_relations_are_left_to_enumeration() -> None:
    program = formula_program(11)
    y = program.encode([Between(0, 10)])
    z = torch.zeros(1, 11, dtype=torch.long)  # 1 + 1 + …
    fibre = LongFormulas(program).fibre(z, y, Dropped(torch.tensor([[0, 1, 2]])))
    assert (
        fibre.count.tolist()
        == Enumeration(program.space, program).fibre(z, y, Dropped(torch.tensor([[0, 1, 2]]))).count.tolist()
    )


def test_chains_of_long_formulas_walk_on_windows() -> None:
    assert repr(Formulas(length=11).walk(formula_task(11)).family) == "RandomDrop(4 sets of 5 of 11 sites)"
    assert repr(Formulas(length=11, window=1).walk(formula_task(11)).family) == "RandomDrop(55 sets of 2 of 11 sites)"
    assert repr(Formulas().walk(formula_task(7)).family) == "RandomDrop(21 sets of 2 of 7 sites)"
    with pytest.raises(LearnerError, match="window=4 was given; expected an odd number"):
        Formulas(window=4)


def fitted(folder: Path, resume: bool = False, stop: int | None = None) -> None:
    """Train, interrupted after an epoch where ``stop`` says so."""
    small: dict[str, Any] = {"train_size": 20, "test_size": 10, "epochs": 5, "wait": 2, "network": "lenet"}
    made = Experiment.named("hwf", length=11, batch_size=20, device="cpu", **small)

    def observer(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["epoch"] == stop:
            raise Stop

    made.learner().fit(made.train, out=folder, resume=resume, observer=observer)


def test_a_run_keeps_its_pace_waits_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, half = tmp_path / "whole", tmp_path / "half"
    fitted(whole)
    kept = json.loads((whole / "config.json").read_text())["chosen"]["hwf"]["pace"]
    assert 1 <= kept["steps"] <= open_choices.MOST_STEPS
    assert kept["tries"] >= 8
    assert kept["reasons"][0].startswith(f"T = {kept['steps']}, since a step changes")
    records = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
    assert [record["waited"] for record in records] == [0, 0, 1, 2, 2, 2, 2]
    with pytest.raises(Stop):
        fitted(half, stop=2)  # while it waits
    monkeypatch.setattr(open_choices, "_measured", None)  # nothing is measured again
    fitted(half, resume=True)
    assert_same_run(half, whole)


def test_t_is_as_many_steps_as_move_the_chains() -> None:
    task = formula_task(9, "enumeration")
    y = task.constraint.encode([3, 5, Fraction(7, 2)] * 10)
    slow, fast = (Guided(task.inverse, RandomDrop(task.space, sets)) for sets in ([[0]], [range(2, 7)]))
    steps = []
    for kernel in (slow, fast):
        objective = SoftenedGrounding(kernel, Constant(1.0), steps=0)
        assert objective.open
        paced, kept = open_choices.with_measured_steps(objective, task, y, None)
        steps.append(kept["steps"])
        assert paced.steps == steps[-1]
        assert objective.open
    assert steps[0] == open_choices.MOST_STEPS > steps[1]
    with pytest.raises(CheckpointError, match="expected whole numbers"):
        open_choices.with_measured_steps(objective, task, y, {"steps": "2", "tries": 8})
