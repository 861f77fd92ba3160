"""Bad input is a clear error: what was given, what was expected, what to do. Never a traceback from inside torch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from learner_cases import adam, addition, classifier, examples, kernel, make_learner
from softground import (
    Categorical,
    Examples,
    Learner,
    PerSite,
    Program,
    SoftgroundError,
    Stage,
    Task,
    convnet,
    grounding_stages,
)
from softground.errors import (
    ConstraintError,
    DataError,
    InfeasibleAnswer,
    InverseError,
    LearnerError,
    NonFiniteOutput,
    ProjectionError,
    SpaceError,
)
from softground.inverses import Enumeration, Table
from softground.networks import lenet
from softground.projections import Drop, Dropped, RandomDrop
from softground.schedules import Constant
from softground.training import SoftenedGrounding, Supervised


def complaint(
    kind: type[SoftgroundError], *words: str, given: Any, net: nn.Module | None = None, **options: Any
) -> None:
    """Training on ``given`` must raise ``kind`` with a message that has all the words."""
    with pytest.raises(kind) as caught:
        make_learner(addition(), None, net, **options).fit(given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("tabulated", [True, False], ids=["table", "enumeration"])
def test_an_infeasible_answer_names_the_example(tabulated: bool) -> None:
    task = addition(tabulated=tabulated)
    data = examples(task, 20)
    answers = list(data.y)
    answers[7], answers[11] = 10, -3  # three digits up to 3 sum to at most 9
    with pytest.raises(
        InfeasibleAnswer, match=r"2 example\(s\) .* 7 \(answer 10\), 11 \(answer -3\).*unexplained='drop'"
    ) as caught:
        make_learner(task).fit(Examples(data.x, answers))
    assert caught.value.examples == (7, 11)


@pytest.mark.filterwarnings("default:No first state")
def test_a_space_too_large_to_list_says_that_a_state_was_not_found_rather_than_that_none_exists() -> None:
    space = Categorical([range(10)] * 12)
    program = Program(lambda *digits: sum(digits), space, vectorised=True)
    task = Task(space, program, Enumeration(space, program, tries=3))
    learner = make_learner(task, None, nn.Linear(4, 10))
    with pytest.warns(UserWarning, match=r"1 of 2 examples \(1\), though one may exist"):
        learner.fit(Examples(torch.zeros(2, 12, 4), [50, 109]))
    assert [record["unstarted"] for record in learner.history_] == [1, 1, 1]


@pytest.mark.parametrize("outputs", [3, 5])
def test_a_head_that_does_not_match_the_alphabet(outputs: int) -> None:
    complaint(
        SpaceError,
        f"3, {outputs})",
        "3 sites, 4 outputs",
        "last layer",
        given=examples(addition(), 20),
        net=nn.Linear(4, outputs),
    )


def test_a_network_with_the_wrong_number_of_sites_axes_or_rows() -> None:
    data = examples(addition(), 20)
    complaint(SpaceError, "(20, 12)", "3 sites", given=data, net=nn.Sequential(nn.Linear(4, 4), nn.Flatten()))
    complaint(SpaceError, "(20, 2, 4)", "3 sites", given=data, net=Cut((slice(None), slice(0, 2))))
    complaint(SpaceError, "19 rows for 20 inputs", given=data, net=Cut((slice(1, None),)))
    complaint(SpaceError, "tuple", "3 sites", given=data, net=Cut(None))


class Cut(nn.Module):
    """The input with something missing; None: not a tensor at all."""

    def __init__(self, what: Any) -> None:
        super().__init__()
        self.what, self.inner = what, nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        return (x, x) if self.what is None else self.inner(x)[self.what]


def test_nan_inputs_are_named_before_training() -> None:
    data = examples(addition(), 20)
    data.x[13, 1, 2] = torch.nan
    complaint(DataError, "input of example 13", "column 1, 2", "leave the example out", given=data, batch_size=8)


def test_a_network_that_its_last_step_broke_does_not_become_the_checkpoint(tmp_path: Path) -> None:
    task = addition()
    stage = Stage(
        "I",
        grounding_stages(task)[0].objective,
        4,
        lambda p: torch.optim.SGD(p, 0.1),
        lambda progress: 1.0 if progress < 0.5 else math.nan,
    )
    learner = make_learner(task, [stage], batch_size=64)
    with pytest.raises(NonFiniteOutput, match=rf"Stage I, epoch 3 of 4.*learning rate.*{tmp_path}"):
        learner.fit(examples(task, 64), out=tmp_path / "run")
    tensors, meta = learner.loop.folder.load_checkpoint()  # type: ignore[union-attr]
    assert meta["epoch"] == 2
    assert all(torch.isfinite(value).all() for name, value in tensors.items() if name.startswith("network/"))


def test_a_network_that_diverges_is_stopped_when_its_output_overflows() -> None:
    task = addition()
    stage = Stage("I", grounding_stages(task)[0].objective, 4, lambda p: torch.optim.SGD(p, 1e37))
    with pytest.raises(NonFiniteOutput, match=r"Stage I, epoch 1 of 4.*Lower the learning rate"):
        make_learner(task, [stage]).fit(examples(task, 64))
    stage = Stage("I", grounding_stages(task)[0].objective, 1, lambda p: torch.optim.SGD(p, 1e37))
    with pytest.raises(NonFiniteOutput, match=r"Stage I, epoch 1 of 1, on the test data.*Lower the learning rate"):
        make_learner(task, [stage], batch_size=64).fit(examples(task, 64), examples(task, 8, seed=1))


def test_nan_at_prediction_names_the_inputs() -> None:
    data = examples(addition(), 300)
    data.x[280] = torch.nan
    learner = make_learner(addition())
    for ask in (lambda: learner.predict(data.x), lambda: learner.evaluate(data)):
        with pytest.raises(DataError, match=r"input of example 280 is NaN or infinite in column 0, 0"):
            ask()


class Items(Dataset[Any]):
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(())


def test_data_sets_that_are_not_pairs_in_a_row() -> None:
    x = torch.zeros(3, 4)
    complaint(DataError, "empty", "(x, y)", given=Examples(torch.zeros(0, 3, 4), []))
    complaint(DataError, "empty", given=Items([]))
    complaint(DataError, "Endless", "no length", given=Endless())
    complaint(DataError, "Item 0", "Tensor", "pair (x, y)", given=Items([x]))
    complaint(DataError, "Item 1", "tuple of 3", "pair (x, y)", given=Items([(x, 1), (x, 1, 2)]))
    three = TensorDataset(torch.zeros(2, 3, 4), torch.ones(2), torch.ones(2))
    complaint(DataError, "Item 0", "tuple of 3", given=three)


def test_inputs_of_different_shapes_name_the_examples() -> None:
    pairs = [(torch.zeros(3, 4), 1), (torch.zeros(3, 5), 1)]
    complaint(DataError, "example 0: shape (3, 4)", "example 1: shape (3, 5)", "one shape", given=Items(pairs))
    complaint(DataError, "example 0: str", "tensors or arrays", given=Items([("four.png", 1)]))


@pytest.mark.parametrize(
    ("answer", "words"),
    [(2.5, "float"), ({1}, "set"), ({}, "dict"), (torch.tensor(2.5), "float"), ("two", "whole numbers")],
    ids=repr,
)
def test_answers_that_are_not_exact_name_the_example(answer: Any, words: str) -> None:
    complaint(ConstraintError, "Example 1", words, given=Items([(torch.zeros(3, 4), 1), (torch.zeros(3, 4), answer)]))
    with pytest.raises(ConstraintError, match="Example 0"):
        make_learner(addition()).predict(torch.zeros(1, 3, 4), [answer])


def test_float_answers_in_a_tensor_data_set_are_refused_too_unless_they_are_whole_numbers() -> None:
    given = TensorDataset(torch.zeros(2, 3, 4), torch.tensor([1.0, 2.5]))
    complaint(ConstraintError, "Example 1", "2.5 is a float", "Fraction", given=given)
    make_learner(addition()).fit(TensorDataset(torch.zeros(2, 3, 4), torch.tensor([1.0, 2.0])))


def test_true_symbols_that_are_not_codes() -> None:
    data = examples(addition(), 20)
    assert data.symbols is not None
    for symbols, words in (
        (data.symbols[:, :2], "(20, 3)"),
        (data.symbols.float(), "torch.float32"),
        (data.symbols + 1, "codes from 0 to below [4, 4, 4]"),
        (data.symbols - 1, "space.encode"),
    ):
        wrong = Examples(data.x, data.y, symbols)
        complaint(DataError, words, given=wrong)
        with pytest.raises(DataError):
            make_learner(addition()).fit(data, wrong)
        with pytest.raises(DataError):
            make_learner(addition()).evaluate(wrong)


def test_supervision_without_labels() -> None:
    task, data = addition(), examples(addition(), 20)
    with pytest.raises(LearnerError, match=r"needs true symbols.*Examples\(x, y, symbols\)"):
        make_learner(task, [Stage("SUP", Supervised(), 1, adam)]).fit(Examples(data.x, data.y))


@pytest.mark.parametrize("make", [lenet, convnet])
def test_images_of_the_wrong_size(make: Any) -> None:
    net = PerSite(make((1, 28, 28), 4), (1, 28, 28))
    given = Examples(torch.zeros(4, 3, 1, 20, 28), [3] * 4)
    complaint(DataError, "(4, 3, 1, 20, 28)", "1, 28, 28", "Resize", given=given, net=net)


def test_images_too_small_for_the_network() -> None:
    with pytest.raises(DataError, match=r"LeNet-5 cannot read 3×3 images.*at least"):
        lenet((1, 3, 3), 10)


def test_projections_that_drop_everything_or_nothing() -> None:
    space = Categorical([range(4)] * 3)
    for make, words in (
        (lambda: Drop(space, []), "drops nothing"),
        (lambda: Drop(space, [0, 1, 2]), "drops all 3 sites"),
        (lambda: RandomDrop(space, 0), "drops nothing"),
        (lambda: RandomDrop(space, 3), "drops all 3 sites"),
        (lambda: Drop(space, [3]), "0 … 2"),
    ):
        with pytest.raises(ProjectionError, match=words):
            make()


def test_a_table_that_would_not_fit_in_memory_is_refused_before_any_work() -> None:
    space = Categorical([range(10)] * 11)

    def never(*digits: Any) -> Any:
        raise AssertionError("the rule was evaluated")

    with pytest.raises(InverseError, match=r"100,000,000,000 states.*1\.2 TB.*limit is 1\.07 GB.*enumeration"):
        Table(Program(never, space))


def test_an_enumeration_past_its_cap_is_refused() -> None:
    task = addition()
    tight = Enumeration(task.space, task.constraint, cap=3)
    with pytest.raises(InverseError, match=r"Dropping 1 sites.*4 combinations.*cap is 3"):
        tight.fibre(torch.zeros(1, 3, dtype=torch.long), task.constraint.encode([3]), Dropped(torch.tensor([[0]])))


def test_settings_that_cannot_work() -> None:
    task = addition()
    objective = grounding_stages(task)[0].objective
    for make, words in (
        (lambda: make_learner(task, []), "at least one"),
        (lambda: make_learner(task, [Stage("I", objective, 1, adam)] * 2), "distinct"),
        (lambda: make_learner(task, batch_size=0), "batch_size=0"),
        (lambda: make_learner(task, evaluate_every=0), "evaluate_every=0"),
        (lambda: make_learner(task, workers=-1), "workers=-1"),
        (lambda: Stage("I", objective, 0, adam), "0 epochs"),
        (lambda: Stage("I", objective, 1, adam, batch_size=0), "Stage I has batch_size=0; give at least one"),
        (lambda: Stage("I", objective, 1, adam, keep="first"), "one of last, best, validation"),  # type: ignore[arg-type]
        (lambda: SoftenedGrounding(kernel("exact", task), Constant(1.0), steps=-1), "steps=-1"),
    ):
        with pytest.raises(LearnerError, match=words):
            make()  # type: ignore[no-untyped-call]


def test_optimisers_that_cannot_work() -> None:
    task, data = addition(), examples(addition(), 20)
    for optimizer, words in (
        (lambda p: torch.optim.SGD(p, -1.0), "Stage I's optimiser cannot be made: Invalid learning rate: -1.0"),
        (lambda p: torch.optim.SGD([], 0.1), "empty parameter list"),
        (lambda p: torch.optim.LBFGS(p), "LBFGS"),
        (lambda p: "adam", "str"),
    ):
        with pytest.raises(LearnerError, match=words):
            make_learner(task, [Stage("I", grounding_stages(task)[0].objective, 1, optimizer)]).fit(data)  # type: ignore[arg-type]


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(LearnerError, match="no GPU"):
        Learner(addition(), classifier(), device="cuda")


def test_a_rule_for_another_space() -> None:
    with pytest.raises(SoftgroundError, match="another space"):
        Task(Categorical([range(4)] * 3), addition().constraint)
