"""Further test sets: looked at once, at the end of a run, and found again in summary, table and evaluate."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from learner_cases import adam, addition, examples, kernel, make_learner
from report_cases import Page
from softground import Stage
from softground.cli import main
from softground.data.examples import Split
from softground.errors import DataError
from softground.experiments import Experiment
from softground.schedules import Constant
from softground.tasks import TASKS
from softground.tasks.addition import Addition
from softground.training import SoftenedGrounding


@dataclass(frozen=True, kw_only=True)
class Apart(Addition):
    """Addition with the last test pairs as a set of their own."""

    def load(self, seed: int) -> Split:
        split = super().load(seed)
        rows = range(len(split.test))
        return replace(split, test=split.test.rows(rows[:40]), more={"ood": split.test.rows(rows[40:60])})


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "addition", Apart)  # type: ignore[type-var]


def test_a_run_measures_them_once_at_its_end(apart: None, tmp_path: Path, capsys: Any) -> None:
    experiment = Experiment.named("addition", epochs=2, train_size=60, device="cpu")
    assert len(experiment.more["ood"]) == 20  # type: ignore[arg-type]
    summary = experiment.run(tmp_path / "run")
    assert summary["verdict"]["sentence"] in capsys.readouterr().out
    assert not any("ood" in name for name in [*summary["before"], *summary["train"]])
    history = (tmp_path / "run/metrics.jsonl").read_text()
    assert "ood" not in history
    last = [v for k, v in summary.items() if k.startswith("after_stage_")][-1]
    assert {"ood_sum_accuracy", "ood_symbol_accuracy"} <= summary.keys() & last.keys()
    main(["evaluate", str(tmp_path / "run"), "--json", "--device", "cpu"])
    now = json.loads(capsys.readouterr().out)
    assert {k: v for k, v in now.items() if k.startswith("ood_")} == {
        k: v for k, v in summary.items() if k.startswith("ood_")
    }
    page = Page((tmp_path / "run/report.html").read_text()).text
    assert "held-out, after Stage I OOD training" in page
    assert "OOD symbol accuracy" not in page
    main(["evaluate", str(tmp_path / "run"), "--device", "cpu"])
    table = re.sub(" +", " ", capsys.readouterr().out)
    percent = [f"{summary[name]:.2%}" for name in ("symbol_accuracy", "ood_symbol_accuracy")]
    assert f"│ symbol accuracy │ {' │ '.join(percent)} │" in table


def test_a_learner_takes_them_without_a_folder_and_without_a_test_set() -> None:
    task = addition()
    stage = Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 1, adam)
    learner = make_learner(task, [stage])
    far = examples(task, 20, seed=3)
    learner.fit(examples(task, 30), more={"ood": far, "mixed": examples(task, 20, seed=4)}, quiet=True)
    assert learner.results_["I"]["ood_symbol_accuracy"] == learner.evaluate(far)["symbol_accuracy"]
    assert "mixed_answer_accuracy" in learner.results_["I"]


@pytest.mark.parametrize("name", ["test", "validation", "train_set", "shape_3", "out of distribution", ""])
def test_a_name_that_figures_cannot_be_called_by_is_refused(name: str) -> None:
    task = addition()
    stage = Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 1, adam)
    data = examples(task, 10)
    with pytest.raises(DataError, match="further test set"):
        make_learner(task, [stage]).fit(data, more={name: data})
