"""A recipe holds every setting, goes to JSON and back, and is all that a run is made of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints

import pytest
import torch

import softground as sg
from softground.cli.options import options_of
from softground.cli.train import Command
from softground.data.examples import Split
from softground.errors import CheckpointError, InverseError, LearnerError
from softground.experiments import EXACT, Experiment, Place, Problem, Recipe
from softground.experiments.recipe import IMPLIED, settings
from softground.learner.identity import settings as settings_of
from softground.learner.stage import make_optimizer
from softground.runs import RunFolder
from softground.tasks import TASKS
from softground.training import OBJECTIVES, ZeroDegree

WHERE = Path("config.json")
TASK_NAMES = ["hwf", "sudoku", "sdsp", "addition", "sums"]


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("preset", ["paper", "best"])
def test_goes_to_json_and_back(task: str, preset: str) -> None:
    recipe = TASKS[task]().recipe(preset, epochs=3, seed=7)
    text = json.dumps(recipe.to_json())
    again = Recipe.of_json(json.loads(text), WHERE)
    assert json.dumps(again.to_json()) == text
    assert (again.epochs, again.seed, again.preset) == (3, 7, preset)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_nothing_is_left_open(task: str) -> None:
    """Every setting has a value of its type; a problem's own fields are open only where that is a choice."""
    recipe = TASKS[task]().recipe()
    assert all(getattr(recipe, name) is not None for name in settings() if name != "scaled")  # the library chooses
    left = {name for name, value in recipe.problem.items() if value is None}
    assert left <= {"train_size", "test_size", "image_size"}


def test_a_changed_file_is_refused_word_by_word() -> None:
    good = TASKS["addition"]().recipe().to_json()
    for change, message in [
        ({"epochs": "many"}, "'epochs' is 'many'"),
        ({"epochs": True}, "'epochs' is True"),
        ({"epochs": 2**64}, "'epochs' is"),
        ({"gamma": None}, "'gamma' is None"),
        ({"objective": ""}, "config.json: objective='' was given"),
        ({"patience": 3}, "config.json: patience=3 was given, but no validation part"),
        ({"problem": []}, "holds no recipe"),
        ({"colour": "red"}, "not known here: 'colour'"),
    ]:
        with pytest.raises(CheckpointError, match=message):
            Recipe.of_json(good | change, WHERE)  # type: ignore[operator]


def test_a_setting_that_no_run_can_have_names_the_file_that_has_it(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "hwf")
    recipe = TASKS["hwf"]().recipe(inverse="z3", kernel="guided").to_json()
    for kept, said in (
        ({"recipe": recipe | {"usage": "nole"}}, "LearnerError: usage='nole' was given"),
        ({"recipe": recipe, "place": {"solver_limit": 0}}, "InverseError: limit=0.0 was given"),
    ):
        folder.write_config(kept)
        with pytest.raises(CheckpointError, match=rf"config\.json: the run .* cannot be set up here \({said}"):
            Experiment.of_run(folder)


def test_a_run_on_a_cluster_is_set_up_on_this_machine(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "hwf")
    place = {"device": "cpu", "solver_backend": "dask", "scheduler": "tcp://a", "data_dir": None}
    folder.write_config({"recipe": TASKS["hwf"]().recipe().to_json(), "place": place})
    assert Experiment.of_run(folder).place == Place(device="cpu")


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    assert Recipe.of_json(TASKS["addition"]().recipe().to_json() | {"gamma": 2}, WHERE).gamma == 2.0


def test_numbers_that_no_tensor_holds_are_refused() -> None:
    with pytest.raises(LearnerError, match="below 2"):
        TASKS["hwf"]().recipe(epochs=2**63)
    with pytest.raises(LearnerError, match="below 2"):
        TASKS["hwf"](length=2**63)


def test_the_objective_decides_what_follows_from_it() -> None:
    paper = TASKS["hwf"]().recipe("paper")
    assert (paper.optimizer, paper.learning_rate, paper.zero_epochs, paper.schedule) == ("sgd", 0.1, 30, "exp")
    sup = TASKS["hwf"]().recipe("paper", objective="sup", zero_epochs=4)
    assert (sup.optimizer, sup.zero_epochs, sup.zero_weight_decay) == ("sgd", 0, 0.0)
    assert TASKS["hwf"]().recipe("paper", objective="semantic", zero_epochs=4).zero_epochs == 4


def test_an_objective_registered_later_is_a_choice_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECTIVES, "late", ZeroDegree)
    monkeypatch.setitem(IMPLIED, "late", lambda preset, given: {"optimizer": "adam", "steps": 3})
    late = TASKS["hwf"]().recipe("paper", objective="late", steps=2)
    assert (late.objective, late.optimizer, late.steps, late.zero_epochs) == ("late", "adam", 2, 0)
    hints = get_type_hints(options_of("hwf", Command), include_extras=True)
    assert "late" in get_args(get_args(get_args(hints["objective"])[0])[0])


def test_weight_decay_and_stage_twos_batches_reach_the_stages() -> None:
    sizes = {"train_size": 8, "test_size": 2}
    given = {"weight_decay": 0.25, "zero_weight_decay": 5e-4, "zero_batch_size": 32}

    def found(preset: str, **options: Any) -> list[tuple[float, int | None]]:
        experiment = Experiment.named("sudoku", preset, **sizes, **options)
        parameters, stages = list(experiment.network.parameters()), experiment.stages or []
        return [(make_optimizer(s, parameters).param_groups[0]["weight_decay"], s.batch_size) for s in stages]

    assert found("paper", **given) == [(0.25, None), (5e-4, 32)]
    assert found("paper", batch_size=16) == [(0.0, None), (0.0, 16)]
    assert found("best") == [(0.01, None)]
    assert found("best", weight_decay=0.0) == [(0.0, None)]
    old = TASKS["sudoku"]().recipe("paper").to_json()  # of a run before there were such settings
    recipe = Recipe.of_json({name: value for name, value in old.items() if name not in given}, WHERE)
    assert (recipe.weight_decay, recipe.zero_weight_decay, recipe.zero_batch_size) == (None, None, None)
    with pytest.raises(LearnerError, match="Stage II has batch_size=0; give at least one"):
        found("paper", zero_batch_size=0)
    with pytest.raises(LearnerError, match="Stage I's optimiser cannot be made: Invalid weight_decay"):
        found("paper", weight_decay=-1.0)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(LearnerError, match="colour='red' was given; hwf has no such option"):
        Experiment.named("hwf", colour="red")
    with pytest.raises(LearnerError, match="sdsp has no such option"):
        Experiment.named("sdsp", augment=True)


@pytest.mark.parametrize(("inverse", "expected"), [("auto", "Exact"), ("enumeration", "NoneType")])
def test_the_kernel_auto_is_exact_or_left_to_the_learner(inverse: str, expected: str) -> None:
    given: dict[str, Any] = {"length": 3, "train_size": 8, "test_size": 4, "inverse": inverse, "epochs": 1}
    given |= {"network": "lenet", "zero_epochs": 0}
    experiment = Experiment.named("hwf", kernel="auto", **given)
    stage = experiment.stages[0]  # type: ignore[index]
    assert type(stage.objective.kernel).__name__ == expected  # type: ignore[attr-defined]
    if inverse == "enumeration":
        learner = experiment.learner()
        learner.fit(experiment.train)
        assert "walk" in learner.choice_["hwf"]


@pytest.mark.parametrize("setting", ["optimizer", "schedule", "keep", "objective", "inverse"])
def test_a_name_that_there_is_not_is_refused_with_those_there_are(setting: str) -> None:
    with pytest.raises(LearnerError, match=rf"{setting}='dance' was given"):
        TASKS["hwf"]().recipe(**{setting: "dance"})


def test_solver_settings_without_the_solver_are_refused() -> None:
    with pytest.raises(InverseError, match=r"solver_workers=2 was given.*the inverse is auto"):
        Experiment.named("hwf", solver_workers=2, length=3)
    assert Place(solver_workers=2, solver_limit=5.0).solver("z3") == {"workers": 2, "limit": 5.0}


def test_the_same_recipe_makes_the_same_experiment() -> None:
    recipe = TASKS["hwf"](length=3, train_size=20, test_size=5).recipe(seed=3)
    one, other = Experiment.of_recipe(recipe), Experiment.of_recipe(Recipe.of_json(recipe.to_json(), WHERE))
    assert torch.equal(one.train.x, other.train.x)  # type: ignore[attr-defined]
    weights = zip(one.network.state_dict().values(), other.network.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert settings_of(one.learner()) == settings_of(other.learner())


@dataclass(frozen=True, kw_only=True)
class Doubles(Problem):
    """A fifth task: what it needs beside its data and its rule."""

    name: ClassVar[str] = "doubles"
    count: int = 60

    def load(self, seed: int) -> Split:
        z = torch.randint(10, (self.count, 2), generator=torch.Generator().manual_seed(seed))
        data = sg.Examples(sg.handwritten(z, "train"), [2 * a + b for a, b in z.tolist()], z)
        return Split(data, data, "Digits.")

    def task(self, inverse: str = "auto", **solver: Any) -> sg.Task:
        space = sg.Categorical([range(10)] * 2)
        return sg.Task(space, sg.Program(lambda a, b: 2 * a + b, space), name=self.name)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return EXACT | {"network": "convnet", "epochs": 1, "learning_rate": 5e-3}


def test_a_fifth_task_is_its_data_its_rule_and_its_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "doubles", Doubles)
    experiment = Experiment.named("doubles", count=30, device="cpu")
    summary = experiment.run(tmp_path / "run", silent=True)
    assert summary["epochs"] == 1
    assert experiment.recipe is not None
    assert experiment.recipe.problem == {"count": 30}
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert kept["recipe"] == experiment.recipe.to_json()
    assert {f.name for f in dataclasses.fields(Recipe)} == set(kept["recipe"])


def test_an_experiment_needs_no_name(tmp_path: Path) -> None:
    space = sg.Categorical([range(10)] * 2)
    z = torch.randint(10, (40, 2), generator=torch.Generator().manual_seed(0))
    data = sg.Examples(sg.handwritten(z, "train"), [a + b for a, b in z.tolist()], z)
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space), name="sums")
    stages = sg.grounding_stages(task, epochs=2)
    place = Place(device="cpu")
    experiment = Experiment(task, sg.default_network(data.x, space), data, data, stages, place=place)
    summary = experiment.run(tmp_path / "run", silent=True)
    assert (summary["task"], summary["epochs"]) == ("sums", 2)
    assert (tmp_path / "run" / "report.html").exists()
    assert sg.load(tmp_path / "run" / "model").predict_answers(data.x[:1])[0] in range(19)
