"""The composite likelihood: brute force part by part, what is empty, and learning from parts alone."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot as hot

import softground as sg
from baseline_cases import one_hot
from lessons import Lesson
from softground.errors import ConstraintError, InfeasibleAnswer, LearnerError
from softground.inverses import Z3, Scanned
from softground.inverses.joint import together
from softground.training import CompositeLikelihood, Moment, SoftenedGrounding, TrainingSet, parts_objective

SPACE = sg.Categorical([range(3)] * 4)
STATES = SPACE.states(torch.arange(SPACE.size))
PIECES = [sg.Sum([0, 1]), sg.Sum([2, 3]), sg.AllDifferent([1, 2, 3]), sg.Count([0, 3], {2})]
LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]  # of a 3×3 square
SQUARE = sg.Categorical([range(10)] * 9)


def task_of(pieces: list[Any], space: sg.Categorical = SPACE) -> sg.Task:
    """A task that would walk, were it not for its parts."""
    rule = sg.All(pieces, space)
    return sg.Task(space, rule, sg.inverses.Enumeration(space, rule))


def squares(count: int, seed: int = 0) -> sg.Examples:
    """3×3 digits and the sums of rows and columns; inputs are noisy one-hot vectors."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randint(10, (count, 9), generator=generator)
    return sg.Examples(one_hot(z, 10, generator), z[:, LINES].sum(2).tolist(), symbols=z)


def sums() -> sg.Task:
    return task_of([sg.Sum(line) for line in LINES], SQUARE)


def learner(task: sg.Task, epochs: int = 6, **given: Any) -> sg.Learner:
    with sg.seeded(0):
        network = nn.Linear(10, 10)
    stages = sg.grounding_stages(task, epochs=epochs, optimizer=lambda p: torch.optim.Adam(p, lr=0.1))
    return sg.Learner(task, network, stages, batch_size=16, **given)


@pytest.mark.parametrize(
    "schedule", [sg.schedules.Constant(1.0), sg.schedules.Constant(0.4), sg.schedules.Constant(1.0, warmup=1)], ids=repr
)
def test_the_gradient_is_that_of_the_parts_log_masses_by_brute_force(schedule: sg.schedules.Schedule) -> None:
    gamma = schedule.gamma(0)  # ∞ while warming up
    task = task_of(PIECES)
    y = task.constraint.encode([(2, 1, 1), (3, 2, 0)])
    output = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    lesson = Lesson(CompositeLikelihood(schedule), task, y)
    (found,) = torch.autograd.grad(lesson.loss(SPACE.belief(output)).loss, output)
    total = torch.zeros((), dtype=torch.float64)
    for row in range(2):
        for part in task.constraint.parts():
            holds = part.rule.feasible(STATES[:, part.sites], part.answers(y[row : row + 1]).expand(len(STATES)))
            own = torch.unique(STATES[holds][:, part.sites], dim=0)
            log_prob = output[row].log_softmax(-1)[list(part.sites), own].sum(1)
            q = (log_prob.detach() / gamma).softmax(0)  # at γ = 1 the gradient of the log-mass itself
            total = total - (log_prob.logsumexp(0) if gamma == 1 else (q * log_prob).sum())
    (expected,) = torch.autograd.grad(total / 2 / 9, output)  # 9 sites of all parts together
    assert torch.allclose(found, expected, atol=1e-12)
    assert float(expected.abs().max()) > 1e-3


def test_parts_of_a_kind_are_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    whole = Scanned.law
    monkeypatch.setattr(Scanned, "law", lambda self, target: (rows.append(len(target)), whole(self, target))[1])
    task, data = sums(), squares(5)
    lesson = Lesson(CompositeLikelihood(), task, task.constraint.encode(data.y))
    rows.clear()
    lesson.loss(SQUARE.belief(data.x))
    assert rows == [5 * 6]


def test_an_empty_part_is_found_before_training() -> None:
    data = squares(40)
    answers = list(data.y)
    answers[3] = [28, *answers[3][1:]]  # three digits add up to 27 at most
    broken = sg.Examples(data.x, answers)
    with pytest.raises(InfeasibleAnswer) as caught:
        learner(sums()).fit(broken)
    assert caught.value.examples == (3,)
    trained = learner(sums(), epochs=1, unexplained="drop").fit(broken)
    assert trained.history_[-1]["unexplained"] == 1


def contradicting(data: sg.Examples) -> sg.Examples:
    """Example 3 has a row that is one too much for the columns; no part is empty."""
    answers = [*data.y]
    answers[3] = [answers[3][0] + 1, *answers[3][1:]]
    return sg.Examples(data.x, answers)


def test_parts_that_contradict_each_other_are_found_before_training() -> None:
    with pytest.raises(InfeasibleAnswer) as caught:
        learner(sums()).fit(contradicting(squares(40)))
    assert caught.value.examples == (3,)
    trained = learner(sums(), epochs=1, unexplained="drop").fit(contradicting(squares(40)))
    assert trained.history_[-1]["unexplained"] == 1


def clocked(monkeypatch: pytest.MonkeyPatch, *ticks: float) -> None:
    """What the search for contradictions reads off its clock; the last one again and again."""
    times = itertools.chain(ticks, itertools.repeat(ticks[-1]))
    monkeypatch.setattr("softground.inverses.joint.time", SimpleNamespace(monotonic=times.__next__))


def swapped(data: sg.Examples) -> sg.Examples:
    """The contradicting example comes first."""
    return contradicting(data).rows([3, 0, 1, 2, *range(4, len(data))])


def test_who_had_no_time_to_look_for_all_contradictions_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch, 0.0, 0.0, 9.0, 9.0, 11.0)
    with pytest.warns(UserWarning, match="parts of 1 answers contradict each other.* unknown for 37 of 40 examples"):
        learner(sums(), epochs=1, unexplained="drop").fit(swapped(squares(40)))


def test_where_no_answer_contradicts_itself_little_time_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, seen = sums().constraint, []
    monkeypatch.setattr(Z3, "empty", lambda self, answer, codes: bool(seen.append(answer)))
    clocked(monkeypatch, 0.0, 0.0, 1.9, 2.1)
    data = squares(40)
    empty, undecided = together(rule, sg.inverses.Enumeration(SQUARE, rule), rule.encode(data.y))
    assert len(seen) == 2
    assert (int(empty.sum()), int(undecided.sum())) == (0, 38)


def test_parts_are_learnt_from_where_there_is_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inverses.joint.find_spec", lambda name: None)
    monkeypatch.setattr("softground.inverses.joint.Z3", None)
    assert len(learner(sums(), epochs=1).fit(squares(20)).history_) == 1


def test_a_resumed_run_leaves_out_what_the_first_one_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it has no time to find it again."""
    data, weights = contradicting(squares(40)), []

    def stop(event: str, facts: object) -> None:
        if event == "epoch":
            raise KeyboardInterrupt

    learner(sums(), epochs=2, unexplained="drop").fit(data, out=tmp_path / "one")
    with pytest.raises(KeyboardInterrupt):
        learner(sums(), epochs=2, unexplained="drop").fit(data, out=tmp_path / "two", observer=stop)
    nothing = torch.zeros(40, dtype=torch.bool)
    monkeypatch.setattr("softground.training.composite_likelihood.together", lambda *_: (nothing, nothing))
    resumed = learner(sums(), epochs=2, unexplained="drop").fit(data, out=tmp_path / "two", resume=True)
    assert resumed.loop.parts[0].unexplained.found == [3]
    for name in ("one", "two"):
        weights.append(sg.load(tmp_path / name / "model").network.state_dict())
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_known_symbols_hold_in_every_part() -> None:
    data = squares(20)
    known = torch.full_like(data.symbols, -1)
    known[:, 4] = data.symbols[:, 4]
    task = sums()
    y, teacher = task.constraint.encode(data.y), CompositeLikelihood().begin(task)
    assert teacher.remember(TrainingSet(task, y, known), 0) == {}
    assert teacher.parts is not None
    belief = SQUARE.belief(torch.zeros(20, 9, 10, dtype=torch.float64)).given(known)
    marginals = teacher.parts.marginals(belief.scores, *teacher.parts.answers(y))
    assert torch.allclose(marginals[:, 4], 2.0 * hot(data.symbols[:, 4], 10).double())
    wrong = sg.Examples(
        data.x, data.y, known=[[None] * 4 + [int(z)] + [None] * 4 for z in (data.symbols[:, 4] + 5) % 10]
    )
    with pytest.raises(ConstraintError, match="known symbols"):
        learner(sums()).fit(wrong)


def test_parts_alone_teach_the_digits() -> None:
    trained = learner(sums()).fit(squares(300))
    assert isinstance(trained.stages[0].objective, CompositeLikelihood)
    figures = trained.evaluate(squares(200, seed=1))
    assert figures["symbol_accuracy"] > 0.95
    assert figures["answer_accuracy"] > 0.7  # of the whole rule


def test_wrong_answers_are_found() -> None:
    data = squares(300)
    answers = [row if at % 10 else squares(1, seed=at + 1).y[0] for at, row in enumerate(data.y)]
    trained = learner(sums(), epochs=8, noise=0.1).fit(sg.Examples(data.x, answers, symbols=data.symbols))
    found = {one.example for one in trained.suspects_}
    assert len(found & {*range(0, 300, 10)}) > 27
    assert len(found) < 40


def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["epoch"] == 1:
            raise Stop

    whole = learner(sums(), epochs=3).fit(squares(60))
    with pytest.raises(Stop):
        learner(sums(), epochs=3).fit(squares(60), out=tmp_path / "run", observer=stop)
    resumed = learner(sums(), epochs=3).fit(squares(60), out=tmp_path / "run", resume=True)
    assert [h["loss"] for h in resumed.history_] == [h["loss"] for h in whole.history_]
    assert all(torch.equal(a, b) for a, b in zip(resumed.network.parameters(), whole.network.parameters(), strict=True))


def test_shapes_of_a_family_have_parts_of_their_own() -> None:
    def chain(sites: int) -> sg.Task:
        return task_of([sg.Sum([i, i + 1]) for i in range(sites - 1)], sg.Categorical([range(10)] * sites))

    generator, x, y = torch.Generator().manual_seed(0), [], []
    for at in range(200):
        z = torch.randint(10, (3 + at % 2,), generator=generator)
        x.append(one_hot(z, 10, generator))
        y.append((z[1:] + z[:-1]).tolist())
    with sg.seeded(0):
        network = nn.Linear(10, 10)
    family, data = sg.Family(chain, [3, 4]), sg.Examples.ragged(x, y)
    trained = sg.Learner(family, network, lambda task: sg.grounding_stages(task, epochs=6), batch_size=8).fit(data)
    assert trained.history_[-1]["loss"] < trained.history_[0]["loss"]


def test_who_has_no_parts_takes_another_objective() -> None:
    plain = sg.Program(lambda *z: sum(z), SQUARE)
    task = sg.Task(SQUARE, plain, sg.inverses.Enumeration(SQUARE, plain))
    assert parts_objective(task) is None
    assert isinstance(sg.grounding_stages(task)[0].objective, SoftenedGrounding)
    with pytest.raises(LearnerError, match=r"sg\.All"):
        CompositeLikelihood().begin(task)
    large = task_of([sg.Value(range(9), lambda *z: sum(z))], SQUARE)  # whose only part has no law either
    assert parts_objective(large) is None
    held, annealed = parts_objective(sums()), parts_objective(sums(), sg.schedules.Exponential())
    assert held is not None
    assert annealed is not None
    assert [made.numbers(Moment(epoch=3))["gamma"] for made in (held, annealed)] == [
        1.0,
        sg.schedules.Exponential().gamma(3),
    ]
