"""Labels beside answers: known symbols and anchors in fits, predictions, run folders and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Subset

from cli_cases import read
from learner_cases import adam, addition, assert_same_run, chains_of, classifier, examples, kernel, make_learner
from lessons import Lesson
from reals import PROBLEMS as REALS
from softground import SMT, Anchors, Categorical, Examples, Learner, PerSite, Program, SoftGrounder, Stage, Task
from softground.cli import main
from softground.data.known import known_codes, reveal
from softground.dice import Sampler
from softground.errors import CheckpointError, DataError, InfeasibleAnswer, LearnerError, SoftgroundError
from softground.learner.datasets import Batches
from softground.schedules import Constant, Exponential
from softground.training import Batch, Moment, SoftenedGrounding, Supervised, TrainingSet, ZeroDegree
from softground.training.labelled_inputs import LabelledInputs

CPU = torch.device("cpu")


def some_known(data: Examples, share: float = 0.3) -> Examples:
    return reveal(data, share, seed=0)


def anchors(data: Examples, task: Task, each: int = 2, **given: Any) -> Anchors:
    return Anchors.of(data, task.space, each, seed=0, **given)


def joined(
    task: Task, data: Examples, beside: Anchors, process: tuple[int, int] = (0, 1)
) -> tuple[LabelledInputs, Batch]:
    """A process's batch of all examples with anchors after them."""
    y = task.constraint.encode(data.y)
    term = LabelledInputs(beside).begin(TrainingSet(task, y, process=process))
    order = torch.Generator().manual_seed(0)
    batch = Batch(
        task=task, x=data.x, index=torch.arange(len(y)), answers=y, dice=Sampler(0), moment=Moment(), order=order
    )
    term.inputs(batch)
    return term, batch


def test_symbols_and_codes_say_the_same() -> None:
    space = Categorical([(1, 2, 3), "+-", (1, 2, 3)])
    codes = torch.tensor([[-1, 1, 2], [-1, -1, -1]])
    for given in (codes, codes.numpy(), [(None, "-", 3), None], np.array([(None, "-", 3), (None,) * 3], dtype=object)):
        assert torch.equal(known_codes(given, space, 2), codes)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([[0, 7, None]], r"Example 0 has the known symbol 7 at site 1; expected None or one of its alphabet, \[0, 1"),
        ([[0, 1]], r"Example 0 has the known symbols \[0, 1\]; expected 3"),
        (torch.tensor([[0, -1, 4]]), "Example 0 has the known code 4 at site 2; expected 0 to 3, or -1"),
        (torch.tensor([[0, -2, 0]]), "known code -2 at site 1"),
        (torch.tensor([[0, 1]]), r"shape \(1, 2\); expected codes"),
        (torch.tensor([[0.0, 1.0, 2.0]]), "float32"),
        (torch.tensor([[0, 0, 0], [1, 1, 1]]), "1 inputs but 2 rows of known symbols"),
    ],
)
def test_known_symbols_that_are_none_are_refused(known: Any, words: str) -> None:
    task = addition()
    with pytest.raises(DataError, match=words):
        make_learner(task).fit(Examples(torch.zeros(1, 3, 4), [3], known=known))


def test_reals_have_no_known_symbols() -> None:
    with pytest.raises(DataError, match="whose components are reals"):
        known_codes([[None]], REALS[0].rule.space, 1)


def rule(kind: str) -> Task:
    space = Categorical([range(4)] * 3)
    if kind == "smt":
        pytest.importorskip("z3")
        return Task(space, SMT(lambda z, y: sum(z) == y, space))
    return addition(tabulated=kind == "table")


@pytest.mark.parametrize("kind", ["table", "enumeration", "smt"])
def test_known_symbols_against_the_answer_are_named_before_anything_is_learnt(kind: str) -> None:
    task, data = rule(kind), examples(addition(), 8)
    known = torch.full((8, 3), -1)
    known[5] = data.symbols[5]  # type: ignore[index]
    known[5, 0] = (known[5, 0] + 1) % 4
    with pytest.raises(
        InfeasibleAnswer, match=r"1 example\(s\) are infeasible: 5 .*The known symbols contradict the answer"
    ) as e:
        make_learner(task).fit(Examples(data.x, data.y, known=known))
    assert e.value.examples == (5,)


def test_known_symbols_against_the_true_ones_are_named() -> None:
    data = examples(addition(), 8)
    known = torch.full((8, 3), -1)
    known[5, 1] = (data.symbols[5, 1] + 1) % 4  # type: ignore[index]
    with pytest.raises(DataError, match="Example 5 has another symbol at site 1"):
        make_learner(addition()).fit(Examples(data.x, data.y, data.symbols, known))


@pytest.mark.parametrize("name", ["guided", "collapsed", "uniform", "metropolis"])
def test_chains_keep_what_is_known(name: str) -> None:
    task = addition(tabulated=False)
    data = some_known(examples(task, 64))
    stage = Stage("I", SoftenedGrounding(kernel(name, task), Exponential(1.0, 0.8, warmup=1), steps=3), 3, adam)
    learner = make_learner(task, [stage]).fit(data)
    chains, known = chains_of(learner), data.known
    assert ((known < 0) | (chains == known)).all()
    assert task.feasible(chains, learner.loop.parts[0].y).all()
    assert (chains != data.symbols).any(), "the test shows nothing if all chains are right anyway"


def test_all_symbols_known_is_supervision() -> None:
    task = addition()
    data = examples(task, 64)
    told = Examples(data.x, data.y, known=data.symbols)
    nets = [classifier(), classifier()]
    make_learner(task, [Stage("I", Supervised(), 2, adam)], nets[0]).fit(data)
    make_learner(task, [Stage("I", ZeroDegree(), 2, adam)], nets[1]).fit(told)
    for one, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_only_unknown_symbols_count_in_training_figures() -> None:
    task = addition()
    data = some_known(examples(task, 65), 0.5)
    y, known, symbols = task.constraint.encode(data.y), data.known, data.symbols
    assert known is not None
    assert symbols is not None
    belief = task.space.belief(data.x)
    share = known.numel() / int((known < 0).sum())
    lesson = Lesson(SoftenedGrounding(kernel("guided", task), Constant(1.0)), task, y, known=known)
    figure = lesson.loss(belief, symbols=symbols, unknown=share).figures["grounded_symbols"]
    right = (lesson.memory["chains"] == symbols).double()
    assert float(figure.mean()) == pytest.approx(float(right[known < 0].mean()))
    free = Lesson(SoftenedGrounding(kernel("guided", task), Constant(1.0)), task, y)
    figure = free.loss(belief, symbols=symbols).figures["grounded_symbols"]
    assert torch.allclose(figure, (free.memory["chains"] == symbols).float().mean(1))
    learner = make_learner(task, [Stage("I", Supervised(), 1, lambda p: torch.optim.SGD(p, lr=0.0))]).fit(data)
    read = learner.predict_codes(data.x) == symbols
    assert learner.history_[0]["train_symbol_accuracy"] == pytest.approx(float(read[known < 0].double().mean()))


class Plain(Dataset[Any]):
    """A data set that is read item by item."""

    def __init__(self, data: Examples) -> None:
        self.data, self.known = data, data.known

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        return self.data[index]


def test_data_sets_of_any_kind_may_know_symbols() -> None:
    task = addition()
    data = some_known(examples(task, 40))
    rows = [3, 8, 21]
    for whole, index in (
        (data, slice(None)),
        (Plain(data), slice(None)),
        (Subset(data, rows), rows),
        (data.subset(9), slice(9)),
    ):
        batches = Batches(whole, CPU)
        batches.check(task.space)
        assert torch.equal(batches.known, data.known[index])  # type: ignore[arg-type]
    listed = Examples(data.x, data.y, known=[None] * 39 + [(0, None, 1)])
    batches = Batches(Subset(listed, [39]), CPU)
    batches.check(task.space)
    assert batches.known.tolist() == [[0, -1, 1]]  # type: ignore[union-attr]


@pytest.mark.parametrize("tabulated", [True, False])
def test_predictions_have_the_known_symbols_and_the_best_others(tabulated: bool) -> None:
    task = addition(tabulated=tabulated)
    data = examples(task, 30)
    known = data.symbols.clone()  # type: ignore[union-attr]
    known[:, 1:] = -1
    learner = make_learner(task, net=classifier(3))
    assert (learner.predict_codes(data.x, known=known)[:, 0] == known[:, 0]).all()
    found = learner.predict_codes(data.x, data.y, known=known)
    states = task.space.states(torch.arange(task.space.size))
    with torch.no_grad():
        belief = task.space.belief(learner.network(data.x))
    for row, state in enumerate(found):
        fits = (states.sum(1) == data.y[row]) & (states[:, 0] == known[row, 0])
        scores = belief.rows(torch.full((len(states),), row)).log_prob(states).masked_fill(~fits, -torch.inf)
        assert torch.equal(state, states[scores.argmax()])
    free = learner.predict_codes(data.x, known=known, constrained=True)
    assert torch.equal(free, learner.predict_codes(data.x, known=known))  # every state has a sum
    known[7] = torch.tensor([0, 0, 0])
    with pytest.raises(InfeasibleAnswer, match=r"1 example\(s\) are infeasible: 7") as e:
        learner.predict(data.x, [max(1, y) for y in data.y], known=known)
    assert e.value.examples == (7,)


def test_anchors_add_their_cross_entropy() -> None:
    task = addition()
    data = examples(task, 32)
    beside = anchors(data, task, 3, weight=0.5, batch=12)
    (term, batch), net = joined(task, data, beside), classifier()
    rows, codes = batch.added[term]
    assert rows == slice(32, 36)
    assert torch.equal(batch.x[:32], data.x)
    batch.outputs = task.space.belief(net(batch.x))
    term.loss(batch)
    (loss,) = batch.losses
    shown = batch.x[32:].flatten(0, 1)
    truth = [beside.symbols[int((beside.inputs == one).flatten(1).all(1).nonzero()[0])] for one in shown]
    assert codes.flatten().tolist() == truth
    expected = 0.5 * nn.functional.cross_entropy(net(shown), torch.tensor(truth))
    assert torch.allclose(loss, expected)
    parameters = list(net.parameters())
    for one, other in zip(*(torch.autograd.grad(v, parameters) for v in (loss, expected)), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_anchors_stand_where_their_symbol_can() -> None:
    space = Categorical([(1, 2), "+-", (2, 3), (9,)])
    task = Task(space, Program(lambda a, op, b, c: a, space))
    data = Examples(torch.zeros(4, 4, 5), [1] * 4)
    beside = Anchors(torch.arange(4.0)[:, None].expand(4, 5), [1, 2, "-", 3], batch=400)
    term, batch = joined(task, data, beside)
    x, codes = batch.x, batch.added[term][1]
    for anchor, row in zip(x[4:, :, 0].long().tolist(), codes.tolist(), strict=True):
        assert row[3] == -1  # no anchor shows a 9
        assert [space.alphabets[i][row[i]] for i in range(3)] == [beside.symbols[anchor[i]] for i in range(3)]
    assert {int(a) for a in x[4:, 0, 0]} == {0, 1}
    assert {int(a) for a in x[4:, 2, 0]} == {1, 3}


def test_processes_share_the_anchors_of_a_step() -> None:
    task = addition()
    data = examples(task, 32)
    beside = anchors(data, task, batch=24)
    alone, whole = joined(task, data, beside)
    for world in (2, 3, 8):
        dealt = [joined(task, data, beside, (rank, world)) for rank in range(world)]
        assert all(torch.equal(batch.added[term][1], whole.added[alone][1]) for term, batch in dealt)
        rows = torch.empty_like(whole.x[32:])
        for rank, (_, batch) in enumerate(dealt):
            rows[rank::world] = batch.x[32:]
        assert torch.equal(rows, whole.x[32:])


def test_a_few_anchors_teach_what_the_rule_cannot() -> None:
    space = Categorical([range(4)] * 3)
    task = Task(space, Program(lambda a, b, c: ((a - b) % 4, (b - c) % 4), space))  # says nothing of d → d + 1
    truth = examples(addition(), 300)
    digits = truth.symbols
    assert digits is not None
    y = [((a - b) % 4, (b - c) % 4) for a, b, c in digits.tolist()]
    data = Examples(truth.x, y, digits)

    def reads(beside: Anchors | None) -> float:
        net = classifier(1)
        stage = Stage("I", SoftenedGrounding(kernel("exact", task), Constant(1.0)), 6, adam)
        learner = make_learner(task, [stage], net).fit(data, data, anchors=beside)
        return float(learner.results_["I"]["symbol_accuracy"])

    assert reads(None) < 0.4
    assert reads(anchors(data, task, 1)) > 0.95


class Mixing(nn.Module):
    """A network whose sites see each other."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 12)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x.flatten(1)).view(len(x), 3, 4)
        return out


def test_a_network_that_reads_sites_together_is_refused() -> None:
    task = addition()
    data = examples(task, 32)
    with pytest.raises(LearnerError, match="depends on the inputs of other sites"):
        make_learner(task, net=Mixing()).fit(data, anchors=anchors(data, task))
    make_learner(task, net=nn.Sequential(classifier(), nn.BatchNorm1d(3))).fit(data, anchors=anchors(data, task))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"symbols": [0, 9]}, r"Anchors \[1\] show \[9\], which no site's alphabet has"),
        ({"symbols": [0]}, "2 anchors and 1 symbols"),
        ({"weight": 0.0}, "weight=0.0"),
        ({"weight": float("nan")}, "weight=nan"),
        ({"batch": 0}, "batch=0"),
        ({"inputs": torch.zeros(2, 5)}, r"Anchors have shape \(5,\) and examples \(3, 4\)"),
        ({"inputs": torch.zeros(2, 4, dtype=torch.uint8)}, "uint8 and examples torch.float32"),
        ({"inputs": torch.tensor([[0.0] * 4, [torch.nan] * 4])}, "Anchor 1 holds NaN"),
        ({"inputs": "a picture"}, "does not make one tensor"),
    ],
)
def test_anchors_that_do_not_fit_are_refused(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    task = addition()

    def fit() -> None:
        beside = Anchors(**({"inputs": torch.zeros(2, 4), "symbols": [0, 1]} | given))
        make_learner(task).fit(examples(task, 32), anchors=beside, out=tmp_path / "run")

    with pytest.raises(SoftgroundError, match=words):
        fit()
    assert not (tmp_path / "run").exists()


def labelled_run(folder: Path, stop: int | None = None, resume: bool = False, **other: Any) -> Learner:
    task = addition(tabulated=False)
    data = some_known(examples(task, 64))
    beside = anchors(data, task, **{name: other.pop(name) for name in ("weight",) if name in other})
    stages = [
        Stage("I", SoftenedGrounding(kernel("guided", task), Exponential(1.0, 0.7, warmup=1), steps=2), 2, adam),
        Stage("II", ZeroDegree(), 2, adam),
    ]
    events = 0

    def observer(event: str, facts: dict[str, Any]) -> None:
        nonlocal events
        events += 1
        if events == stop:
            raise KeyboardInterrupt

    learner = make_learner(task, stages, classifier(dropout=0.2))
    data = other.get("data", data)
    return learner.fit(data, examples(task, 20, seed=1), anchors=beside, out=folder, resume=resume, observer=observer)


def test_a_run_with_labels_resumes_to_the_same_bits_and_only_with_them(tmp_path: Path) -> None:
    labelled_run(tmp_path / "whole")
    for stop in (3, 6, 9):
        folder = tmp_path / f"{stop}"
        with pytest.raises(KeyboardInterrupt):
            labelled_run(folder, stop)
        labelled_run(folder, resume=True)
        assert_same_run(folder, tmp_path / "whole")
    kept = read(tmp_path / "whole" / "config.json")["data"]
    assert kept["known"]
    assert kept["anchors"]["weight"] == 1.0
    task = addition(tabulated=False)
    with pytest.raises(CheckpointError, match="the known symbols have changed"):
        labelled_run(tmp_path / "whole", resume=True, data=some_known(examples(task, 64), 0.2))
    with pytest.raises(CheckpointError, match="the anchors have changed"):
        labelled_run(tmp_path / "whole", resume=True, weight=0.5)


def test_the_estimator_takes_labels() -> None:
    task = addition()
    data = examples(task, 64)
    beside = anchors(data, task)
    model = SoftGrounder(lambda *digits: sum(digits), [range(4)] * 3, epochs=2, device="cpu")
    known = [(int(a), None, None) for a in data.symbols[:, 0]]  # type: ignore[index]
    model.fit(data.x, data.y, known=known, anchors=beside)
    assert (model.predict(data.x, known=known)[:, 0] == data.symbols[:, 0].numpy()).all()  # type: ignore[index]


def test_the_command_line_reveals_and_anchors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    size = ["--train-size", "60", "--epochs", "1", "--network", "lenet", "--no-augment", "--quiet", "--device", "cpu"]
    assert main(["train", "addition", *size, "--anchors", "1", "--known", "0.1", "--out", str(run)]) == 0
    config = read(run / "config.json")
    assert (config["recipe"]["anchors"], config["recipe"]["known"]) == (1, 0.1)
    assert len(config["data"]["anchors"]["symbols"]) == 10
    assert main(["resume", str(run), "--quiet"]) == 0
    for wrong in (["--anchors", "-1"], ["--known", "1.5"]):
        assert main(["train", "addition", *size, *wrong, "--out", str(tmp_path / "other")]) == 2
        assert "was given; expected" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):  # shortest paths have no symbols
        main(["train", "sdsp", "--anchors", "1"])


def test_images_of_bytes_are_anchors_too() -> None:
    space = Categorical([range(3)] * 2)
    task = Task(space, Program(lambda a, b: a + b, space))
    x = torch.randint(256, (20, 2, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    net = PerSite(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), (1, 8, 8))
    beside = Anchors(x[:3, 0], np.array([0, 1, 2]))
    assert beside.symbols == [0, 1, 2]
    make_learner(task, net=net).fit(Examples(x, [2] * 20), anchors=beside)
