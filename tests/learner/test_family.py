"""Several shapes in one data set: one network, one loop, batches of one shape, positions of the whole data set."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from learner_cases import Stop, adam, assert_same_run, classifier, kernel, stop_at
from softground.errors import DataError, InfeasibleAnswer, LearnerError, SoftgroundError
from softground.learner.datasets import parts_of
from softground.learner.loop import Loop
from softground.learner.trained_part import deal_batches, with_inputs
from softground.metrics import calibration_error, macro_f1
from softground.report.findings import Findings
from softground.report.watch import read_gallery
from softground.runs import RunFolder

CPU = torch.device("cpu")


def total(sites: int) -> sg.Task:
    space = sg.Categorical([range(4)] * sites)
    return sg.Task(space, sg.Program(lambda *digits: sum(digits), space), name="sums")


def make(shape: Any) -> sg.Task:
    """Sums of so many digits; or the rule of a name, for two of them."""
    if isinstance(shape, int):
        return total(shape)
    space = sg.Categorical([range(4)] * 2)
    rules = {"sum": lambda a, b: a + b, "pair": lambda a, b: 4 * a + b}
    return sg.Task(space, sg.Program(rules[shape], space), name="rules")


def ragged(count: int = 120, lengths: tuple[int, ...] = (1, 3, 2), seed: int = 0, **more: Any) -> sg.data.Ragged:
    """Sums of rows of digits, noisy one-hot vectors, of the lengths in turn."""
    chance = torch.Generator().manual_seed(seed)
    z = [torch.randint(4, (lengths[i % len(lengths)],), generator=chance) for i in range(count)]
    x = [torch.eye(4)[row] + 0.2 * torch.randn(len(row), 4, generator=chance) for row in z]
    return sg.Examples.ragged(x, [int(row.sum()) for row in z], z, **more)


def inputs(data: sg.data.Ragged) -> list[Tensor]:
    return [data[i][0] for i in range(len(data))]


def answers(data: sg.data.Ragged) -> list[Any]:
    return [data[i][1] for i in range(len(data))]


def guided(task: sg.Task, epochs: int = 3) -> list[sg.Stage]:
    walk: sg.kernels.Kernel = kernel("guided", task) if task.space.sites > 1 else sg.kernels.Exact(task.inverse)
    grounding = sg.training.SoftenedGrounding(
        walk, sg.schedules.Exponential(1.0, 0.7, warmup=1), steps=min(2, task.space.sites)
    )
    return [
        sg.Stage("I", grounding, epochs, adam, sg.learner.one_cycle()),
        sg.Stage("II", sg.training.ZeroDegree(), 1, adam),
    ]


def learner(family: Any, stages: Any = guided, **given: Any) -> sg.Learner:
    network = given.pop("network", None) or classifier(0)
    return sg.Learner(family, network, stages, **{"batch_size": 8, "device": "cpu"} | given)


def test_a_batch_has_one_shape_and_an_epoch_has_every_example_once() -> None:
    family, data = sg.Family(total, [1, 2, 3]), ragged(31)
    made = learner(family)
    loop = Loop(made)
    loop.prepare(parts_of(family, data, CPU))
    batches = deal_batches(loop.parts, 4, torch.Generator().manual_seed(0))
    order = [part.shape for part, *_ in batches]
    assert order != sorted(order)  # shapes are mixed, not one after the other
    assert order == [part.shape for part, *_ in deal_batches(loop.parts, 4, torch.Generator().manual_seed(0))]
    seen = []
    for part, index, x, idle in with_inputs(batches):
        assert not idle
        assert x.shape[1] == part.shape
        places = part.data.at(index).tolist()
        assert all(torch.equal(one, data[place][0]) for one, place in zip(x, places, strict=True))
        seen += places
    assert sorted(seen) == list(range(31))


@pytest.mark.parametrize("stages", [None, guided])
def test_lengths_are_learnt_together_and_measured_apart(stages: Any) -> None:
    if stages is None:
        stages = lambda task: sg.grounding_stages(task, epochs=8)  # noqa: E731
    train, test = ragged(240), ragged(50, seed=1)
    made = learner(sg.Family(total, [2, 1, 3]), lambda task: stages(task)).fit(train, test)
    figures = made.results_[made.stages[-1].name]
    assert figures["symbol_accuracy"] > 0.9
    counts = {shape: len(part) for shape, part in test.parts.items()}
    for name in ("answer_accuracy", "symbol_accuracy"):
        own = {shape: figures[f"shape_{shape}_{name}"] for shape in counts}
        assert figures[name] == pytest.approx(sum(counts[s] * own[s] for s in counts) / 50)
        for shape, part in test.parts.items():  # as a task of its own would have them
            alone = sg.model.Model(made.network, total(shape).space, total(shape)).evaluate(part)
            assert own[shape] == alone[name]
    record = made.history_[-1]
    each = [record[f"shape_{shape}_feasible"] for shape in counts]
    assert record["feasible"] == pytest.approx(sum(each) / 3)  # 80 of each
    assert made.evaluate(test) == figures
    read = zip(made.predict(inputs(test)), answers(test), strict=True)
    assert made.grounded(test) == sum(sum(z) == y for z, y in read)


def test_figures_of_shapes_of_unequal_size_are_plain_counts() -> None:
    """8 examples of one digit and 32 of two, read by a network that is never changed."""
    data = ragged(40, (1, 2, 2, 2, 2))
    stages = [sg.Stage("I", sg.training.SoftenedGrounding(), 1, lambda p: torch.optim.SGD(p, lr=0.0))]
    made = learner(sg.Family(total, [1, 2]), lambda task: stages).fit(data, data)
    true = {
        place: symbols
        for shape, part in data.parts.items()
        for place, symbols in zip(data.positions[shape].tolist(), part.symbols, strict=True)
    }
    rows = [(*data[i][:2], true[i]) for i in range(40)]
    z, loss, grounded = made.predict(inputs(data)), 0.0, 0.0
    explained = [sum(read) == y for read, (_, y, _) in zip(z, rows, strict=True)]
    right = [
        sum(a == b for a, b in zip(read, row[2].tolist(), strict=True)) / len(read)
        for read, row in zip(z, rows, strict=True)
    ]
    for x, y, symbols in rows:
        p = made.network(x).detach().double().softmax(-1)
        states = [s for s in itertools.product(range(4), repeat=len(x)) if sum(s) == y]
        weights = torch.stack([p[range(len(x)), list(state)].prod() for state in states])
        q = torch.zeros_like(p)
        for state, weight in zip(states, weights / weights.sum(), strict=True):
            q[range(len(x)), list(state)] += weight
        loss -= float((q * p.log()).sum()) / len(x)
        grounded += float(q[range(len(x)), symbols].mean())
    record, figures = made.history_[0], made.results_["I"]
    assert record["feasible"] == figures["answer_accuracy"] == pytest.approx(sum(explained) / 40)
    assert record["train_symbol_accuracy"] == pytest.approx(sum(right) / 40)
    assert figures["symbol_accuracy"] == pytest.approx(sum(right) / 40)
    assert record["grounded_symbols"] == pytest.approx(grounded / 40, rel=1e-5)
    assert record["loss"] == pytest.approx(loss / 40, rel=1e-5)
    read, stand = ([int(s) for each in lists for s in each] for lists in (z, (row[2] for row in rows)))
    sure = torch.cat([made.network(row[0]).detach().softmax(-1).amax(-1) for row in rows])
    assert figures["symbol_ece"] == pytest.approx(calibration_error(sure, torch.tensor(read) == torch.tensor(stand)))
    assert figures["symbol_f1"] == pytest.approx(macro_f1(torch.tensor(read), torch.tensor(stand)))
    own = [figures[f"shape_{shape}_{name}"] for name in ("answer_accuracy", "symbol_accuracy") for shape in (1, 2)]
    assert own[0] != own[1]
    assert own[2] != own[3]  # else any weights would do


def test_a_task_is_the_family_of_one() -> None:
    """The same batches, draws and steps, so the same weights."""
    data = ragged(64, (2,))
    plain: Any = data.parts[2]
    exact = lambda task: sg.grounding_stages(task, epochs=3)  # noqa: E731
    alone, family = learner(total(2), exact), learner(sg.Family(total, [2]), exact)
    alone.fit(plain)
    family.fit(data)
    for one, other in zip(alone.network.parameters(), family.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_rule_for_each_example() -> None:
    chance = torch.Generator().manual_seed(0)
    z = torch.randint(4, (200, 2), generator=chance)
    shapes = ["sum" if i % 4 else "pair" for i in range(200)]
    y = [int(a + b) if shape == "sum" else int(4 * a + b) for shape, (a, b) in zip(shapes, z.tolist(), strict=True)]
    data = sg.Examples.ragged(list(torch.eye(4)[z]), y, list(z), shapes=shapes)
    made = learner(sg.Family(make, ["sum", "pair"]), lambda task: sg.grounding_stages(task, epochs=10)).fit(data, data)
    assert made.results_["I"]["shape_pair_answer_accuracy"] == made.results_["I"]["symbol_accuracy"] == 1
    assert made.predict(data) == [tuple(row) for row in z.tolist()]


def test_predictions_come_in_the_order_of_the_inputs() -> None:
    data = ragged(20)
    made = learner(sg.Family(total, [1, 2, 3]), network=nn.Identity())
    x, read = inputs(data), [tuple(one.argmax(-1).tolist()) for one in inputs(data)]
    assert made.predict(x) == read
    assert [tuple(z.tolist()) for z in made.predict_codes(x)] == read
    assert made.predict_answers(x) == [sum(z) for z in read]
    assert [p.shape for p in made.predict_proba(x)] == [(len(z), 4) for z in read]
    wanted = [y + 1 if y < len(z) else y - 1 for y, z in zip(map(sum, read), read, strict=True)]
    assert [sum(z) for z in made.predict(x, wanted)] == wanted
    known = [(3, *[None] * (len(z) - 1)) for z in read]
    assert made.predict(x, known=known) == [(3, *z[1:]) for z in read]
    assert made.predict([torch.eye(4)[[1, 2, 3, 0, 1]]]) == [(1, 2, 3, 0, 1)]  # a length that is made when it is read


def run(folder: Path, stop: int = 0, resume: bool = False) -> sg.Learner:
    made = learner(sg.Family(total, [1, 2, 3]), guided, network=classifier(0, dropout=0.3), evaluate_every=2)
    return made.fit(ragged(60), ragged(20, seed=1), out=folder, resume=resume, observer=stop_at(stop))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sg.Learner]:
    folder = tmp_path_factory.mktemp("family") / "run"
    return folder, run(folder)


@pytest.mark.parametrize("stop", [4, 15, 29, 33])  # in the first epoch, in the second, between stages, in Stage II
def test_a_run_of_several_shapes_resumes_to_the_same_bits(
    whole: tuple[Path, sg.Learner], tmp_path: Path, stop: int
) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", stop)
    run(tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole[0])


def test_what_a_run_folder_holds(whole: tuple[Path, sg.Learner]) -> None:
    folder, made = whole
    tensors = RunFolder.open(folder).load_checkpoint()[0]
    assert {name for name in tensors if name.startswith("objective/")} == {f"objective/0/{n}/chains" for n in (2, 3)}
    for part in made.loop.parts[1:]:  # the exact kernel of the first keeps none
        chains = tensors[f"objective/0/{part.shape}/chains"]
        assert chains.shape == (20, part.shape)
        assert bool(part.task.feasible(chains, part.y).all())
    assert made.summary_["grounded"] == made.grounded(ragged(60))
    own = {n: value for n, value in made.evaluate(ragged(60)).items() if not n.startswith("constrained_")}
    assert made.summary_["train"] == own
    findings = Findings.read(RunFolder.open(folder))
    assert findings is not None
    data = ragged(60)
    for shown in findings.watched:
        assert shown.truth == [
            str(int(c)) for c in data.parts[len(shown.truth or [])].symbols[data.places[shown.example][1]]
        ]  # type: ignore[union-attr]
        assert shown.answer == str(answers(data)[shown.example])
        assert sum(map(int, shown.grounded or [])) == answers(data)[shown.example]
    assert {len(shown.truth or []) for shown in findings.watched} == {1, 2, 3}
    true = torch.tensor(findings.matrices[0].counts)
    assert true.sum() == sum(len(x) for x in inputs(ragged(20, seed=1)))
    last = read_gallery(folder / "gallery.jsonl")[-1]
    assert sorted(map(len, last["predicted"])) == [1, 1, 2, 2, 3, 3]
    page = (folder / "report.html").read_text()
    assert "shape 3 symbol accuracy" in page


def test_another_family_is_not_resumed(whole: tuple[Path, sg.Learner], tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", 15)
    other = learner(sg.Family(total, [1, 2, 3]), guided, network=classifier(0, dropout=0.3), evaluate_every=2)
    data = ragged(60)
    moved = sg.data.Ragged(data.parts, {shape: data.positions[shape].flip(0) for shape in data.parts})
    with pytest.raises(SoftgroundError, match="training examples of shape 1 have changed"):
        other.fit(moved, ragged(20, seed=1), out=tmp_path / "run", resume=True)


def test_a_saved_model_reads_all_shapes(whole: tuple[Path, sg.Learner]) -> None:
    folder, made = whole
    model, test = sg.load(folder / "model", device="cpu"), ragged(20, seed=1)
    assert model.predict(inputs(test)) == made.predict(inputs(test))
    assert model.evaluate(test) == pytest.approx(made.evaluate(test))
    assert model.shape == {1: (1, 4), 2: (2, 4), 3: (3, 4)}
    two: Any = test.parts[2]
    assert model.of(2).evaluate(two)["answer_accuracy"] == model.evaluate(test)["shape_2_answer_accuracy"]
    with pytest.raises(DataError, match="shape 4 of 1 example"):
        model.predict([torch.zeros(4, 4)])
    given = sg.load(folder / "model", device="cpu", task=sg.Family(total, [1, 2, 3]))
    assert len(given.predict([torch.zeros(4, 4)])[0]) == 4


def test_errors_speak_of_positions_in_the_data_set() -> None:
    family, data = sg.Family(total, [1, 2, 3]), ragged(12)  # lengths 1, 3, 2, 1, 3, 2, …
    two = sg.Family({1: total(1), 2: total(2)})
    with pytest.raises(DataError, match=r"shape 3 of 4 example\(s\): 1, 4, 7, 10\. The family has 1, 2"):
        learner(two).fit(data)
    wrong = answers(data)
    wrong[4], wrong[8] = 99, 98
    with pytest.raises(InfeasibleAnswer, match=r"8 \(answer 98\).*4 \(answer 99\)") as error:
        learner(family).fit(sg.Examples.ragged(inputs(data), wrong))
    assert error.value.examples == (4, 8)
    known: list[Any] = [None] * 12
    known[7] = (1, 9, None)
    with pytest.raises(DataError, match="Example 7 has the known symbol 9 at site 1"):
        learner(family).fit(sg.Examples.ragged(inputs(data), answers(data), known=known))
    x = inputs(data)
    x[5] = x[5] * torch.nan
    with pytest.raises(DataError, match=r"input of example 5 is NaN"):
        learner(family).fit(sg.Examples.ragged(x, answers(data)))
    with pytest.raises(DataError, match="input of example 5 is NaN"):
        learner(family).predict(x)
    with pytest.raises(InfeasibleAnswer) as error:
        learner(family).predict(inputs(data), wrong)
    assert error.value.examples in ((4,), (8,))


def test_examples_that_nothing_explains_are_dropped_shape_by_shape(tmp_path: Path) -> None:
    data = ragged(30)
    wrong = [99 if i in (4, 8, 9) else y for i, y in enumerate(answers(data))]
    made = learner(sg.Family(total, [1, 2, 3]), unexplained="drop")
    made.fit(sg.Examples.ragged(inputs(data), wrong), out=tmp_path / "run")
    assert made.summary_["unexplained_examples"] == [4, 8, 9]
    assert made.history_[-1]["unexplained"] == 3


def test_examples_that_nothing_explains_are_named_for_all_shapes_at_once() -> None:
    data = ragged(30)
    wrong = [99 if i in (4, 8, 9) else y for i, y in enumerate(answers(data))]
    with pytest.raises(InfeasibleAnswer, match=r"shape .*; shape .*S_y is empty") as error:
        learner(sg.Family(total, [1, 2, 3])).fit(sg.Examples.ragged(inputs(data), wrong))
    assert error.value.examples == (4, 8, 9)
    assert str(error.value).count("Correct these examples") == 1


def test_suspects_are_named_by_their_positions() -> None:
    data = ragged(300, (2, 3))
    told = [0 if i % 20 == 1 else y for i, y in enumerate(answers(data))]
    made = learner(sg.Family(total, [2, 3]), lambda task: sg.grounding_stages(task, epochs=20), noise=0.2)
    made.fit(sg.Examples.ragged(inputs(data), told))
    wrong = {i for i in range(300) if told[i] != answers(data)[i]}
    found = {one.example for one in made.suspects_}
    assert len(found & wrong) > 0.9 * len(wrong) > 0
    assert len(found & wrong) > 0.9 * len(found)
    assert all(one.answer == "0" for one in made.suspects_ if one.example in wrong)


def test_known_symbols_and_anchors_of_several_shapes() -> None:
    data = ragged(60)
    true = [data.parts[shape].symbols[row] for shape, row in data.places]
    known = [(int(z[0]), *[None] * (len(z) - 1)) for z in true]
    made = learner(sg.Family(total, [1, 2, 3]))
    made.fit(sg.Examples.ragged(inputs(data), answers(data), known=known), anchors=sg.Anchors(torch.eye(4), range(4)))
    for part in made.loop.parts[1:]:
        chains = part.memory[0]["chains"]
        expected = [known[place][0] for place in part.places]
        assert chains[:, 0].tolist() == expected


def test_what_is_refused() -> None:
    with pytest.raises(SoftgroundError, match="dict of tasks by shape"):
        sg.Family({2: total(2)}, [2])
    with pytest.raises(SoftgroundError, match="twice"):
        sg.Family(total, [2, 2])
    with pytest.raises(SoftgroundError, match="expected at least one"):
        sg.Family({})
    letters = sg.Categorical(["ab"] * 3)
    with pytest.raises(SoftgroundError, match="shape 3 has symbols"):
        sg.Family({2: total(2), 3: sg.Task(letters, sg.Program(lambda *z: "".join(z), letters))})
    with pytest.raises(SoftgroundError, match="No task serves the shape 9"):
        sg.Family({2: total(2)})[9]
    family = sg.Family(total, [1, 2])
    with pytest.raises(LearnerError, match="teachers of their own"):
        learner(family, sg.grounding_stages(total(2)))
    with pytest.raises(LearnerError, match="epochs"):
        learner(family, lambda task: sg.grounding_stages(task, epochs=task.space.sites))
    with pytest.raises(DataError, match=r"No task serves the shape 3 of 2 example\(s\): 1, 4\. The family has 1, 2"):
        learner(family).fit(ragged(6))
    with pytest.raises(SoftgroundError, match="not empty"):
        sg.Family({"": total(2)})
    with pytest.raises(DataError, match=r"Examples 0 and 2 have .* true symbols of \(2,\) .* and \(1,\)"):
        sg.Examples.ragged([torch.zeros(2, 4)] * 3, [1, 2, 3], [[0, 1], [0, 1], [0]])
    with pytest.raises(DataError, match="make a Family"):
        learner(total(2)).fit(ragged(6))
    with pytest.raises(DataError, match="3 inputs but 2 of y"):
        sg.Examples.ragged([torch.zeros(2, 4)] * 3, [1, 2])
    with pytest.raises(DataError, match="Examples 0 and 2 have the same shape"):
        sg.Examples.ragged([torch.zeros(2, 4), torch.zeros(3, 4), torch.zeros(2, 5)], [1, 2, 3])
    with pytest.raises(SoftgroundError, match="every symbol of the alphabets"):
        sg.Categorical(["abc"], symbols="ab")


def test_what_takes_one_task_says_so(whole: tuple[Path, sg.Learner]) -> None:
    family: Any = sg.Family(total, [1, 2])
    with pytest.raises(LearnerError, match="a function"):
        sg.grounding_stages(family)
    with pytest.raises(SoftgroundError, match="one at a time"):
        sg.inspect(family, [1])


def test_the_symbols_of_a_shared_network_may_be_more_than_a_space_shows() -> None:
    """A formula of one digit is read by a network that knows operators as well."""
    one = sg.Categorical([range(3)], readings="all", symbols=(0, 1, 2, "+"))
    z = one.belief(torch.tensor([[[0.0, 1, 0, 9]], [[0.0, 1, 0, 0]]])).mode()
    assert one.decode(z) == [("+",), (1,)]
    assert one.holds(z).tolist() == [False, True]
    assert one.outputs == 4


def test_estimator_with_lists_of_different_lengths(tmp_path: Path) -> None:
    data = ragged(240)
    x, y = [one.numpy() for one in inputs(data)], answers(data)
    by_alphabets = sg.SoftGrounder(lambda *z: sum(z), lambda n: [range(4)] * n, epochs=8, device="cpu").fit(x, y)
    by_rule = sg.SoftGrounder(total, epochs=8, device="cpu").fit(x, y)
    by_family = sg.SoftGrounder(sg.Family(total, [1, 2, 3]), epochs=8, device="cpu").fit(x, y)
    flat = [one.reshape(-1) for one in x]
    by_size = sg.SoftGrounder(total, site_shape=(4,), epochs=8, device="cpu").fit(flat, y)
    read = by_alphabets.predict(x)
    assert [len(z) for z in read] == [len(one) for one in x]
    assert by_alphabets.score(x, y) > 0.9
    assert read == by_rule.predict(x) == by_family.predict(x) == by_size.predict(flat)
    by_alphabets.save(tmp_path / "model")
    assert sg.SoftGrounder.load(tmp_path / "model").predict(x) == read
    with pytest.raises(DataError, match="one number of sites"):
        sg.SoftGrounder(lambda *z: sum(z), [range(4)] * 2, device="cpu").fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by_rule.predict_answers(x[:3]) == [sum(z) for z in read[:3]]
