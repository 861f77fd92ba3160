"""Examples that nothing explains, and examples whose first state is not found."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from learner_cases import (
    Stop,
    adam,
    addition,
    assert_same_run,
    chains_of,
    classifier,
    equal,
    examples,
    kernel,
    make_learner,
    stop_at,
    weights,
)
from softground import (
    Between,
    Examples,
    Family,
    Learner,
    OneOf,
    Program,
    SoftGrounder,
    Stage,
    Task,
    grounding_stages,
    mlp,
    seeded,
)
from softground.dice import Sampler
from softground.errors import CheckpointError, ConstraintError, DataError, InfeasibleAnswer, LearnerError
from softground.inverses import Enumeration
from softground.kernels import Guided
from softground.learner.trained_part import deal_batches
from softground.projections import RandomDrop
from softground.runs import RunFolder
from softground.schedules import Constant
from softground.spaces import Categorical
from softground.training import SemanticLoss, SoftenedGrounding, ZeroDegree
from softground.training.first_states import EMPTY, WAITS, completed_readings

BAD = [0, 3, 50, 51, 63]


def spoilt(data: Examples, answer: Any = 99) -> Examples:
    """The same examples with answers that nothing explains at BAD."""
    return Examples(data.x, [answer if i in BAD else y for i, y in enumerate(data.y)], data.symbols)


def clean(data: Examples) -> Examples:
    kept = [i for i in range(len(data)) if i not in BAD]
    assert data.symbols is not None
    return Examples(data.x[kept], [data.y[i] for i in kept], data.symbols[kept])


def stages(task: Task, objective: str) -> list[Stage]:
    made = SemanticLoss() if objective == "semantic" else SoftenedGrounding(kernel(objective, task), Constant(1.0))
    return [Stage("I", made, 3, adam), Stage("II", ZeroDegree(), 1, adam)]


def learner(objective: str = "exact", **given: Any) -> Learner:
    task = addition()
    task.inverse._padded = False  # type: ignore[attr-defined]  # sums in the same order with and without them
    return make_learner(task, stages(task, objective), classifier(), batch_size=16, **given)


@pytest.mark.parametrize("objective", ["exact", "guided", "semantic"])
@pytest.mark.parametrize("answer", [99, Between(50, None), OneOf(77, 88)])
def test_an_error_names_the_examples_and_the_option(objective: str, answer: Any) -> None:
    made = learner(objective)
    before = weights(made.network)
    with pytest.raises(InfeasibleAnswer) as caught:
        made.fit(spoilt(examples(made.task, 80), answer))
    assert caught.value.examples == tuple(BAD)
    for words in (f"5 example(s) are infeasible: 0 (answer {answer!r}), 3 ", "unexplained='drop'"):
        assert words in str(caught.value)
    assert equal(weights(made.network), before)


@pytest.mark.parametrize("mode", ["raise", "drop"])
def test_a_wrong_type_is_an_error_in_any_mode(mode: Any) -> None:
    space = Categorical([range(4)] * 2)
    task = Task(space, Program(lambda a, b: a + b, space))
    x = torch.zeros(3, 2, 4)
    with pytest.raises(ConstraintError, match=r"Example 1: .*\(1, 2\) is a tuple of 2, where the rule gives a number"):
        make_learner(task, unexplained=mode).fit(Examples(x, [1, (1, 2), 3]))


def test_nothing_is_learnt_where_nothing_is_explained() -> None:
    made = learner(unexplained="drop")
    with pytest.raises(InfeasibleAnswer, match=r"2 example.* no example is left to train on") as caught:
        made.fit(Examples(torch.zeros(2, 3, 4), [98, 99]))
    assert "unexplained=" not in str(caught.value)  # which was given already
    with pytest.raises(LearnerError, match="raise, drop"):
        learner(unexplained="ignore")
    with pytest.raises(LearnerError, match=r"'weigh' was given, which is gone\. Use unexplained='drop'"):
        learner(unexplained="weigh")


def test_a_shape_of_which_nothing_is_explained_stops_no_other() -> None:
    family = Family(addition, [2, 3])
    data = {2: Examples(torch.zeros(3, 2, 4), [97, 98, 99]), 3: examples(family[3], 40)}

    def small(task: Task) -> list[Stage]:
        return grounding_stages(task, epochs=12, optimizer=adam)

    def fit(data: Any) -> Learner:
        made = make_learner(family, small, unexplained="drop", batch_size=8)  # type: ignore[arg-type]
        return made.fit(data)

    records = fit(data).history_
    assert {record["unexplained"] for record in records} == {3}
    assert records[-1]["feasible"] > 0.5
    with pytest.raises(DataError, match="no example is left to train on"):
        fit({2: data[2]})


@pytest.mark.parametrize("objective", ["exact", "semantic"])
def test_dropping_is_training_on_the_others(objective: str) -> None:
    dropped, others = learner(objective, unexplained="drop"), learner(objective)
    data = examples(dropped.task, 80)
    dropped.fit(spoilt(data))
    others.fit(clean(data))
    assert [record["unexplained"] for record in dropped.history_] == [len(BAD)] * 4  # Stage II knows them too
    assert "unexplained" not in others.history_[0]
    for name, value in weights(dropped.network).items():
        assert torch.allclose(value, weights(others.network)[name], atol=1e-5), name
    for record, other in zip(dropped.history_, others.history_, strict=True):
        assert record["feasible"] == pytest.approx(other["feasible"])
        assert record["loss"] == pytest.approx(other["loss"], rel=1e-4)


def test_folder_summary_and_report_count_them(tmp_path: Path) -> None:
    made = learner(unexplained="drop")
    data = examples(made.task, 80)
    made.fit(spoilt(data), examples(made.task, 20, seed=1), out=tmp_path / "run")
    assert made.summary_["unexplained"] == len(BAD)
    assert made.summary_["unexplained_examples"] == BAD
    assert json.loads((tmp_path / "run" / "config.json").read_text())["settings"]["unexplained"] == "drop"
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"{len(BAD)} training examples: no symbols give their answer." in page
    assert "no symbols give their answer" in page
    with pytest.raises(CheckpointError, match="unexplained was drop, is raise"):
        learner(unexplained="raise").fit(spoilt(data), out=tmp_path / "run", resume=True)


def run(folder: Path, stop: int = 0, resume: bool = False) -> Learner:
    made = learner("guided", unexplained="drop")
    data = spoilt(examples(made.task, 80))
    return made.fit(data, examples(made.task, 20, seed=1), out=folder, resume=resume, observer=stop_at(stop))


def test_a_resumed_run_still_knows_them(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    for stop in (4, 12, 22):  # in the first epoch, in the second, in Stage II
        with pytest.raises(Stop):
            run(tmp_path / str(stop), stop)
        run(tmp_path / str(stop), resume=True)
        assert_same_run(tmp_path / str(stop), tmp_path / "whole")
    waiting = RunFolder.open(tmp_path / "whole").load_checkpoint()[0]["objective/0/waiting"]
    assert waiting.nonzero().flatten().tolist() == BAD
    assert waiting[BAD].tolist() == [EMPTY] * len(BAD)


SITES = 6


def numbers(tries: int = 0) -> Task:
    """Six digits, read as one number: one state for each answer, which random tries hardly meet."""
    space = Categorical([range(10)] * SITES)
    rule = Program(lambda *digits: sum(d * 10**i for i, d in enumerate(reversed(digits))), space, vectorised=True)
    return Task(space, rule, Enumeration(space, rule, cap=1000, tries=tries))


def pictures(count: int, seed: int = 0) -> Examples:
    chance = torch.Generator().manual_seed(seed)
    digits = torch.randint(10, (count, SITES), generator=chance)
    x = nn.functional.one_hot(digits, 10).float() + 0.1 * torch.randn(count, SITES, 10, generator=chance)
    return Examples(x, (digits @ 10 ** torch.arange(SITES).flip(0)).tolist(), digits)


def waiting_run(folder: Path | None, stop: int = 0, resume: bool = False, epochs: int = 8) -> Learner:
    task = numbers(tries=20)
    guided = Guided(task.inverse, RandomDrop(task.space, 2))
    with seeded(0):
        network = mlp(10, 10)
    stage = Stage("I", SoftenedGrounding(guided, Constant(1.0)), epochs, lambda p: torch.optim.Adam(p, lr=0.003))
    made = make_learner(task, [stage], network)
    return made.fit(pictures(300), pictures(50, 1), out=folder, resume=resume, observer=stop_at(stop))


@pytest.mark.filterwarnings("default:No first state")
def test_examples_without_a_first_state_wait_for_the_network() -> None:
    with pytest.warns(UserWarning, match=r"No first state was found for 2\d\d of 300 examples \(\d+, "):
        made = waiting_run(None, epochs=6)
    unstarted = [record["unstarted"] for record in made.history_]
    assert 300 > unstarted[0] > 100  # the untrained network has few of the symbols right
    assert unstarted == sorted(unstarted, reverse=True)
    assert unstarted[-1] == 0
    assert {record["grounded_symbols"] for record in made.history_} == {1.0}  # of those that have a state: the only one
    assert made.results_["I"]["symbol_accuracy"] > 0.95
    assert bool(made.task.feasible(chains_of(made), made.loop.parts[0].y).all())


@pytest.mark.filterwarnings("default:No first state")
def test_a_run_with_waiting_examples_resumes_bit_for_bit(tmp_path: Path) -> None:
    waiting_run(tmp_path / "whole", epochs=2)
    with pytest.raises(Stop):
        waiting_run(tmp_path / "stopped", 14, epochs=2)  # in the second epoch
    waiting_run(tmp_path / "stopped", resume=True, epochs=2)
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")
    folder = RunFolder.open(tmp_path / "whole")
    waiting = folder.load_checkpoint()[0]["objective/0/waiting"]
    assert set(waiting.tolist()) <= {0, WAITS}
    assert int((waiting == WAITS).sum()) == folder.read_metrics()[-1]["unstarted"] > 0
    page = (tmp_path / "whole" / "report.html").read_text()
    assert "no feasible symbols were found" in page


@pytest.mark.filterwarnings("default:No first state")
def test_a_batch_in_which_all_wait_teaches_nothing() -> None:
    class Blind(Enumeration):
        def fibre(self, z: Tensor, y: Tensor, dropped: Any) -> Any:
            found = super().fibre(z, y, dropped)
            return type(found)(found.values, torch.zeros_like(found.mask), found.complete)

        def feasible(self, z: Tensor, y: Tensor) -> Tensor:
            return torch.zeros(len(z), dtype=torch.bool)

    task = numbers()
    task = Task(task.space, task.constraint, Blind(task.space, task.constraint, cap=1000, tries=0))
    guided = Guided(task.inverse, RandomDrop(task.space, 2))
    made = make_learner(task, [Stage("I", SoftenedGrounding(guided, Constant(1.0)), 2, adam)], mlp(10, 10))
    before = weights(made.network)
    made.fit(pictures(40))
    assert [record["unstarted"] for record in made.history_] == [40, 40]
    assert [record["loss"] for record in made.history_] == [0.0, 0.0]
    assert equal(weights(made.network), before)


def test_processes_keep_step_whatever_was_left_out() -> None:
    """One process has three examples left and another ten: both take as many steps."""
    left = SimpleNamespace(trained=lambda: torch.tensor([0, 2, 4, *range(1, 20, 2)]))

    def dealt(rank: int) -> list[Any]:
        part: Any = SimpleNamespace(fabric=SimpleNamespace(global_rank=rank, world_size=2), unexplained=left)
        return deal_batches([part], 3, torch.Generator().manual_seed(0))

    few, many = dealt(0), dealt(1)
    assert len(few) == len(many) == 5
    assert [count for *_, count in few] == [count for *_, count in many] == [3, 3, 3, 3, 1]
    for batches, count in ((few, 3), (many, 10)):
        assert torch.cat([own for _, own, idle, _ in batches if not idle]).sort().values.tolist() == list(range(count))
        assert all(own.tolist() == [0] for _, own, idle, _ in batches if idle)


def test_the_estimator_takes_the_option() -> None:
    data = spoilt(examples(addition(), 80))
    rule = addition().constraint
    with pytest.raises(InfeasibleAnswer):
        SoftGrounder(rule, epochs=1, device="cpu").fit(data.x, data.y)
    fitted = SoftGrounder(rule, epochs=1, device="cpu", unexplained="drop").fit(data.x, data.y)
    assert fitted.learner_.history_[0]["unexplained"] == len(BAD)


def test_with_a_noise_level_they_are_suspects_for_certain(tmp_path: Path) -> None:
    made = learner(unexplained="drop", noise=0.1)
    made.fit(spoilt(examples(made.task, 80)), examples(made.task, 20, seed=1), out=tmp_path / "run")
    with (tmp_path / "run" / "suspects.csv").open() as file:
        certain = {int(row["example"]) for row in csv.DictReader(file) if float(row["meant"]) == 0}
    assert certain == set(BAD)
    assert all(0 < record["noise"] < 0.5 for record in made.history_[:3])


def test_readings_are_completed_with_up_to_a_thousand_combinations() -> None:
    space = Categorical([range(10)] * 4)
    task = Task(space, Program(lambda *digits: sum(digits), space, vectorised=True))
    zeros = space.belief(torch.eye(10)[torch.zeros(2, 4, dtype=torch.long)])
    z, found = completed_readings(task, zeros, task.constraint.encode([27, 28]), Sampler(0))
    assert found.tolist() == [True, False]  # three digits may change, and add up to 27 at most
    assert sorted(z[0].tolist()) == [0, 9, 9, 9]


def test_completed_readings_keep_what_is_known() -> None:
    task = numbers()
    data = pictures(40)
    assert data.symbols is not None
    known = torch.where(torch.rand(40, SITES, generator=torch.Generator().manual_seed(0)) < 0.7, data.symbols, -1)
    belief = task.space.belief(torch.zeros(40, SITES, 10)).given(known)
    z, found = completed_readings(task, belief, task.constraint.encode(data.y), Sampler(0))
    assert bool(found.any())
    assert bool(((z == known) | (known < 0))[found].all())
    assert torch.equal(z[found], data.symbols[found])
