"""The step itself: terms in any order, new terms from hooks alone, nothing asked of the device, nothing shared."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from learner_cases import adam, addition, classifier, equal, examples, kernel, make_learner, untimed, weights
from lessons import Lesson
from softground.data.anchors import Anchors
from softground.errors import LearnerError
from softground.gpu.rehearsal import AsksDevice, NothingAsked
from softground.learner import Learner
from softground.tasks.addition import addition_task
from softground.training import (
    Batch,
    CompositeLikelihood,
    Noise,
    SoftenedGrounding,
    Supervised,
    Teacher,
    Term,
    TrainingSet,
    Usage,
    ZeroDegree,
)
from softground.training.labelled_inputs import LabelledInputs
from softground.training.step import step

TASK = addition()
COUNT = 24


class Scaled(Term):
    """The teacher goes by likelihoods: what is read often counts less."""

    def evidence(self, batch: Batch) -> None:
        often = batch.reading.marginals().mean((0, 1)).clamp(min=1e-3)
        batch.evidence = replace(batch.evidence, scores=batch.evidence.scores - 0.5 * often.log())


class Halved(Term):
    """Every other example counts by half."""

    def weigh(self, batch: Batch) -> None:
        batch.scale(torch.where(batch.index % 2 == 0, 1.0, 0.5))


def data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs, answers, symbols, and those that are known."""
    made: Any = examples(TASK, COUNT)
    known = torch.full((COUNT, 3), -1)
    known[::5, 1] = made.symbols[::5, 1]
    return made.x.double(), TASK.constraint.encode(made.y), made.symbols, known


@pytest.mark.parametrize("teacher", [SoftenedGrounding(), SoftenedGrounding(kernel("guided", TASK)), ZeroDegree()])
def test_terms_may_come_in_any_order(teacher: Teacher) -> None:
    x, y, _, known = data()
    anchors = Anchors(torch.eye(4).double(), [0, 1, 2, 3], batch=6)
    terms = [Noise(0.2), LabelledInputs(anchors), Usage(), Scaled(), Halved()]
    found = []
    for order in itertools.permutations(terms):
        net, losses = classifier().double(), []
        lesson = Lesson(teacher, TASK, y, known=known, terms=order)
        dice, chance = sg.Sampler(0), torch.Generator().manual_seed(0)
        descent = torch.optim.SGD(net.parameters(), lr=0.5)
        for rows in torch.arange(COUNT).split(8):
            batch = replace(lesson.batch(None, rows, dice, order=chance), x=x[rows])
            loss = step(batch, net, lesson.teacher, lesson.terms)
            descent.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            descent.step()
            losses.append(loss.detach())
        found.append(torch.cat([torch.stack(losses), *(weight.detach().flatten() for weight in net.parameters())]))
    assert len(found) == 120
    for other in found[1:]:
        assert torch.allclose(other, found[0], rtol=0, atol=1e-12)
    alone = Lesson(teacher, TASK, y, known=known, terms=terms[:1])
    assert not torch.isclose(alone.loss(TASK.space.belief(classifier().double()(x))).loss, found[0][0])


SMOOTHED = '''
"""Label smoothing: a known symbol gives a little of its probability to all others."""

from dataclasses import dataclass

from softground.training import Batch, Term


@dataclass(frozen=True)
class Smoothed(Term):
    amount: float = 0.1

    def loss(self, batch: Batch) -> None:
        if batch.known is not None:
            right = batch.belief.site_scores(batch.known.clamp(min=0))
            gap = (right - batch.belief.scores.mean(-1)) * (batch.known >= 0)
            batch.losses.append(self.amount * batch.mean(gap.mean(1)) / batch.processes)
'''


def test_a_new_term_is_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "smoothed.py").write_text(SMOOTHED, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("smoothed", tmp_path / "smoothed.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y, _, known = data()
    output = classifier().double()(x).detach().requires_grad_()
    lesson = Lesson(Nothing(), TASK, y, known=known, terms=[module.Smoothed(0.2)])
    (ours,) = torch.autograd.grad(lesson.loss(TASK.space.belief(output)).loss, output)
    rows = known >= 0
    labels = nn.functional.cross_entropy(output[rows], known[rows], label_smoothing=0.2, reduction="sum")
    (theirs,) = torch.autograd.grad(labels / COUNT / 3, output)
    assert torch.allclose(ours, theirs, atol=1e-12)
    whole: Any = examples(TASK, 96)
    told = sg.Examples(
        whole.x, whole.y, whole.symbols, known=torch.where(torch.arange(96)[:, None] % 8 == 0, whole.symbols, -1)
    )
    run = make_learner(TASK, [sg.Stage("I", SoftenedGrounding(), 3, adam, terms=[module.Smoothed()])]).fit(told)
    plain = make_learner(TASK, [sg.Stage("I", SoftenedGrounding(), 3, adam)]).fit(told)
    assert run.history_[-1]["loss"] < run.history_[0]["loss"]
    assert run.history_[0]["loss"] != plain.history_[0]["loss"]


class Nothing(Teacher):
    """Teaches nothing."""

    def teach(self, batch: Batch) -> None:
        return None


class Asks(Term):
    """Asks for a value, in one way or another."""

    def __init__(self, way: str) -> None:
        self.way = way

    def weigh(self, batch: Batch) -> None:
        if self.way == "item":
            batch.scale(torch.ones_like(batch.y) * batch.weight.sum().item())
        elif self.way == "nonzero":
            (batch.weight > 0).nonzero()
        elif self.way == "mask":
            batch.weight[batch.weight > 0]
        elif float(batch.weight.sum()) < 0:
            raise AssertionError


def parts() -> sg.Task:
    space = sg.Categorical([range(4)] * 3)
    rule = sg.All([sg.Sum([0, 1]), sg.Sum([1, 2])], space)
    return sg.Task(space, rule, sg.Enumeration(space, rule))


def taken(task: sg.Task, y: Tensor, teacher: Teacher, terms: Sequence[Term] = (), known: Tensor | None = None) -> None:
    """Two steps and their slopes; the second one may ask nothing of the device."""
    torch.manual_seed(0)
    net, x = nn.Linear(5, task.space.outputs), torch.randn(len(y), task.space.sites, 5)
    symbols = torch.zeros(len(y), task.space.sites, dtype=torch.long)
    lesson, index = Lesson(teacher, task, y, known=known, terms=terms), torch.arange(len(y))
    order = torch.Generator().manual_seed(0)

    def work() -> None:
        batch = replace(lesson.batch(None, index, sg.Sampler(0), symbols=symbols, order=order), x=x)
        step(batch, net, lesson.teacher, lesson.terms).backward()  # type: ignore[no-untyped-call]

    work()  # what is kept by device is made in the first step
    with NothingAsked():  # type: ignore[no-untyped-call]
        work()
    assert net.weight.grad is not None
    assert net.weight.grad.isfinite().all()
    assert net.weight.grad.any() or isinstance(teacher, ZeroDegree)


CASES: dict[str, tuple[Any, list[Any]]] = {
    "a table": (addition, [3, 4, 0, 9]),
    "a scan": (lambda: addition_task(2), [3, 40, 198, 0]),
    "parts": (parts, [(2, 1), (0, 0), (6, 6), (3, 4)]),
}
TEACHERS = {
    "exact": SoftenedGrounding(),
    "exact, cold": SoftenedGrounding(schedule=sg.Constant(0.3)),
    "parts": CompositeLikelihood(),
    "zero": ZeroDegree(),
    "labels": Supervised(),
}


@pytest.mark.parametrize("terms", [[], [Usage(), Noise(0.2), Halved()]], ids=["bare", "terms"])
@pytest.mark.parametrize(
    ("case", "teacher"), [(c, t) for c in CASES for t in TEACHERS if (c == "parts") == (t == "parts")]
)
def test_a_step_asks_the_device_for_nothing(case: str, teacher: str, terms: list[Term]) -> None:
    make, answers = CASES[case]
    task = make()
    y = task.constraint.encode(answers)
    known = torch.full((4, task.space.sites), -1)
    known[3, 0] = 0 if case != "parts" else 2
    if case == "a table":
        known[3, 0] = 3
    for each in (None, known):
        taken(task, y, TEACHERS[teacher], terms, each)


@pytest.mark.parametrize("way", ["item", "nonzero", "mask", "if"])
def test_whoever_asks_is_caught(way: str) -> None:
    with pytest.raises(AsksDevice, match="asks the device for values"):
        taken(TASK, TASK.constraint.encode([3, 4]), SoftenedGrounding(), [Asks(way)])
    ragged = replace(TASK, inverse=sg.Table(TASK.constraint, _padded=False))  # type: ignore[arg-type]
    with pytest.raises(AsksDevice):  # rows of different lengths
        taken(ragged, TASK.constraint.encode([3, 4]), SoftenedGrounding())


def trained(learner: Learner, seed: int) -> Any:
    return learner.fit(examples(TASK, 96, seed), quiet=True)


def same(one: Learner, other: Learner) -> bool:
    return untimed(one.history_) == untimed(other.history_) and equal(weights(one.network), weights(other.network))


@pytest.mark.parametrize("name", ["exact", "guided", "semantic", "open"])
def test_learners_with_the_same_stages_share_nothing(name: str) -> None:
    task = addition(tabulated=name != "open")

    more = {} if name == "open" else {"noise": 0.1}  # Stage II has no chains, and this rule no law

    def stages() -> list[sg.Stage]:
        teacher = {"semantic": sg.SemanticLoss(), "open": SoftenedGrounding()}.get(name)
        first = teacher or SoftenedGrounding(kernel(name, task), steps=2)
        return [sg.Stage("I", first, 2, adam, terms=[Usage()]), sg.Stage("II", ZeroDegree(), 1, adam)]

    def pair(common: list[sg.Stage] | None) -> list[Learner]:
        return [make_learner(task, common or stages(), classifier(seed), seed=seed, **more) for seed in (1, 2)]

    alone = [trained(learner, seed) for seed, learner in enumerate(pair(None))]
    shared = stages()
    described = repr(shared)
    for order in ((0, 1), (1, 0)):
        both = pair(shared)
        for at in order:
            trained(both[at], at)
        assert all(map(same, alone, both))
    both = pair(shared)
    threads = [Thread(target=trained, args=(learner, seed)) for seed, learner in enumerate(both)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(same, alone, both))
    assert repr(shared) == described


@pytest.mark.parametrize("name", ["exact", "guided", "metropolis", "none"])
def test_stages_made_for_another_task_train_against_the_learners_rule(name: str) -> None:
    own, space = addition(), sg.Categorical([range(4)] * 3)
    other = sg.Task(space, sg.Program(lambda a, b, c: (a - b) % 7 + 0 * c, space))

    def fit(task: sg.Task) -> Learner:
        stages = sg.grounding_stages(task, None if name == "none" else kernel(name, task), epochs=2, optimizer=adam)
        return make_learner(own, stages).fit(examples(own, 96), quiet=True)

    mixed = fit(other)
    assert same(fit(own), mixed)
    memory = mixed.loop.parts[0].memory[0]
    assert ("chains" in memory) is (name in ("guided", "metropolis"))
    if memory:
        assert own.constraint.feasible(memory["chains"], mixed.loop.parts[0].y).all()


def test_a_kernel_of_another_space_is_refused() -> None:
    longer = addition(4)
    with pytest.raises(LearnerError, match="made for another space than that of the task"):
        make_learner(TASK, sg.grounding_stages(longer, kernel("guided", longer), epochs=1)).fit(examples(TASK, 32))


def test_what_was_written_for_the_hooks_before_is_refused() -> None:
    class Objective:
        def begin(self, task: Any, y: Any, seed: int) -> None:
            raise AssertionError

        def loss(self, batch: Any) -> Any:
            raise AssertionError

    class OldTerm:
        def begin(self, task: Any) -> None:
            raise AssertionError

        def loss(self, task: Any, batch: Any, share: float) -> Any:
            raise AssertionError

    class HalfOld(Term):
        def loss(self, task: Any, batch: Any, share: float) -> Any:  # type: ignore[override]
            raise AssertionError

    old: Any = Objective()
    with pytest.raises(
        LearnerError, match=r"has the objective Objective; expected a softground\.Teacher.*0\.3 becomes"
    ):
        sg.Stage("I", old, 1, adam)
    for term in (OldTerm(), HalfOld()):
        terms: list[Any] = [Usage(), term]
        with pytest.raises(LearnerError, match=f"the term {type(term).__name__}; expected .* the batch alone"):
            sg.Stage("I", Supervised(), 1, adam, terms=terms)


def test_a_description_never_changes() -> None:
    _, y, _, known = data()
    for each in (SoftenedGrounding(), CompositeLikelihood(), sg.SemanticLoss(), Supervised(), ZeroDegree()):
        if not isinstance(each, CompositeLikelihood):
            assert isinstance(each.begin(TASK), Teacher)
        with pytest.raises(AttributeError):
            each.kernel = None  # type: ignore[union-attr, misc]
    term = Usage()
    assert term.begin(TrainingSet(TASK, y, known)) is not term
    assert term.prepared is None
