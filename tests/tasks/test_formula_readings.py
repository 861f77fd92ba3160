"""Formulas with both readings, from the command line to the report, and after saving and loading."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import softground
from baseline_cases import formulas
from cli_cases import hurry, read, train
from softground import Categorical, Examples, Learner
from softground.cli import main
from softground.errors import CheckpointError
from softground.experiments import Experiment
from softground.model import DOCUMENT, Model
from softground.report.gathering import counts
from softground.tasks import TASKS
from softground.tasks.formulas import formula_task
from softground.training import Supervised

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
FIGURES = ("symbol_accuracy", "calculation_accuracy")


def test_both_presets_read_all_symbols_and_the_option_says_otherwise() -> None:
    hwf = TASKS["hwf"]
    for preset in ("paper", "best"):
        assert hwf().recipe(preset).problem["readings"] == "all"
        assert hwf(readings="grammatical").recipe(preset).problem["readings"] == "grammatical"  # type: ignore[call-arg]
    recipe = hwf(length=3).recipe()  # type: ignore[call-arg]
    assert Experiment.named("hwf", length=3, train_size=8, test_size=4).task.space.readings == "all"
    older = dataclasses.replace(recipe, problem={k: v for k, v in recipe.problem.items() if k != "readings"})
    small = dataclasses.replace(older, problem=dict(older.problem) | {"train_size": 8, "test_size": 4})
    assert Experiment.of_recipe(small).task.space.readings == "grammatical"  # all that there was before 0.3.0


@pytest.mark.parametrize(("readings", "other"), [("all", "grammatical"), ("grammatical", "plain")])
def test_a_run_has_the_figures_of_both(readings: str, other: str, tmp_path: Path) -> None:
    assert train(tmp_path / "run", "best", "--readings", readings, "--quiet") == 0
    config, summary = (read(tmp_path / "run" / name) for name in ("config.json", "summary.json"))
    assert config["recipe"]["problem"]["readings"] == config["settings"]["space"]["readings"] == readings
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    for place in (summary, summary["train"], summary["before"], summary["after_stage_I"]):
        found = {name for name in place if name.endswith("_accuracy") and not name.startswith("constrained_")}
        assert found == {*FIGURES, *(f"{other}_{f}" for f in FIGURES)}
    assert "constrained_symbol_accuracy" in summary
    assert "constrained_calculation_accuracy" not in summary  # it would be 1 by construction
    assert {f"test_{other}_{figure}" for figure in FIGURES} <= lines[-1].keys()
    before = summary["before"]["symbol_accuracy"], summary["before"][f"{other}_symbol_accuracy"]
    assert (before[0] < before[1]) is (readings == "all")  # the grammar alone is worth ten points of chance
    assert "calculation accuracy" in (tmp_path / "run" / "report.html").read_text()


def test_a_run_is_not_resumed_with_other_readings(tmp_path: Path) -> None:
    given = {"length": 3, "train_size": 8, "test_size": 4, "image_size": 8, "epochs": 1}
    Experiment.named("hwf", **given).run(tmp_path / "run", silent=True)  # type: ignore[arg-type]
    other = Experiment.named("hwf", **given, readings="grammatical")  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"readings was all, is grammatical"):
        other.run(tmp_path / "run", resume=True, silent=True)


def test_an_unknown_reading_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "hwf", "--readings", "none"])
    assert "grammatical" in capsys.readouterr().err


def test_a_network_may_read_formulas_well_and_symbols_badly() -> None:
    """The plain figures know: a network that takes everything for a digit where nobody forbids it."""
    first = model("grammatical")
    with torch.no_grad():
        first.network.weight.copy_(5 * torch.eye(13))  # type: ignore[operator]
        first.network.bias.copy_(20.0 * (torch.arange(13) < 9))  # type: ignore[operator]
    found = first.evaluate(formulas(first.task, 200))  # type: ignore[arg-type]
    assert found["symbol_accuracy"] > 0.9
    assert found["plain_calculation_accuracy"] == 0.0
    assert found["plain_symbol_accuracy"] == pytest.approx(found["symbol_accuracy"] * 2 / 3, abs=0.02)


def test_with_labels_all_readings_are_learnt() -> None:
    task = formula_task(5, readings="all")
    stage = softground.Stage("SUP", Supervised(), 30, lambda p: torch.optim.Adam(p, lr=0.05))
    learner = Learner(task, torch.nn.Linear(13, 13), [stage], batch_size=32, device="cpu", evaluate_every=1000)
    learner.fit(formulas(task, 400), formulas(task, 200, seed=1))
    figures = learner.results_["SUP"]
    assert figures["calculation_accuracy"] > 0.9
    assert figures["grammatical_calculation_accuracy"] >= figures["calculation_accuracy"]


def model(readings: str) -> Model:
    task = formula_task(3, readings=readings)  # type: ignore[arg-type]
    network = torch.nn.Linear(13, 13)
    return Model(network.eval(), task.space, task, shape=(3, 13), dtype=torch.float32)


def test_a_saved_model_reads_as_before(tmp_path: Path) -> None:
    first = model("all")
    data = formulas(first.task, 60)  # type: ignore[arg-type]
    first.save(tmp_path / "model")
    again = softground.load(tmp_path / "model", device="cpu")
    assert again.space.readings == "all"
    assert again.predict(data.x) == first.predict(data.x)
    assert again.predict_answers(data.x) == first.predict_answers(data.x)
    assert None in again.predict_answers(data.x)
    chances = again.predict_proba(data.x)
    assert chances.shape == (60, 3, 13)
    np.testing.assert_allclose(chances.sum(-1), 1.0, rtol=1e-5)
    codes = again.predict_codes(data.x)
    assert torch.equal(codes, torch.from_numpy(chances).argmax(-1))
    assert all(answer is not None for answer in again.task.compute(again.predict_codes(data.x, constrained=True)))  # type: ignore[union-attr]
    right = again.predict_codes(data.x, data.y)
    assert bool(again.task.feasible(right, again.task.constraint.encode(data.y)).all())  # type: ignore[union-attr]
    assert again.evaluate(Examples(data.x, data.y, data.symbols)).keys() >= {"grammatical_symbol_accuracy"}


def test_a_model_saved_before_there_was_a_choice_is_grammatical(tmp_path: Path) -> None:
    first = model("grammatical")
    first.save(tmp_path / "model")
    path = tmp_path / "model" / DOCUMENT
    document = json.loads(path.read_text())
    assert document["space"].pop("readings") == "grammatical"
    path.write_text(json.dumps(document))
    assert softground.load(tmp_path / "model", device="cpu").space.readings == "grammatical"
    softground.load(tmp_path / "model", device="cpu", task=formula_task(3))
    with pytest.raises(CheckpointError, match="saved with another"):
        softground.load(tmp_path / "model", device="cpu", task=formula_task(3, readings="all"))


def test_confusions_count_strange_symbols_too() -> None:
    space = Categorical(["ab", "c"], readings="all")
    assert counts(space, torch.tensor([[0, 0]]), torch.tensor([[2, 2]])) == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
