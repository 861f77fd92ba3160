"""What is saved reads the same afterwards: elsewhere, without the data, and without the user's function."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import softground
from learner_cases import addition, classifier, examples, make_learner
from softground import SMT, Categorical, Examples, Learner, Program, Scan, SoftGrounder, Task
from softground.cli.loading import read_examples
from softground.errors import CheckpointError, ConstraintError, DataError, LearnerError
from softground.inverses import Enumeration, Listing
from softground.model import Model
from softground.reals.gaussian import Gaussian


def product(a: int, b: int) -> int:
    """The rule of an estimator that can be pickled."""
    return 3 * a * b + a + b


def total(state: int, digit: int) -> int:
    return state + digit


def read(network: nn.Module, space: Categorical, task: Task) -> Model:
    return Model(network.eval(), space, task, shape=(space.sites, 4), dtype=torch.float32)


def again(model: Model, path: Path, **given: Any) -> Model:
    model.save(path)
    return softground.load(path, **{"device": "cpu"} | given)


def tasks() -> dict[str, tuple[Task, list[Any]]]:
    """Rules of every kind that can be kept, each with an answer for four inputs."""
    space, words = Categorical([range(4)] * 3), Categorical([(3, 1, 7), "ab", (True, False)])
    plain, pairs = (
        Program(lambda a, b, c: (a - b, c) if a else None, space),
        Program(_ratio, space, vectorised=True, partial=True),
    )
    cued = Scan(_carry, space, vectorised=True, cue=lambda y, site: y // 4**site % 4, accept=lambda s, y: s == 0)
    listed = Program(lambda *z: True if sum(z) == 4 else None, space)
    states = torch.tensor([z.tolist() for z in space.states(torch.arange(64)) if int(z.sum()) == 4])
    texts = Program(lambda a, b, c: f"{a}{b}" if c else None, words)
    backwards = Scan(lambda s, d, site: (s, d) if site else d, space, start="", order=[2, 1, 0])
    accepting = Scan(total, space, accept=lambda s, y: s < y)
    refusing = Scan(lambda s, d: s - d if s - d > -5 else None, words_of(4))
    return {
        "plain program": (Task(space, plain), [(0, 1), (2, 3), (-1, 0), (1, 1)]),
        "vectorised program": (Task(space, pairs), [Fraction(1, 2), 3, Fraction(2, 3), 1]),
        "texts": (Task(words, texts), ["3a", "7b", "1a", "1b"]),
        "listing": (Task(space, listed, Listing(space, states)), [True] * 4),
        "scan": (Task(space, Scan(total, space)), [3, 0, 9, 5]),
        "scan backwards": (Task(space, backwards), [0, 1, 2, 3]),
        "scan that refuses": (Task(refusing.space, refusing), [-4, 0, -2, -1]),
        "scan that accepts": (Task(space, accepting), [3, 1, 9, 5]),
        "scan with cues": (Task(space, cued), [0, 5, 63, 33]),
    }


def words_of(count: int) -> Categorical:
    return Categorical([(2, 0, 3, 1)] * count)


def _ratio(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    shared = torch.gcd(a + b, c).clamp(min=1)
    return (a + b) // shared, c // shared, c > 0


def _carry(state: Tensor, digit: Tensor, site: int, due: Tensor) -> Tensor:
    return torch.where(digit == due, state, -1)


@pytest.mark.parametrize("kind", tasks())
def test_the_rule_is_kept_without_its_function(kind: str, tmp_path: Path) -> None:
    task, y = tasks()[kind]
    torch.manual_seed(1)
    space = task.space
    network = nn.Linear(4, space.outputs)
    model, x = read(network, space, task), torch.rand(4, space.sites, 4)
    task.constraint.encode(y)
    loaded = again(model, tmp_path / "model")
    assert loaded.space.alphabets == space.alphabets
    assert loaded.predict(x) == model.predict(x)
    assert loaded.predict(x, y) == model.predict(x, y)
    assert loaded.predict(x, constrained=True) == model.predict(x, constrained=True)
    assert loaded.evaluate(Examples(x, y)) == model.evaluate(Examples(x, y))
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    try:
        answers = model.predict_answers(x)
    except ConstraintError:
        with pytest.raises(ConstraintError, match="checks answers"):
            loaded.predict_answers(x)
    else:
        assert loaded.predict_answers(x) == answers
    twice = again(loaded, tmp_path / "twice")
    assert twice.predict(x, y) == model.predict(x, y)
    assert pickle.loads(pickle.dumps(twice)).predict(x, y) == model.predict(x, y)


def test_a_scan_knows_the_answers_it_had_seen(tmp_path: Path) -> None:
    task, y = tasks()["scan with cues"]
    model, x = read(nn.Linear(4, 4), task.space, task), torch.rand(4, 3, 4)
    task.constraint.encode(y)
    loaded = again(model, tmp_path / "model")
    for _ in range(2):
        with pytest.raises(ConstraintError, match=r"answer 7 was not seen.*load\(path, task="):
            loaded.predict(x[:1], [7])
    assert loaded.predict(x, y) == model.predict(x, y)
    given = softground.load(tmp_path / "model", task=task, device="cpu")
    assert given.predict(x[:1], [7]) == model.predict(x[:1], [7])


@pytest.mark.parametrize("kind", ["enumeration", "smt"])
def test_a_rule_that_cannot_be_kept_can_be_given_back(kind: str, tmp_path: Path) -> None:
    space = Categorical([range(4)] * 3)
    program = Program(lambda *z: sum(z), space)
    if kind == "enumeration":
        task = Task(space, program, Enumeration(space, program))
    else:
        task = Task(space, SMT(lambda cells, y: sum(cells) == y, space))
    model, x = read(nn.Linear(4, 4), space, task), torch.rand(3, 3, 4)
    loaded = again(model, tmp_path / "model")
    assert loaded.predict(x) == model.predict(x)
    for ask in (lambda: loaded.predict(x, [3] * 3), lambda: loaded.evaluate(Examples(x, [3] * 3))):
        with pytest.raises(LearnerError, match=r"could not be saved.*load\(path, task="):
            ask()
    given = softground.load(tmp_path / "model", task=task, device="cpu")
    assert given.predict(x, [3] * 3) == model.predict(x, [3] * 3)
    other = Categorical([range(5)] * 3)
    with pytest.raises(CheckpointError, match="space"):
        softground.load(tmp_path / "model", task=Task(other, Program(lambda *z: 0, other)))


FRESH = """
import sys, json, torch, softground
model = softground.load(sys.argv[1], device="cpu")
x = torch.load(sys.argv[2], weights_only=True)
print(json.dumps([model.predict(x), model.predict(x, [3] * len(x)), model.predict_proba(x).tolist(), model.name]))
"""


def test_a_learner_s_model_reads_in_a_fresh_process_after_a_move(tmp_path: Path) -> None:
    space = Categorical([range(4)] * 3)
    task = Task(space, Program(lambda *z: sum(z), space), name="sums")
    x = examples(task, 20).x
    learner = make_learner(task).fit(examples(task))
    learner.save(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    torch.save(x, tmp_path / "x.pt")
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path / "there"), str(tmp_path / "x.pt")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    read, constrained, chances, name = json.loads(done.stdout)
    assert [tuple(z) for z in read] == learner.predict(x)
    assert [tuple(z) for z in constrained] == learner.predict(x, [3] * 20)
    np.testing.assert_allclose(chances, learner.predict_proba(x), rtol=1e-6)
    assert name == "sums"
    loaded = softground.load(tmp_path / "there")
    assert (loaded.shape, loaded.dtype) == ((3, 4), torch.float32)


class Own(nn.Module):
    """Nothing the library knows."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = -self.layer(x)
        return scores


def test_a_network_of_one_s_own_class_is_asked_for(tmp_path: Path) -> None:
    task, own = addition(), Own()
    learner = Learner(task, own, device="cpu")
    learner.save(tmp_path / "model")
    with pytest.raises(CheckpointError, match=r"a Own.*load\(path, network="):
        softground.load(tmp_path / "model")
    loaded = softground.load(tmp_path / "model", network=Own(), device="cpu")
    x = examples(task, 10).x
    assert loaded.predict(x) == learner.predict(x)
    with pytest.raises(CheckpointError, match="network"):
        softground.load(tmp_path / "model", network=nn.Linear(3, 3))


def test_probabilities_are_over_each_site_s_alphabet(tmp_path: Path) -> None:
    space = Categorical([(1, 2, 3), "+-"], head="site")
    model = Model(nn.Sequential(nn.Linear(4, 3)), space)
    x = torch.rand(5, 2, 4)
    chances = model.predict_proba(x)
    assert chances.shape == (5, 2, 3)
    np.testing.assert_allclose(chances.sum(-1), 1, rtol=1e-6)
    assert (chances[:, 1, 2] == 0).all()
    assert [space.alphabets[1][k] for k in chances[:, 1].argmax(-1)] == [z[1] for z in model.predict(x)]
    np.testing.assert_array_equal(model.predict_proba(x.numpy()), chances)


def test_reals_have_means(tmp_path: Path) -> None:
    model = Model(nn.Sequential(nn.Linear(4, 3)), Gaussian(3, 0.5), note="three reals", extra={"scale": (1, 2.5)})
    loaded, x = again(model, tmp_path / "model"), torch.rand(5, 4)
    assert (loaded.space.sites, loaded.space.sigma, loaded.note) == (3, 0.5, "three reals")
    assert loaded.extra == {"scale": (1, 2.5)}
    np.testing.assert_allclose(loaded.predict_proba(x), model.network(x).detach())


@pytest.mark.parametrize("damage", ["nothing", "no document", "bit", "short", "foreign", "format", "layer", "table"])
def test_a_damaged_or_foreign_folder_is_refused(damage: str, tmp_path: Path) -> None:
    task = addition()
    Learner(task, classifier(), device="cpu").save(tmp_path / "model")
    document, tensors = tmp_path / "model" / "model.json", tmp_path / "model" / "model.safetensors"
    data, facts = bytearray(tensors.read_bytes()), json.loads(document.read_text())
    if damage == "no document":
        document.unlink()
    elif damage == "bit":
        data[-1] ^= 1
        tensors.write_bytes(data)
    elif damage == "short":
        tensors.write_bytes(data[:50])
    elif damage == "foreign":
        document.write_text('{"hello": 1}')
    elif damage == "format":
        document.write_text(json.dumps(facts | {"format": 99}))
    elif damage == "layer":
        document.write_text(json.dumps(facts | {"network": {"layer": "Linear", "arguments": {"in_features": 5}}}))
    elif damage == "table":
        document.write_text(json.dumps(facts | {"space": {"kind": "categorical", "alphabets": [[1]], "head": "site"}}))
    else:
        assert softground.load(tmp_path / "model", device="cpu").task is not None
        return
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        softground.load(tmp_path / "model")


def test_a_saved_model_replaces_the_one_before(tmp_path: Path) -> None:
    task, x = addition(), examples(addition(), 10).x
    for seed in (0, 1):
        learner = Learner(task, classifier(seed), device="cpu")
        learner.save(tmp_path / "model")
    loaded = softground.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(x), learner.predict_proba(x))
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="folder"):
        learner.save(tmp_path / "file")


def data(count: int = 80) -> tuple[Any, list[int]]:
    pairs = torch.randint(4, (count, 2), generator=torch.Generator().manual_seed(0))
    return torch.eye(4)[pairs].numpy(), [product(a, b) for a, b in pairs.tolist()]


def test_estimators_are_saved_pickled_and_copied(tmp_path: Path) -> None:
    x, y = data()
    model = SoftGrounder(product, [range(4)] * 2, epochs=3, site_shape=(4,), device="cpu").fit(x.reshape(80, 8), y)
    model.save(tmp_path / "model")
    joblib = pytest.importorskip("joblib")
    joblib.dump(model, tmp_path / "model.joblib")
    copies = {
        "saved": SoftGrounder.load(tmp_path / "model", device="cpu"),
        "pickled": pickle.loads(pickle.dumps(model)),
        "dumped": joblib.load(tmp_path / "model.joblib"),
        "copied": copy.deepcopy(model),
    }
    for name, twin in copies.items():
        assert np.array_equal(twin.predict(x), model.predict(x)), name
        assert np.array_equal(twin.predict(x.reshape(80, 8), y), model.predict(x, y)), name
        np.testing.assert_allclose(twin.predict_proba(x), model.predict_proba(x), rtol=1e-5)
        assert twin.predict_answers(x) == model.predict_answers(x), name
        assert twin.score(x, y) == model.score(x, y), name
        assert twin.network_ is not model.network_, name
        assert twin.get_params()["epochs"] == 3, name
        twin.fit(x, y)
    assert copies["pickled"].learner_.history_
    twin = pickle.loads(pickle.dumps(model))
    assert twin.learner_.history_ == model.learner_.history_
    with pytest.raises(LearnerError, match="copy"):
        twin.learner_.fit(examples(addition()))


def test_where_pickle_cannot_save_can(tmp_path: Path) -> None:
    x, y = data()
    model = SoftGrounder(lambda a, b: product(a, b), [range(4)] * 2, epochs=1, device="cpu").fit(x, y)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(model)  # Python's own word; docs/models.md says what to do
    assert np.array_equal(copy.deepcopy(model).predict(x), model.predict(x))
    cloudpickle = pytest.importorskip("cloudpickle")
    assert np.array_equal(pickle.loads(cloudpickle.dumps(model)).predict(x), model.predict(x))
    model.save(tmp_path / "model")
    assert np.array_equal(SoftGrounder.load(tmp_path / "model").predict(x), model.predict(x))


def test_before_a_fit_the_error_is_scikit_learns_too() -> None:
    exceptions = pytest.importorskip("sklearn.exceptions")
    model = SoftGrounder(product, [range(4)] * 2, site_shape=(4,))
    for ask in (model.predict, model.predict_proba, model.predict_answers, lambda x: model.score(x, data()[1])):
        for kind in (exceptions.NotFittedError, LearnerError):
            with pytest.raises(kind, match="fit"):
                ask(data()[0])
    with pytest.raises(LearnerError, match="fit"):
        model.save("nowhere")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("which", ["inputs", "network", "both"])
def test_inputs_and_networks_of_any_precision(dtype: torch.dtype, which: str) -> None:
    task = addition()
    given = examples(task, 64)
    if which != "network":
        given = softground.Examples(given.x.to(dtype), given.y, given.symbols)
    net = classifier().to(torch.float32 if which == "inputs" else dtype)
    learner = make_learner(task, softground.grounding_stages(task, epochs=1, optimizer=_sgd), net).fit(given)
    assert learner.predict_proba(given.x).shape == (64, 3, 4)
    assert len(learner.predict(given.x, given.y)) == 64


def _sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.01)


def test_counts_may_be_numpy_s() -> None:
    x, y = data()
    model = SoftGrounder(product, [range(4)] * 2, epochs=np.int64(1), batch_size=np.int64(16), device="cpu")  # type: ignore[arg-type]
    assert model.fit(x, y).predict(x).shape == (80, 2)
    with pytest.raises(LearnerError, match=r"batch_size=2\.5"):
        make_learner(addition(), batch_size=2.5)


def test_what_cannot_be_read_is_refused() -> None:
    model = Model(nn.Linear(4, 4), Categorical([range(4)] * 3))
    with pytest.raises(DataError, match="text"):
        model.predict(np.array([["a"]]))
    with pytest.raises(LearnerError, match="int"):
        model.predict(3)
    with pytest.raises(LearnerError, match="rule"):
        model.predict(torch.rand(2, 3, 4), [1, 2])


def test_examples_of_a_file_are_evaluated_with_their_symbols(tmp_path: Path) -> None:
    task, data = addition(), examples(addition(), 20)
    assert data.symbols is not None
    np.savez(tmp_path / "data.npz", x=data.x.numpy(), y=data.y, symbols=data.symbols.numpy())
    model = Learner(task, classifier(), device="cpu").model
    assert model.evaluate(read_examples(tmp_path / "data.npz")) == model.evaluate(data)
