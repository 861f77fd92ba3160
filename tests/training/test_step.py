"""The step itself: terms in any order, new terms from hooks alone, nothing asked of the device, nothing shared."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from learner_cases import adam, addition, classifier, equal, examples, kernel, make_learner, untimed, weights
from lessons import Lesson
from softground.data.anchors import Anchors
from softground.errors import LearnerError
from softground.learner import Learner
from softground.learner.recording import AsksDevice, NothingAsked
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
from softground.training.first_states import WAITING, WAITS
from softground.training.labelled_inputs import LabelledInputs
from softground.training.scaled import Scaled as Likelihoods
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
        dice, chance = sg.dice.Sampler(0), torch.Generator().manual_seed(0)
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


class Fixed(Teacher):
    """Teaches distributions that are given."""

    def __init__(self, q: Tensor) -> None:
        self.q = q

    def teach(self, batch: Batch) -> Tensor:
        return self.q[batch.index]


class Weighed(Term):
    """Examples count by numbers that are given."""

    def __init__(self, by: Tensor) -> None:
        self.by = by

    def weigh(self, batch: Batch) -> None:
        batch.scale(self.by[batch.index])


def fixed() -> tuple[Tensor, Tensor]:
    """Distributions of every site, and weights of every example, of which some are 0."""
    chance = torch.Generator().manual_seed(3)
    q = torch.rand(COUNT, 3, 4, generator=chance, dtype=torch.float64)
    return q / q.sum(-1, keepdim=True), torch.tensor([1.0, 0.5, 0.0, 0.25]).double().repeat(COUNT // 4)


INDEX = torch.tensor([7, 20, 2, 15, 4, 10])
ANCHORS = Anchors(torch.eye(4).double(), [0, 1, 2, 3], weight=0.7, batch=6)


def test_the_loss_is_the_formulas() -> None:
    """Weights do not change what the sum is divided by, known symbols are their own q, anchors are no examples."""
    (x, y, _, known), (q, by) = data(), fixed()
    net = classifier().double()
    lesson = Lesson(Fixed(q), TASK, y, known=known, terms=[Weighed(by), LabelledInputs(ANCHORS)])
    batch = replace(lesson.batch(None, INDEX, order=torch.Generator().manual_seed(0)), x=x[INDEX])
    found = step(batch, net, lesson.teacher, lesson.terms)
    log_p = net(x[INDEX]).log_softmax(-1)
    total, count, shown = log_p.new_zeros(()), 0, 0.0
    for b, example in enumerate(INDEX.tolist()):
        for i in range(3):
            told = int(known[example, i])
            each = log_p[b, i, told] if told >= 0 else (q[example, i] * log_p[b, i]).sum()
            weight = 1.0 if told >= 0 else float(by[example])
            total = total + weight * each
            count += weight > 0
            shown += each.item() * (weight > 0)
    assert 0 < count < 18
    rows, codes = batch.added[batch_term(lesson)]
    anchors = -net(batch.x[rows]).log_softmax(-1).gather(2, codes[..., None]).mean()
    expected = -total / count + 0.7 * anchors
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    ours, theirs = (torch.autograd.grad(loss, list(net.parameters())) for loss in (found, expected))
    assert all(torch.allclose(a, b, atol=1e-7) for a, b in zip(ours, theirs, strict=True))
    figure = batch.figures["loss"]
    assert figure.tolist() == pytest.approx([-shown / count + 0.7 * anchors.item()] * 6)
    assert batch.read.shape == (6, 3)


def batch_term(lesson: Lesson) -> Term:
    return next(term for term in lesson.terms if isinstance(term, LabelledInputs))


class Echo(Teacher):
    """Teaches what the evidence says."""

    def teach(self, batch: Batch) -> Tensor:
        return batch.evidence.marginals()


@pytest.mark.parametrize("shares", [([7, 20, 2], [15, 4, 10]), ([7, 20, 2, 15, 4], [10]), (INDEX.tolist(), [])])
def test_processes_together_descend_what_one_would(shares: tuple[list[int], list[int]]) -> None:
    """The mean of their gradients is that of all examples, though one has fewer, or none and only keeps step."""
    (x, y, _, known), (_, by) = data(), fixed()
    terms = Weighed(by), LabelledInputs(ANCHORS), Usage(), Noise(0.2), Likelihoods()
    net = classifier().double()

    def slope(index: list[int], process: tuple[int, int], total: Any) -> tuple[list[Tensor], float]:
        lesson = Lesson(Echo(), TASK, y, known=known)
        train = TrainingSet(TASK, y, known, process=process)
        own = [term.begin(train) for term in terms]
        rows = torch.tensor(index or [0])
        given = {"counts": float(bool(index)), "processes": process[1], "total": total}
        batch = lesson.batch(None, rows, order=torch.Generator().manual_seed(0), **given)
        loss = step(replace(batch, x=x[rows]), net, lesson.teacher, own)
        return list(torch.autograd.grad(loss, list(net.parameters()))), float(batch.figures["loss"][0])

    barrier, said = Barrier(2, timeout=30), [torch.zeros(())] * 2

    def together(rank: int) -> Any:
        def total(value: Tensor) -> Tensor:
            said[rank] = value
            barrier.wait()
            whole = said[0] + said[1]
            barrier.wait()
            return whole

        return slope(shares[rank], (rank, 2), total)

    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(together, range(2)))
    alone, loss = slope(INDEX.tolist(), (0, 1), lambda value: value)
    for a, b, whole in zip(both[0][0], both[1][0], alone, strict=True):
        assert torch.allclose((a + b) / 2, whole, atol=1e-7)
    assert [shown for _, shown in both] == pytest.approx([loss, loss])


def test_hooks_are_called_before_and_after_the_network_and_the_teacher() -> None:
    x, y, _, _ = data()
    calls: list[str] = []

    class Notes(Term):
        def __getattribute__(self, name: str) -> Any:
            if name in ("inputs", "evidence", "weigh", "loss"):
                calls.append(name)
            return super().__getattribute__(name)

    class Taught(Supervised):
        def teach(self, batch: Batch) -> Tensor:
            calls.append("teacher")
            assert not torch.equal(batch.evidence.scores, batch.reading.scores)
            assert batch.weight.min() == 0.5
            assert not batch.losses
            return super().teach(batch)

    class Network(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            calls.append("network")
            return classifier().double()(x)

    lesson = Lesson(Taught(), TASK, y, terms=[Notes(), Scaled(), Halved(), Notes()])
    batch = lesson.batch(None, INDEX, symbols=torch.zeros(6, 3, dtype=torch.long))
    calls.clear()
    step(replace(batch, x=x[INDEX]), Network(), lesson.teacher, lesson.terms)
    twice = [[name] * 2 for name in ("inputs", "evidence", "weigh", "loss")]
    assert calls == [*twice[0], "network", *twice[1], *twice[2], "teacher", *twice[3]]


def test_what_is_remembered_stands_in_the_rows_of_the_batch() -> None:
    x, y, _, known = data()
    walk = kernel("guided", TASK)
    belief = TASK.space.belief(classifier().double()(x[INDEX]).detach())
    for told in (None, known):
        lesson = Lesson(SoftenedGrounding(walk), TASK, y, known=told)
        before = lesson.memory["chains"].clone()
        given = belief if told is None else belief.given(told[INDEX])
        expected, _ = walk.step(sg.dice.Sampler(0), before[INDEX], sg.target.Target.at(given, y[INDEX], 1.0))
        lesson.loss(belief, INDEX, sg.dice.Sampler(0))
        after = lesson.memory["chains"]
        assert torch.equal(after[INDEX], expected)
        assert not torch.equal(after[INDEX], before[INDEX])
        others = torch.ones(COUNT, dtype=torch.bool).index_fill(0, INDEX, False)
        assert torch.equal(after[others], before[others])
        assert TASK.feasible(after, y).all()


def test_a_state_that_was_waited_for_stands_in_its_examples_row() -> None:
    x, y, _, _ = data()
    lesson = Lesson(SoftenedGrounding(kernel("guided", TASK)), TASK, y)
    chains, waiting = lesson.memory["chains"], torch.zeros(COUNT, dtype=torch.long)
    waiting[[15, 10, 3]] = WAITS
    chains[[15, 10, 3]] = -1  # no state at all
    lesson.memory[WAITING] = waiting
    batch = lesson.loss(TASK.space.belief(classifier().double()(x[INDEX]).detach()), INDEX).batch
    assert waiting.nonzero().flatten().tolist() == [3]
    assert batch.taught is not None
    assert batch.taught.tolist() == list(range(6))
    assert (chains[3] == -1).all()
    rest = torch.arange(COUNT) != 3
    assert TASK.feasible(chains[rest], y[rest]).all()


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
    return sg.Task(space, rule, sg.inverses.Enumeration(space, rule))


def taken(task: sg.Task, y: Tensor, teacher: Teacher, terms: Sequence[Term] = (), known: Tensor | None = None) -> None:
    """Two steps and their slopes; the second one may ask nothing of the device."""
    torch.manual_seed(0)
    net, x = nn.Linear(5, task.space.outputs), torch.randn(len(y), task.space.sites, 5)
    symbols = torch.zeros(len(y), task.space.sites, dtype=torch.long)
    lesson, index = Lesson(teacher, task, y, known=known, terms=terms), torch.arange(len(y))
    order = torch.Generator().manual_seed(0)

    def work() -> None:
        batch = replace(lesson.batch(None, index, sg.dice.Sampler(0), symbols=symbols, order=order), x=x)
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
    "exact, cold": SoftenedGrounding(schedule=sg.schedules.Constant(0.3)),
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
    ragged = replace(TASK, inverse=sg.inverses.Table(TASK.constraint, _padded=False))  # type: ignore[arg-type]
    with pytest.raises(AsksDevice):  # rows of different lengths
        taken(ragged, TASK.constraint.encode([3, 4]), SoftenedGrounding())


def trained(learner: Learner, seed: int) -> Any:
    return learner.fit(examples(TASK, 96, seed), quiet=True)


def same(one: Learner, other: Learner) -> bool:
    return untimed(one.history_) == untimed(other.history_) and equal(weights(one.network), weights(other.network))


@pytest.mark.parametrize("name", ["exact", "guided", "semantic", "open"])
def test_learners_with_the_same_stages_share_nothing(name: str) -> None:
    task = addition(tabulated=name != "open")

    more = {} if name == "open" else {"noise": 0.1}  # that rule has no exact law

    def stages() -> list[sg.Stage]:
        teacher = {"semantic": sg.training.SemanticLoss(), "open": SoftenedGrounding()}.get(name)
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
        LearnerError, match=r"has the objective Objective; expected a softground\.training\.Teacher.*0\.3 becomes"
    ):
        sg.Stage("I", old, 1, adam)
    for term in (OldTerm(), HalfOld()):
        terms: list[Any] = [Usage(), term]
        with pytest.raises(LearnerError, match=f"the term {type(term).__name__}; expected .* the batch alone"):
            sg.Stage("I", Supervised(), 1, adam, terms=terms)


def test_a_description_never_changes() -> None:
    _, y, _, known = data()
    for each in (SoftenedGrounding(), CompositeLikelihood(), sg.training.SemanticLoss(), Supervised(), ZeroDegree()):
        if not isinstance(each, CompositeLikelihood):
            assert isinstance(each.begin(TASK), Teacher)
        with pytest.raises(AttributeError):
            each.kernel = None  # type: ignore[union-attr, misc]
    term = Usage()
    assert term.begin(TrainingSet(TASK, y, known)) is not term
    assert term.prepared is None
