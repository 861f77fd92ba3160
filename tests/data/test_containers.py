"""Answers, shapes and known symbols in whatever holds them: labelled series, tensors, arrays, subsets, data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, Subset, TensorDataset, random_split

import softground as sg
from learner_cases import addition, equal, examples, make_learner, weights
from softground.data.known import known_codes
from softground.errors import DataError, LearnerError

TASK = addition()
DATA = examples(TASK, 60)


class Series:
    """As a series of pandas whose labels run backwards: ``[]`` takes labels, iteration the order of the rows."""

    def __init__(self, values: list[Any]) -> None:
        self._values = list(values)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return iter(self._values)

    def __getitem__(self, label: int) -> Any:
        return self._values[len(self) - 1 - label]


class Listed(Dataset[Any]):
    """Pairs that are read one by one, beside columns."""

    def __init__(self, data: sg.Examples, **columns: Any) -> None:
        self.data, self.read = data, 0
        vars(self).update(columns)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        self.read += 1
        return self.data[index]


def trained(data: Any) -> dict[str, Any]:
    return weights(make_learner(TASK).fit(data).network)


def family(shapes: Any = (2, 3)) -> sg.Family:
    return sg.Family(addition, shapes)


def rows(count: int = 40) -> tuple[list[Any], list[int], list[Any]]:
    """Inputs, sums and digits of two lengths in turn."""
    each = {n: examples(addition(n), count) for n in (2, 3)}
    lengths = [2 + i % 2 for i in range(count)]
    true: Any = [each[n].symbols[i] for i, n in enumerate(lengths)]  # type: ignore[index]
    return [each[n].x[i] for i, n in enumerate(lengths)], [each[n].y[i] for i, n in enumerate(lengths)], true


@pytest.mark.parametrize("kind", [Series, np.array, torch.tensor, tuple, lambda y: np.array(y, dtype=float)])
def test_answers_count_by_their_order(kind: Any) -> None:
    data = sg.Examples(DATA.x, kind(DATA.y))
    assert data.y == DATA.y
    assert data.rows([7, 3]).y == [DATA.y[7], DATA.y[3]]
    assert equal(trained(Subset(data, range(60))), trained(DATA))
    x, y, _ = rows()
    assert sg.Examples.ragged(x, kind(y)).answers == y
    learner = make_learner(TASK).fit(DATA)
    assert learner.predict(DATA.x, kind(DATA.y)) == learner.predict(DATA.x, DATA.y)


def test_inputs_and_true_symbols_may_be_arrays() -> None:
    assert DATA.symbols is not None
    arrays = sg.Examples(DATA.x.numpy(), DATA.y, DATA.symbols.numpy())
    nested = sg.Examples(DATA.x.tolist(), DATA.y)
    assert isinstance(arrays.x, torch.Tensor)
    assert isinstance(nested.x, torch.Tensor)
    assert equal(trained(arrays), trained(DATA))
    assert equal(trained(nested), trained(DATA))


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, Series])
def test_shapes_are_plain_values(kind: Any) -> None:
    x, y, _ = rows()
    data = sg.Examples.ragged(x, y, shapes=kind([len(one) for one in x]))
    assert [*data.parts] == [2, 3]
    assert [type(shape) for shape in family(kind([2, 3])).tasks] == [int, int]


def test_known_symbols_in_rows_of_any_kind() -> None:
    space = sg.Categorical(["ab", "abc"])
    mixed = [torch.tensor([-1, 2]), np.array([1, -1]), ("a", None), None, np.array(["b", None], dtype=object)]
    wanted = [[-1, 2], [1, -1], [0, -1], [-1, -1], [1, -1]]
    assert known_codes(mixed, space, 5).tolist() == known_codes(Series(mixed), space, 5).tolist() == wanted
    learner = make_learner(family(), lambda task: sg.grounding_stages(task, epochs=1))  # type: ignore[arg-type]
    x, y, true = rows(4)
    learner.fit(sg.Examples.ragged(x, y))
    assert learner.predict(x, known=true) == [tuple(z.tolist()) for z in true]
    for row, words in (
        (np.array([1.0, 2.0]), "known symbol 1.0 at site 0"),
        (7, "known symbols 7; expected 2 of them"),
        ([["a"], None], r"known symbol \['a'\]"),
    ):
        with pytest.raises(DataError, match=words):
            known_codes([None, row], space, 2)


def test_a_subset_has_the_columns_of_its_whole() -> None:
    known = [(int(z[0]), None, None) for z in DATA.symbols]  # type: ignore[union-attr]
    whole = Listed(DATA, answers=DATA.y, known=known, symbols=DATA.symbols)
    part = Subset(Subset(whole, range(59, -1, -1)), range(10, 50))
    learner = make_learner(TASK)
    learner.fit(part, observer=lambda event, facts: event == "epoch")
    assert whole.read == 80  # in one epoch and to judge the start, and none before
    found = learner.loop.parts[0].data
    assert found.answers == DATA.y[49:9:-1]
    assert torch.equal(found.known[:, 0], DATA.symbols.flip(0)[10:50, 0])  # type: ignore[union-attr, index]


def test_data_of_several_shapes_can_be_split() -> None:
    x, y, true = rows()
    data = sg.Examples.ragged(x, y, true)
    train, test = random_split(data, [0.75, 0.25], torch.Generator().manual_seed(0))
    learner = make_learner(family(), lambda task: sg.grounding_stages(task, epochs=2))  # type: ignore[arg-type]
    learner.fit(train, test)
    assert sum(part.data.total for part in learner.loop.parts) == 30
    assert learner.results_["I"] == learner.evaluate(data.rows(test.indices))
    records = sg.data.Ragged({n: Listed(part) for n, part in data.parts.items()}, data.positions)
    assert records.rows([5, 2]).answers == [y[5], y[2]]


def test_a_shape_without_examples_is_left_out() -> None:
    x, y, _ = rows()
    data = sg.Examples.ragged(x, y)
    empty = sg.Examples(torch.zeros(0, 3, 4), [])
    made = make_learner(family(), lambda task: sg.grounding_stages(task, epochs=1))  # type: ignore[arg-type]
    made.fit({2: data.parts[2], 3: empty})
    assert [part.shape for part in made.loop.parts] == [2]
    with pytest.raises(DataError, match="data set is empty"):
        made.fit({3: empty})


@pytest.mark.parametrize("positions", [[0, 1, 9], [0, 1], [0, 1, 1], [-1, 0, 1]])
def test_positions_must_be_those_of_the_examples(positions: list[int]) -> None:
    with pytest.raises(DataError, match="expected 0 to 2, each once"):
        sg.data.Ragged({3: DATA.subset(3)}, {3: positions})


def test_any_data_set_can_be_read() -> None:
    learner = make_learner(TASK).fit(DATA)
    read = learner.predict(DATA.x)
    assert read == learner.predict(DATA) == learner.predict(Listed(DATA))
    assert read == learner.predict(TensorDataset(DATA.x, torch.tensor(DATA.y)))
    assert read[:5] == learner.predict(Subset(DATA, range(5)))


def test_an_answer_that_is_refused_is_named_by_its_place_among_the_inputs() -> None:
    x, y, _ = rows()
    learner = make_learner(family(), lambda task: sg.grounding_stages(task, epochs=1))  # type: ignore[arg-type]
    learner.fit(sg.Examples.ragged(x, y))
    with pytest.raises(sg.SoftgroundError, match=r"^Example 3: .*7\.5 is a float"):
        learner.predict(x[:4], [*y[:3], 7.5])


def test_what_is_given_in_place_of_anchors_or_a_mode() -> None:
    images: Any = (torch.eye(4), range(4))
    with pytest.raises(DataError, match=r"expected Anchors\(inputs, symbols\)"):
        make_learner(TASK).fit(DATA, anchors=images)
    with pytest.raises(LearnerError, match="raise, drop"):
        make_learner(TASK, unexplained="skip")
