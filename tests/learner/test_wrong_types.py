"""What a new user gives by mistake: a wrong type or argument is an error of the library that says what to do."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import softground as sg
from learner_cases import adam, addition, examples, make_learner
from softground.errors import ConstraintError, DataError, LearnerError, SpaceError
from softground.experiments import Experiment

TASK = addition()
DATA = examples(TASK, 12)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (lambda: sg.Categorical(10), SpaceError, "alphabets=10 was given; expected one alphabet per site"),  # type: ignore[arg-type]
        (lambda: sg.Categorical(range(10)), SpaceError, r"such as \[range\(10\)\] \* 3"),  # type: ignore[arg-type]
        (lambda: sg.Examples(DATA.x, 7), DataError, "7 was given for all examples; expected a list"),  # type: ignore[arg-type]
        (lambda: sg.Examples(DATA.x, "seven"), DataError, "'seven' was given for all examples"),
        (lambda: sg.inspect(TASK, 7), DataError, "7 was given for all"),  # type: ignore[arg-type]
        (lambda: sg.Learner(TASK.constraint, nn.Linear(1, 1)), LearnerError, r"expected a Task\(space, rule\)"),  # type: ignore[arg-type]
        (lambda: sg.Learner(TASK, None), LearnerError, "network=None was given; expected a module"),  # type: ignore[arg-type]
        (lambda: sg.Learner(TASK, nn.Linear), LearnerError, "Linear'> was given; expected a module"),  # type: ignore[arg-type]
        (lambda: make_learner(TASK, sg.grounding_stages(TASK)[0]), LearnerError, "expected a list of stages"),
        (lambda: sg.grounding_stages(TASK, epochs="3"), LearnerError, "Stage I has '3' epochs"),  # type: ignore[arg-type]
        (lambda: sg.grounding_stages(TASK, epochs=1.5), LearnerError, "Stage I has 1.5 epochs"),  # type: ignore[arg-type]
        (lambda: make_learner(TASK).fit(DATA, observer=[print]), LearnerError, r"a function observer\(event, facts\)"),
        (lambda: make_learner(TASK).fit(DATA, previous=True), LearnerError, "without resume=True"),
        (lambda: make_learner(TASK).fit(DATA.x, DATA.y), DataError, r"as one data set: Examples\(x, y\)"),
        (lambda: make_learner(TASK).fit({"x": DATA.x, "y": DATA.y}), DataError, r"one task are Examples\(x, y\)"),
        (
            lambda: make_learner(TASK).fit(DataLoader(DATA)),
            DataError,
            "DataLoader cannot be indexed; give the data set",
        ),
        (lambda: sg.Examples(DATA.x, set(range(12))), DataError, "one entry for each of them, in their order"),  # type: ignore[arg-type]
        (lambda: sg.grounding_stages(TASK, "exact"), LearnerError, r"expected a Kernel, such as Exact\("),  # type: ignore[arg-type]
        (lambda: sg.grounding_stages(TASK, sg.kernels.Exact), LearnerError, "expected a Kernel"),  # type: ignore[arg-type]
        (lambda: sg.grounding_stages(TASK, schedule=0.5), LearnerError, "expected a Schedule, such as Constant"),  # type: ignore[arg-type]
        (lambda: sg.Task(TASK.space, TASK.constraint, "table"), sg.SoftgroundError, "expected an Inverse"),  # type: ignore[arg-type]
        (lambda: make_learner(TASK, augment=sg.data.RandomAffine()).fit(DATA), DataError, "Leave augment out"),
        (lambda: Experiment.named("addition", epochs="3"), LearnerError, "'epochs' is '3'; expected int"),
        (lambda: Experiment.named("addition", train_size="9"), LearnerError, "'train_size' is '9'; expected int"),
    ],
)
def test_a_wrong_type_is_refused_in_plain_words(given: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        given()


def test_numbers_of_numpy_and_paths_are_options_too(tmp_path: Path) -> None:
    found = Experiment.named("addition", epochs=np.int64(2), train_size=np.int32(9), data_dir=tmp_path)
    assert (found.recipe.epochs, len(found.train), found.data_dir) == (2, 9, tmp_path)  # type: ignore[union-attr]


def test_answers_of_another_type_are_not_counted_as_wrong() -> None:
    plain = sg.Task(TASK.space, sg.Program(lambda *digits: sum(digits), TASK.space))
    words, learner = sg.Examples(DATA.x, [str(answer) for answer in DATA.y]), make_learner(plain).fit(DATA)
    for judge in (learner.evaluate, learner.grounded, lambda data: make_learner(plain).fit(DATA, data)):
        with pytest.raises(ConstraintError, match=r"Example 0: the answer .* text, where the rule gives a number"):
            judge(words)


def test_digits_are_drawn_for_lists_and_arrays() -> None:
    drawn = [sg.handwritten(digits, "train") for digits in ([3, 1], np.array([3, 1]), torch.tensor([3, 1]))]
    assert torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[0], drawn[2])


def test_an_array_that_cannot_be_written_to_is_copied_without_a_warning() -> None:
    x = np.zeros((3, 2))
    x.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.Examples(x, [0, 0, 0]).x.add_(1)
    assert x.sum() == 0


class Dials(nn.Module):
    """One number for each of two images."""

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.read(x).squeeze(-1)  # type: ignore[no-any-return]


def test_an_estimator_reads_reals_with_a_network_of_ones_own() -> None:
    total = sg.reals.Equations([[1, 1]], sg.reals.Gaussian(2, sigma=0.1))
    x, y = torch.rand(6, 2, 4), [1.5, 2.0, 3.0] * 2
    with pytest.raises(LearnerError, match=r"there is no default one for reals. Give network="):
        sg.SoftGrounder(total, epochs=1, device="cpu").fit(x, y)
    model = sg.SoftGrounder(total, network=Dials(), epochs=1, device="cpu").fit(x, y)
    assert model.predict(x).shape == (6, 2)
    assert model.predict(x).dtype == np.float64


def test_the_folder_of_a_run_says_where_its_model_is(tmp_path: Path) -> None:
    make_learner(TASK, [sg.Stage("I", sg.grounding_stages(TASK)[0].objective, 1, adam)]).fit(DATA, out=tmp_path / "run")
    with pytest.raises(sg.SoftgroundError, match=f"give {tmp_path / 'run' / 'model'}"):
        sg.load(tmp_path / "run")


def test_metrics_may_be_tensors_and_must_have_names() -> None:
    given: list[Any] = [
        lambda z, fine, true: {"share": fine.double().mean()},
        lambda z, fine, true: fine.double().mean(),
    ]
    tensors, nameless = (sg.Task(TASK.space, TASK.constraint, metrics=metrics) for metrics in given)
    assert isinstance(make_learner(tensors).fit(DATA, DATA).results_["I"]["share"], float)
    with pytest.raises(sg.SoftgroundError, match="expected numbers by name"):
        make_learner(nameless).fit(DATA, DATA)


def test_a_tensor_of_answers_is_a_list_of_them() -> None:
    answers = torch.tensor(DATA.y)
    assert sg.Examples(DATA.x, answers).y == DATA.y
    assert make_learner(TASK).fit(TensorDataset(DATA.x, answers)).history_
