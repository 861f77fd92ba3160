"""Examples out of tables and records, whatever package they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from learner_cases import adam, addition, equal, examples, make_learner, weights
from softground import Examples, Records, grounding_stages
from softground.data.known import known_codes
from softground.errors import CheckpointError, DataError

TASK = addition()
DATA = examples(TASK, 60)
SITES = ["first", "second", "third"]


class NAType:
    """As pandas' NA: nothing can be said of it."""

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]


class Column:
    """As pandas' Series and Hugging Face's columns: it has an order, and positions are no matter."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Any:
        return iter(self._values)


class Frame:
    """As pandas' DataFrame: columns by name, and their names have no truth value."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns, self.columns = columns, np.array(list(columns))

    def __getitem__(self, name: str) -> Column:
        return Column(self._columns[name])


class HuggingFace:
    """As Hugging Face's Dataset: rows by position, columns by name; counts the rows that were read."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns, self.column_names, self.read = columns, list(columns), 0

    def __len__(self) -> int:
        return len(self._columns[self.column_names[0]])

    def __getitem__(self, place: int | str) -> Any:
        if isinstance(place, str):
            if place not in self._columns:
                raise ValueError(f"Column {place!r} doesn't exist.")
            return Column(self._columns[place])
        self.read += 1
        return {name: values[place] for name, values in self._columns.items()}


def columns() -> dict[str, list[Any]]:
    """The examples as columns: a whole input, and one per site."""
    whole: dict[str, list[Any]] = {"whole": list(DATA.x.numpy()), "sum": list(DATA.y)}
    return whole | {name: list(DATA.x[:, site].numpy()) for site, name in enumerate(SITES)}


def trained(data: Any, **settings: Any) -> dict[str, Tensor]:
    learner = make_learner(TASK, grounding_stages(TASK, epochs=2, optimizer=adam), **settings)
    return weights(learner.fit(data).network)


@pytest.mark.parametrize("kind", [Frame, HuggingFace, dict])
@pytest.mark.parametrize("inputs", ["whole", SITES])
def test_columns_of_a_table_are_the_examples(kind: Any, inputs: Any) -> None:
    found = Examples.of(kind(columns()), inputs=inputs, answer="sum")
    assert torch.equal(found.x, DATA.x)
    assert found.y == list(DATA.y)


@pytest.mark.parametrize("inputs", ["whole", SITES])
def test_records_are_trained_on_as_the_examples_are(inputs: Any) -> None:
    table = HuggingFace(columns())
    data = Records(table, inputs=inputs, answer="sum")
    assert table.read == 0  # the answers are a column
    reference = trained(DATA)
    assert equal(trained(data), reference)
    assert table.read >= 2 * len(DATA)  # every epoch
    rows = [table[i] for i in range(len(table))]
    assert equal(trained(Records(rows, inputs=inputs, answer="sum"), workers=2), reference)


def test_a_run_on_records_is_resumed_with_the_same_ones_only(tmp_path: Path) -> None:
    rows = [HuggingFace(columns())[i] for i in range(60)]

    def fit(rows: list[Any], resume: bool = False) -> None:
        data = Records(rows, inputs="whole", answer="sum")
        make_learner(TASK).fit(data, out=tmp_path / "run", resume=resume)

    fit(rows)
    fit(rows, resume=True)
    with pytest.raises(CheckpointError, match="answers have changed"):
        fit([rows[0] | {"sum": rows[0]["sum"] + 1}, *rows[1:]], resume=True)


def test_missing_answers_are_unknown_ones() -> None:
    told = [3, 3.0, float("nan"), np.float64("nan"), None, NAType()]
    found = Examples.of({"x": [[0.0]] * 6, "y": told}, "x", "y")
    assert found.y == [3, 3.0, None, None, None, None]
    assert Records([{"x": 0.0, "y": y} for y in told], "x", "y").answers == found.y
    some = {"x": list(DATA.x.numpy()), "y": [float(y) if i % 2 else float("nan") for i, y in enumerate(DATA.y)]}
    trained(Examples.of(some, "x", "y"))


def test_images_are_bytes_with_channels_first() -> None:
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    coloured = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    table = {"grey": [Image.fromarray(grey)], "coloured": [Image.fromarray(coloured)], "y": [0]}
    assert torch.equal(Examples.of(table, "grey", "y").x, torch.from_numpy(grey)[None, None])
    assert torch.equal(Examples.of(table, ["grey", "grey"], "y").x, torch.from_numpy(grey).expand(1, 2, 1, 2, 3))
    assert torch.equal(Examples.of(table, "coloured", "y").x[0, 2], torch.from_numpy(coloured[..., 2]))


def test_lists_arrays_of_arrays_and_numbers_are_inputs() -> None:
    nested = np.empty(2, dtype=object)  # what a Parquet file's lists of lists become
    nested[:] = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    table = {"nested": [nested], "list": [[[1, 2], [3, 4]]], "number": [np.int64(5)], "flag": [True], "y": [0]}
    assert Examples.of(table, "nested", "y").x.tolist() == [[[1.0, 2.0], [3.0, 4.0]]]
    assert Examples.of(table, "nested", "y").x.dtype == torch.float32
    assert Examples.of(table, "list", "y").x.tolist() == [[[1, 2], [3, 4]]]
    assert Examples.of(table, ["number", "flag"], "y").x.tolist() == [[5, 1]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"inputs": "image"},
            r"This Frame has no column 'image'; it has 'x', 'text', 'ragged', 'mixed', 'y'\. Name one",
        ),
        ({"answer": "sum"}, "no column 'sum'"),
        ({"inputs": ["x", "image"]}, "no column 'image'"),
        ({"inputs": "text"}, "Row 0 of 'text' is a str that makes no tensor"),
        ({"inputs": "ragged"}, "Row 0 of 'ragged' is a list that makes no tensor"),
        ({"inputs": "mixed"}, r"Row 1 of 'mixed' has shape \(1,\), and row 0 \(2,\); give inputs of one shape"),
    ],
)
def test_bad_columns_are_refused(given: dict[str, Any], said: str) -> None:
    table = {
        "x": [[1.0], [2.0]],
        "text": ["a", "b"],
        "ragged": [[[1], [1, 2]]] * 2,
        "mixed": [[1, 2], [1]],
        "y": [0, 1],
    }
    with pytest.raises(DataError, match=said):
        Examples.of(Frame(table), **({"inputs": "x", "answer": "y"} | given))


def test_bad_records_are_refused() -> None:
    with pytest.raises(DataError, match="This HuggingFace has no column 'y'; it has 'whole', 'sum', 'first'"):
        Records(HuggingFace(columns()), "whole", "y")
    with pytest.raises(DataError, match=r"Record 1 has no 'y': it has 'x'\. Name one"):
        Records([{"x": 0.0, "y": 1}, {"x": 0.0}], "x", "y")
    with pytest.raises(DataError, match=r"Record 0 has no 'y': it is a tuple"):
        Records([(0.0, 1)], "x", "y")
    with pytest.raises(DataError, match=r"Record 0 has no 'image': it has 'x', 'y'"):
        trained(Records([{"x": 0.0, "y": 1}], "image", "y"))
    with pytest.raises(DataError, match="The column 'x' is empty"):
        Examples.of({"x": [], "y": []}, "x", "y")
    with pytest.raises(DataError, match="data set is empty"):
        trained(Records([], "x", "y"))


def test_pandas_itself() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; the stand-in above has its manners")
    frame = pandas.DataFrame(columns()).iloc[::-1]  # its index no longer counts the rows
    found = Examples.of(frame, inputs=SITES, answer="sum")
    assert torch.equal(found.x, DATA.x.flip(0))
    assert equal(trained(Records(frame, SITES, "sum")), trained(found))
    frame["sum"] = frame["sum"].astype("Int64").mask(frame.index == 0)
    assert Examples.of(frame, "whole", "sum").y[-1] is None


def test_a_table_may_have_columns_of_known_symbols() -> None:
    table = columns() | {
        "a": [1.0, float("nan")] * 30,
        "b": [None] * 60,
        "c": [2] * 60,
        "rows": [(1, None, 2), None] * 30,
    }
    by_site = Examples.of(table, "whole", "sum", known=["a", "b", "c"])
    assert by_site.known[:2] == [(1.0, None, 2), (None, None, 2)]
    assert known_codes(by_site.known[:2], TASK.space, 2).tolist() == [[1, -1, 2], [-1, -1, 2]]
    assert Examples.of(table, "whole", "sum", known="rows").known[:2] == [(1, None, 2), None]


def test_hugging_face_itself() -> None:
    package = pytest.importorskip("datasets", reason="datasets is not installed; the stand-in above has its manners")
    table = package.Dataset.from_dict({"x": DATA.x.tolist(), "sum": list(DATA.y)})
    assert torch.equal(Examples.of(table, "x", "sum").x, DATA.x)
    assert equal(trained(Records(table, "x", "sum")), trained(DATA))
