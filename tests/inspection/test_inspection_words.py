"""What y can tell, in words: three questions apart, and no 'Yes' without its 'if'."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch

import softground as sg
from softground.cli import main
from softground.errors import ConstraintError
from softground.inspection import inspect
from softground.inspection.maps import Consistent, consistent_maps, other_maps
from softground.tasks import TASKS
from softground.tasks.formulas import formula_task

HALF = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]


def addition(symbols: int) -> sg.Task:
    space = sg.Categorical([range(symbols)] * 2)
    return sg.Task(space, sg.Program(lambda a, b: a + b, space))


def text_of(task: sg.Task, answers: Sequence[object] | None, **given: object) -> str:
    return " ".join(str(inspect(task, answers, **given)).split())  # type: ignore[arg-type]


def test_half_in_words() -> None:
    text = text_of(addition(5), [0, 1, 5, 6], support=HALF)
    assert "(a) Renamings that keep every S_y. Yes, if every combination in S_y occurs" in text
    assert "NO, if only the 7 combinations that were declared occur: 3 maps explain every answer, 1 of them" in text
    assert "d/L = 3/5 (if its map is one-to-one, 0/5)" in text
    assert "With a map of its own at each site: 9" in text
    assert (
        "only the true one explains every answer, if every combination in S_y occurs (4 answers, 10 combinations)."
        in text
    )
    assert "1 label, and no fewer, leaves one map: of {2}, say (3 such sets). One-to-one maps need none." in text
    assert "Scaled grounding, the default, finds one-to-one maps, which leaves the true one." in text
    assert "give a labelled input for each of {2} (--anchor-symbols 2, or known symbols)." in text
    (advice,) = inspect(addition(5), [0, 1, 5, 6], support=HALF).as_dict()["advice"]
    assert f"- {advice}" in text


@pytest.mark.parametrize("task", [addition(4), formula_task(3)])
def test_yes_has_its_if(task: sg.Task) -> None:
    text = text_of(task, None)
    assert len(re.findall(r"\bYes\b", text)) == len(re.findall(r"\bYes[^.]*,? if\b", text)) == 2


def test_words_of_the_recommendation() -> None:
    text = text_of(formula_task(3), None)
    assert "(b) Can the answers tell all symbols apart? Yes: among all maps of symbols, only the true one" in text
    assert "walk" not in text  # of which an exact run has no use
    reasons = " ".join(sg.inspect(formula_task(3)).recommendation.reasons)
    assert re.search(r"If you use a walk anyway, use projection `[^`]+`, the best of the candidates\.", reasons)
    assert re.search(r"% of the test chains reached their target solution, after \d+ steps on average", reasons)


def test_a_bound_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inspection.map_search.NODE", 2**23)
    monkeypatch.setattr("softground.inspection.map_search.FIRST", 0)
    text = text_of(addition(5), [0, 1, 5, 6], support=HALF)
    assert "Undecided, if only the 7 combinations" in text
    assert "The fewest labels were not found" not in text


def test_json_holds_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "half", "--json"]) == 0
    declared, full = json.loads(capsys.readouterr().out)["maps"]
    assert (declared["every"]["count"], declared["one_to_one"]["count"], declared["per_site"]["count"]) == (3, 1, 9)
    assert declared["every"]["labels"] == {"fewest": 1, "sets": 3, "example": ["2"], "finished": True}
    assert full["every"]["count"] == 1


def test_other_readings_of_a_trained_network() -> None:
    """The true readings leave two other maps; those of the shortcut 0 1 3 2 3 none, but they never show a 4."""
    task = addition(5)
    y = task.constraint.encode([a + b for a, b in HALF])
    true = other_maps(task, torch.tensor(HALF), y)
    assert true is not None
    assert (true["maps"], true["one_to_one"], true["never_read"]) == (3, 1, [])
    assert "2 maps of symbols, 0 one-to-one" in true["text"]
    short = other_maps(task, torch.tensor([0, 1, 3, 2, 3])[torch.tensor(HALF)], y)
    assert short is not None
    assert (short["maps"], short["never_read"]) == (1, ["4"])
    assert "That does not prove them right" in short["text"]
    assert "It never reads {4}" in short["text"]
    assert other_maps(task, torch.zeros(0, 2, dtype=torch.long), y[:0]) is None


def test_a_combination_is_refused_after_all_answers_were_asked() -> None:
    """A rule that only checks: the answer of each combination is found among all that were given."""
    space = sg.Categorical([range(10)] * 2)
    task = sg.Task(space, sg.Scan(lambda total, digit: total + digit, space, accept=lambda total, y: total == y))
    answers = list(range(19))
    found = inspect(task, answers, support=[(a, b) for a in range(10) for b in range(10)], sample=2)
    assert (found.answers, found.maps[0].combinations) == (2, 100)
    with pytest.raises(ConstraintError, match=r"Combination 1, \(9, 9\), explains none of the answers given"):
        inspect(task, answers[:-1], support=[(0, 1), (9, 9)], sample=2)


def test_maps_include_the_renamings_that_were_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question proves 72 renamings of Kand-Logic; the others know them, even if their search is stopped."""

    def stopped(*given: Any) -> Consistent:
        with monkeypatch.context() as patch:
            patch.setattr("softground.inspection.map_search.NODE", 2**23)
            patch.setattr("softground.inspection.map_search.FIRST", 0)
            return consistent_maps(*given)

    monkeypatch.setattr("softground.inspection.inspection.consistent_maps", stopped)
    found = inspect(TASKS["kandlogic"]().task(), [True, False])  # type: ignore[arg-type]
    assert found.identification is not None
    assert (found.identification.count, found.identification.proved) == (72, True)
    (maps,) = found.maps
    assert not maps.every.finished
    assert (maps.every.count, maps.one_to_one.count, len(maps.every.disagree), maps.proved) == (72, 72, 9, True)
    text = " ".join(str(found).split())
    assert "at least 72 maps explain every answer" in text
    assert "no map but the true one" not in text
    assert "Several maps of symbols explain the answers" in text
