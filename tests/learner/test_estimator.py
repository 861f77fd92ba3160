"""SoftGrounder has scikit-learn's manners, and learns what Learner learns."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import softground
from softground import Categorical, Program, Scan, SoftGrounder, SoftgroundError, Task, grounding_stages
from softground.errors import ConstraintError, DataError, LearnerError

sklearn_base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")

TWO = [range(4), range(4)]


def product(a: int, b: int) -> int:
    """The same either way round, so that the answer alone never says which symbol stands where."""
    return 3 * a * b + a + b


def data(count: int = 240, seed: int = 0) -> tuple[Any, list[int], Any]:
    """One-hot 'images' with a little noise, their answers, and the symbols."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(4, (count, 2), generator=generator)
    x = torch.eye(4)[symbols] + 0.05 * torch.randn(count, 2, 4, generator=generator)
    return x.numpy(), [product(a, b) for a, b in symbols.tolist()], symbols.numpy()


@pytest.fixture(scope="module")
def fitted() -> SoftGrounder:
    x, y, _ = data()
    return SoftGrounder(product, TWO, epochs=20, learning_rate=1e-2, device="cpu").fit(x, y)


def test_it_learns_symbols_and_answers_from_answers_alone(fitted: SoftGrounder) -> None:
    x, y, symbols = data(100, seed=1)
    predicted = fitted.predict(x)
    assert predicted.dtype == np.int64
    assert (predicted == symbols).mean() > 0.95
    assert fitted.score(x, y) > 0.9
    assert fitted.predict_answers(x[:5]) == [product(*row) for row in predicted[:5].tolist()]


def test_the_score_is_a_plain_count(fitted: SoftGrounder) -> None:
    x, y, _ = data(7, seed=1)
    wrong = [answer + (place in (1, 4)) for place, answer in enumerate(y)]
    gives = [product(*row) for row in fitted.predict(x).tolist()]
    for answers in (y, wrong, [999] * 6 + y[6:]):
        assert fitted.score(x, answers) == sum(a == b for a, b in zip(gives, answers, strict=True)) / 7


def test_known_answers_constrain_the_prediction(fitted: SoftGrounder) -> None:
    x, _, _ = data(20, seed=1)
    assert all(product(*row) == 3 for row in fitted.predict(x, [3] * 20).tolist())


def test_params_come_back_and_can_be_set() -> None:
    model = SoftGrounder(product, TWO, epochs=3)
    assert model.get_params()["epochs"] == 3
    assert model.get_params()["rule"] is product
    assert model.set_params(epochs=5, seed=2) is model
    assert (model.epochs, model.seed) == (5, 2)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        model.set_params(colour="red")
    assert repr(SoftGrounder(epochs=3)) == "SoftGrounder(epochs=3)"


def test_clone_makes_an_untrained_one_with_the_same_params(fitted: SoftGrounder) -> None:
    copy = sklearn_base.clone(fitted)
    assert copy is not fitted
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "learner_")
    with pytest.raises(LearnerError, match="fit"):
        copy.predict(data()[0])


def test_cross_validation_and_grid_search() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    x, y, _ = data(120)
    model = SoftGrounder(product, TWO, epochs=12, learning_rate=1e-2, device="cpu")
    scores = selection.cross_val_score(model, x, y, cv=2)
    assert scores.shape == (2,)
    assert scores.mean() > 0.5
    search = selection.GridSearchCV(model, {"epochs": [1, 12]}, cv=2).fit(x, y)
    assert search.best_params_ == {"epochs": 12}


def test_a_pipeline_over_flat_rows() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    x, y, _ = data()
    model = SoftGrounder(product, TWO, epochs=20, learning_rate=1e-2, site_shape=(4,), device="cpu")
    steps = pipeline.Pipeline([("scale", preprocessing.StandardScaler()), ("read", model)])
    flat = x.reshape(len(x), -1)
    assert steps.fit(flat, y).score(flat, y) > 0.9
    assert steps.predict(flat).shape == (len(x), 2)
    assert steps.set_params(read__epochs=3).named_steps["read"].epochs == 3


def test_a_fit_does_not_depend_on_the_one_before() -> None:
    x, y, _ = data(60)
    network = nn.Sequential(nn.Linear(4, 4))
    before = network[0].weight.clone()
    model = SoftGrounder(product, TWO, network, epochs=2, device="cpu")
    first = model.fit(x, y).network_
    second = model.fit(x, y).network_
    assert torch.equal(network[0].weight, before)
    assert torch.equal(first[0].weight, second[0].weight)  # type: ignore[index]
    assert not torch.equal(first[0].weight, before)  # type: ignore[index]


def test_rules_of_every_kind() -> None:
    space = Categorical(TWO)
    x, y, _ = data(40)
    program = Program(product, space)
    for rule in (program, Task(space, program), Scan(lambda s, d: s + d, space)):
        answers = [sum(row) for row in data(40)[2].tolist()] if isinstance(rule, Scan) else y
        model = SoftGrounder(rule, epochs=1, device="cpu", stages=lambda task: grounding_stages(task, epochs=1))
        assert model.fit(x, answers).predict(x).shape == (40, 2)
        assert len(model.predict_answers(x)) == 40


def test_symbols_that_are_texts() -> None:
    x, _, symbols = data(40)
    words = np.array(["a", "b", "c", "d"])[symbols]
    model = SoftGrounder(lambda a, b: a + b, ["abcd"] * 2, epochs=15, learning_rate=1e-2, device="cpu")
    predicted = model.fit(x, ["".join(row) for row in words]).predict(x)
    assert predicted.dtype == object
    assert (predicted == words).mean() > 0.9


def test_what_cannot_work_is_refused() -> None:
    x, y, _ = data(10)
    with pytest.raises(LearnerError, match="alphabets"):
        SoftGrounder(product).fit(x, y)
    with pytest.raises(DataError, match="site_shape"):
        SoftGrounder(product, TWO, site_shape=(5,)).fit(x.reshape(10, -1), y)
    with pytest.raises(DataError, match="numeric"):
        SoftGrounder(product, TWO).fit([["a", "b"]], [1])
    with pytest.raises(SoftgroundError, match="own"):
        SoftGrounder(product, TWO).fit(np.zeros((10, 3, 4)), y)


def test_computed_answers() -> None:
    space = Categorical([range(1, 4)] * 2)
    z = space.encode([(1, 2), (3, 3)])
    assert Program(lambda a, b: Fraction(a, b), space).compute(z) == [Fraction(1, 2), 1]
    assert Program(lambda a, b: (a + b, b), space, vectorised=True).compute(z) == [(3, 2), (6, 3)]
    assert Program(lambda a, b: a + b, space, vectorised=True).compute(z) == [3, 6]
    assert Scan(lambda s, d: s + d if s + d < 5 else None, space).compute(z) == [3, None]
    with pytest.raises(ConstraintError, match="checks"):
        Scan(lambda s, d: s + d, space, accept=lambda s, y: s > y).compute(z)
    with pytest.raises(ConstraintError, match="Program"):
        softground.SMT(lambda cells, y: cells[0] == y, space).compute(z)


@pytest.mark.parametrize(
    "shape", [(3, 1, 8, 8), (3, 3, 8, 8), (3, 8, 8), (1, 16, 16), (3, 7), (7,)], ids=lambda s: "×".join(map(str, s))
)
def test_the_default_network_reads_any_usual_shape(shape: tuple[int, ...]) -> None:
    space, x = Categorical([range(5)] * 3), torch.rand(6, *shape)
    assert softground.default_network(x, space)(x).shape == (6, 3, 5)


def test_handwritten_digits_are_what_was_asked_for() -> None:
    wanted = torch.arange(10).repeat(30, 1)
    train, test = (softground.handwritten(wanted, part) for part in ("train", "test"))  # type: ignore[arg-type]
    assert train.shape == (30, 10, 1, 8, 8)
    assert train.dtype == torch.uint8
    seen = {image.numpy().tobytes() for image in train.flatten(0, 1)}
    assert not seen & {image.numpy().tobytes() for image in test.flatten(0, 1)}
    # Nearest means of the training images tell the test images' digits apart: the labels are right.
    means = train.float().mean(0).flatten(1)
    nearest = torch.cdist(test.float().flatten(2).flatten(0, 1), means).argmin(1)
    assert (nearest == wanted.flatten()).float().mean() > 0.8
    assert torch.equal(softground.handwritten(wanted, "train"), train)
    assert not torch.equal(softground.handwritten(wanted, "train", seed=1), train)
    for wrong in (torch.tensor([10]), torch.tensor([0.5]), torch.tensor([], dtype=torch.long)):
        with pytest.raises(DataError, match="0 to 9"):
            softground.handwritten(wrong, "train")


def bits(a: int, b: int) -> int:
    return a + 2 * b


def test_scikit_learns_own_checks() -> None:
    """All pass, but those that are declared with their reason."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    declared = softground.estimator.EXPECTED_FAILED_CHECKS
    model = SoftGrounder(bits, [(0, 1)] * 2, unexplained="drop", epochs=2, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(model, expected_failed_checks=declared, on_fail=None, on_skip=None)
    assert not [(result["check_name"], result["exception"]) for result in found if result["status"] == "failed"]
    assert {result["check_name"] for result in found if result["status"] == "xfail"} == declared.keys()
    assert sum(result["status"] == "passed" for result in found) >= 42
    assert len(declared) <= 4
    assert all(declared.values())


def test_answers_are_scored_by_scikit_learn() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    x, y, _ = data(120)
    model = SoftGrounder(product, TWO, epochs=12, learning_rate=1e-2, device="cpu", predicts="answers")
    assert selection.cross_val_score(model, x, y, cv=2, scoring="accuracy").mean() > 0.5
    predicted = selection.cross_val_predict(model, x, y, cv=2)
    assert (predicted == np.array(y)).mean() > 0.5
    search = selection.GridSearchCV(model, {"epochs": [1, 12]}, cv=2, scoring="accuracy").fit(x, y)
    assert search.best_params_ == {"epochs": 12}
    fitted = model.fit(x, y)
    assert fitted.predict(x).dtype.kind == "i"
    assert fitted.predict(x[:3], y[:3]).shape == (3, 2)  # with answers it is symbols that are asked for


def test_held_out_examples_end_a_fit_early() -> None:
    x, y, _ = data(120)
    model = SoftGrounder(
        product, TWO, epochs=60, learning_rate=2e-2, device="cpu", validation_fraction=0.25, patience=2
    )
    model.fit(x, y)
    assert len(model.learner_.history_) < 60
    assert "validation_answer_accuracy" in model.learner_.history_[-1]
    held = SoftGrounder(product, TWO, epochs=3, patience=1, device="cpu").fit(x, y, validation=data(30, seed=1)[:2])
    assert "validation_answer_accuracy" in held.learner_.history_[0]
    assert (
        "validation_answer_accuracy"
        not in SoftGrounder(product, TWO, epochs=1, device="cpu").fit(x, y).learner_.history_[0]
    )


def test_weights_of_examples() -> None:
    """Rows of weight 0, whose answers are wrong, teach nothing; the same weight for all changes nothing."""
    x, y, symbols = data(240)
    wrong = [y[row] if row % 3 == 0 else product(*(3 - s)) for row, s in enumerate(symbols)]
    weight = [row % 3 == 0 for row in range(240)]
    model = SoftGrounder(product, TWO, epochs=20, learning_rate=1e-2, device="cpu")
    test, answers, _ = data(100, seed=1)
    misled = model.fit(x, wrong).score(test, answers)
    assert misled < 0.5
    assert model.fit(x, wrong, weight).score(test, answers) > 0.9
    plain, ones = model.fit(x, y).predict_proba(test), model.fit(x, y, np.ones(240)).predict_proba(test)
    np.testing.assert_array_equal(plain, ones)
    for bad in ([1.0], [-1.0] * 240, [0.0] * 240, [float("nan")] * 240):
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(x, y, bad)


def test_columns_and_what_scikit_learn_refuses() -> None:
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    x, y, _ = data(60)
    frame = pandas.DataFrame(x.reshape(60, -1), columns=list("abcdefgh"))
    series = pandas.Series(
        [float("nan") if row % 5 == 0 else float(a) for row, a in enumerate(y)], index=range(60, 0, -1)
    )
    model = SoftGrounder(product, TWO, epochs=1, site_shape=(4,), device="cpu").fit(frame, series)
    assert (model.n_features_in_, list(model.feature_names_in_)) == (8, list("abcdefgh"))
    assert 0 <= model.score(frame, series) <= 1
    flat = x.reshape(60, -1)
    spoilt = flat.copy()
    spoilt[3, 3] = np.nan
    for given, message in (
        (spoilt, "contains NaN"),
        (sparse.csr_matrix(flat), "[Ss]parse"),
        (flat * 1j, "Complex data not supported"),
        (flat[:0], "Found array with 0 sample"),
        (flat[0], "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            SoftGrounder(product, TWO, site_shape=(4,), device="cpu").fit(given, y)
        assert isinstance(error.value, SoftgroundError)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("bacdefgh")])
    with pytest.raises(ValueError, match="7 features"):
        model.predict(flat[:, :7])
