"""Wrong answers: weights, gradients, a learnt level, suspects; and what is refused."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cli_cases import read
from learner_cases import DIGITS, adam, addition, assert_same_run, classifier, examples, kernel, make_learner
from lessons import Lesson
from reals import PROBLEMS as REALS
from softground import All, Categorical, Examples, Learner, Program, Scan, SoftGrounder, Stage, Sum, Task
from softground.cli import main
from softground.errors import LearnerError
from softground.inverses import Enumeration
from softground.schedules import Constant
from softground.target import Target
from softground.tasks.sudoku import sudoku_task
from softground.training import Noise, SemanticLoss, SoftenedGrounding, Supervised, TrainingSet, ZeroDegree

LEVEL = 0.2
PARTS = All([Sum([0, 1]), Sum([1, 2]), Sum([1, 3])], Categorical([range(3)] * 4))


def noisy(task: Task, count: int = 400, share: float = 0.2) -> tuple[Examples, Tensor]:
    """Examples of which some have the sum of other digits, and which ones."""
    data = examples(task, count, seed=5)
    chance = torch.Generator().manual_seed(1)
    wrong = torch.rand(count, generator=chance) < share
    other = torch.randint(DIGITS, (count, task.space.sites), generator=chance).sum(1)
    y = [int(b) if bad else a for a, b, bad in zip(data.y, other, wrong, strict=True)]
    return Examples(data.x, y, data.symbols), torch.tensor([a != b for a, b in zip(data.y, y, strict=True)])


def meant(task: Task, belief: Any, y: Tensor, known: Tensor | None = None) -> Tensor:
    """How probably each answer is meant, for a task whose law is known."""
    noise = Noise(LEVEL).begin(TrainingSet(task, y, known))
    return noise.meant(task, belief, y, torch.arange(len(y)), LEVEL)


def mixture(task: Task, belief: Any, y: list[Any], known: Tensor | None = None) -> Tensor:
    """(1 − ε) M + ε R by brute force."""
    states = task.space.states(torch.arange(task.space.size))
    found = []
    for row, answer in enumerate(y):
        explain = torch.tensor([a == answer for a in task.constraint.compute(states)])
        if known is not None:
            pinned = (known[row] < 0) | (states == known[row])
            explain, possible = explain & pinned.all(1), pinned.all(1)
        else:
            possible = torch.ones(len(states), dtype=torch.bool)
        mass = belief.rows(torch.full((len(states),), row)).log_prob(states).exp()[explain].sum()
        found.append((1 - LEVEL) * mass + LEVEL * explain.sum() / possible.sum())
    return torch.stack(found)


def test_the_gradient_is_that_of_the_mixture() -> None:
    task = addition()
    y = [3, 4, 9, 0]
    codes = task.constraint.encode(y)
    output = torch.randn(4, 3, DIGITS, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    belief = task.space.belief(output)
    found = Lesson(SemanticLoss(), task, codes, terms=[Noise(LEVEL)]).loss(belief)
    assert ((found.figures["meant"] > 0) & (found.figures["meant"] < 1)).all()
    ours = torch.autograd.grad(found.loss, output, retain_graph=True)[0]
    exact = torch.autograd.grad(-mixture(task, belief, y).log().mean() / 3, output)[0]
    assert torch.allclose(ours, exact)


@pytest.mark.parametrize("sites", [20, 200, 1500])
def test_long_examples_are_weighed_in_logarithms(sites: int) -> None:
    """Of the answer "all are 1", M and R are less than any float, and their ratio is a product of moderate numbers."""
    space = Categorical([range(2)] * sites)
    rule = Scan(lambda state, symbol: state * symbol, space, start=1)
    output = torch.zeros(3, sites, 2)
    output[:, :5, 1] = torch.tensor([[0.8], [-0.3], [-2.0]])
    odds = (2 * output[:, :5].double().softmax(-1)[..., 1]).prod(-1)
    found = meant(Task(space, rule), space.belief(output), rule.encode([1, 1, 1]))
    assert torch.allclose(found, (1 - LEVEL) * odds / ((1 - LEVEL) * odds + LEVEL), atol=1e-4)


def test_known_symbols_count_on_both_sides() -> None:
    task = addition()
    y, known = [3, 4], torch.tensor([[1, -1, -1], [-1, -1, -1]])
    codes = task.constraint.encode(y)
    belief = task.space.belief(torch.randn(2, 3, DIGITS, dtype=torch.float64)).given(known)
    mass = task.inverse.law(Target(belief, codes, 1.0)).log_mass().exp()
    assert torch.allclose(meant(task, belief, codes, known), (1 - LEVEL) * mass / mixture(task, belief, y, known))


@pytest.mark.parametrize(
    "task",
    [
        addition(),
        sudoku_task(4),
        Task(PARTS.space, PARTS, Enumeration(PARTS.space, PARTS)),
        Task(s := Categorical([range(2), "+-", "abc"], readings="all"), Program(lambda *z: z, s)),
    ],
    ids=["addition", "sudoku", "parts", "all readings"],
)
def test_a_network_that_knows_nothing_leaves_all_at_one_weight(task: Task) -> None:
    answer = task.constraint.compute(torch.zeros(1, task.space.sites, dtype=torch.long))[0]
    y = task.constraint.encode([True if task.name == "sudoku" else answer] * 3)
    belief = task.space.belief(torch.zeros(3, task.space.sites, task.space.outputs))
    assert torch.allclose(meant(task, belief, y), torch.full((3,), 1 - LEVEL, dtype=torch.float64), atol=1e-5)


def test_parts_speak_as_if_every_site_spoke_once() -> None:
    """M and R are products over the parts, of which 6/4 touch a site on average, by brute force."""
    space, answers = PARTS.space, [(3, 2, 1), (0, 0, 0)]
    y = PARTS.encode(answers)
    belief = space.belief(torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    found = meant(Task(space, PARTS, Enumeration(space, PARTS)), belief, y)
    states = space.states(torch.arange(space.size))
    for row, answer in enumerate(answers):
        p = belief.rows(torch.full((space.size,), row)).log_prob(states).exp()
        holds = [states[:, piece.sites].sum(1) == own for piece, own in zip(PARTS.pieces, answer, strict=True)]
        odds = math.prod(float(p[part].sum() / part.double().mean()) for part in holds) ** (4 / 6)
        assert float(found[row]) == pytest.approx((1 - LEVEL) * odds / ((1 - LEVEL) * odds + LEVEL))


@pytest.mark.parametrize(("level", "name", "steps"), [("learn", "exact", 1), (0.2, "exact", 1), ("learn", "guided", 4)])
def test_wrong_answers_are_found(level: Any, name: str, steps: int) -> None:
    task = addition()
    data, wrong = noisy(task, 1500)
    objective = SoftenedGrounding(kernel(name, task), Constant(1.0), steps=steps)
    learner = make_learner(task, [Stage("I", objective, 8, adam)], noise=level)
    learner.fit(data, examples(task, 100, seed=9))
    found = {one.example for one in learner.suspects_}
    bad = set(wrong.nonzero().flatten().tolist())
    assert len(found & bad) > 0.95 * len(bad)
    assert len(found & bad) > 0.95 * len(found)
    assert learner.results_["I"]["symbol_accuracy"] > 0.97
    probability = [one.meant for one in learner.suspects_]
    assert probability == sorted(probability)
    assert max(probability) < 0.5
    share = learner.history_[-1]["noise"]
    assert level == "learn" or share == level
    assert abs(share - len(bad) / 1500) < 0.05  # some wrong answers are right by chance
    one = learner.suspects_[0]
    assert one.answer == str(data.y[one.example])
    assert one.gives != one.answer


def run(folder: Path, stop: int | None = None, resume: bool = False, noise: Any = "learn") -> Learner:
    task = addition()
    stages = [
        Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 2, adam),
        Stage("II", SoftenedGrounding(kernel("collapsed", task), Constant(0.5)), 2, adam),
    ]
    events = 0

    def observer(event: str, facts: dict[str, Any]) -> None:
        nonlocal events
        events += 1
        if events == stop:
            raise KeyboardInterrupt

    learner = make_learner(task, stages, classifier(dropout=0.2), noise=noise)
    return learner.fit(noisy(task, 64)[0], examples(task, 20, seed=1), out=folder, resume=resume, observer=observer)


def test_a_run_resumes_to_the_same_bits_and_leaves_a_list(tmp_path: Path) -> None:
    learner = run(tmp_path / "whole")
    for stop in (5, 8):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / f"{stop}", stop)
        run(tmp_path / f"{stop}", resume=True)
        assert_same_run(tmp_path / f"{stop}", tmp_path / "whole")
    for name in ("5", "whole"):
        with (tmp_path / name / "suspects.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [int(row["example"]) for row in rows] == [one.example for one in learner.suspects_]
    summary = read(tmp_path / "whole" / "summary.json")
    assert summary["suspects"]["count"] == len(learner.suspects_)
    assert summary["noise"] == min(max(1 - learner.history_[-1]["feasible"], 0.01), 0.5)
    assert learner.history_[0]["noise"] == 0.1
    assert learner.history_[1]["noise"] == 0.5  # hardly any answer is explained after one epoch
    assert "answer is probably wrong" in (tmp_path / "whole" / "report.html").read_text()
    with pytest.raises(Exception, match=r"noise was learn, is 0\.3"):
        run(tmp_path / "whole", resume=True, noise=0.3)


def test_labels_are_not_doubted() -> None:
    task = addition()
    data, _ = noisy(task, 64)
    nets = [classifier(), classifier()]
    for net, level in zip(nets, (0.0, 0.3), strict=True):
        make_learner(task, [Stage("SUP", Supervised(), 2, adam)], net, noise=level).fit(data)
    assert all(torch.equal(a, b) for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True))


@pytest.mark.parametrize("level", [1.0, -0.1, math.nan, "much", None, True])
def test_levels_that_are_none_are_refused(level: Any) -> None:
    with pytest.raises(LearnerError, match=r"expected the share of wrong answers, from 0 to below 1, or 'learn'"):
        make_learner(addition(), noise=level)


def test_what_no_probability_is_known_for_is_refused() -> None:
    task = addition(tabulated=False)
    chains = SoftenedGrounding(kernel("guided", task), Constant(1.0))
    for teacher in (chains, ZeroDegree()):
        with pytest.raises(LearnerError, match="does not know the law on S_y"):
            make_learner(task, [Stage("I", teacher, 1, adam)], noise=0.1).fit(examples(task, 32))
    real = REALS[0].rule
    reals = Task(real.space, real)
    with pytest.raises(LearnerError, match="needs symbols"):
        Noise(0.1).begin(TrainingSet(reals, torch.zeros(2)))


def test_the_estimator_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = examples(addition(), 64)
    model = SoftGrounder(lambda *digits: sum(digits), [range(4)] * 3, epochs=2, noise="learn", device="cpu")
    assert isinstance(model.fit(data.x, data.y).learner_.suspects_, list)
    size = ["--train-size", "60", "--epochs", "1", "--network", "lenet", "--no-augment", "--quiet", "--device", "cpu"]
    for level in ("0.1", "learn"):
        assert main(["train", "addition", *size, "--noise", level, "--out", str(tmp_path / level)]) == 0
        assert (tmp_path / level / "suspects.csv").read_text().startswith("example,answer,reading,gives,meant")
        assert main(["resume", str(tmp_path / level), "--quiet"]) == 0
    assert main(["train", "addition", *size, "--noise", "1.5", "--out", str(tmp_path / "bad")]) == 2
    assert "expected the share of wrong answers" in capsys.readouterr().err
