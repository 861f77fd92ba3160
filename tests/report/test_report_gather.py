"""Findings: counts that add up, examples as they are, and a file that comes back as it was."""

from __future__ import annotations

import base64
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

from learner_cases import adam, addition, classifier, examples, kernel, make_learner
from report_cases import findings
from softground import Categorical, Examples, Learner, Program, Task, grounding_stages
from softground.errors import CheckpointError
from softground.report.findings import FINDINGS, Findings, look_at
from softground.report.gathering import gather
from softground.runs import RunFolder
from softground.tasks.sdsp.graphs import random_graphs
from softground.tasks.sudoku import sudoku_task


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Learner, RunFolder]:
    path = tmp_path_factory.mktemp("gather") / "run"
    task = addition()
    stages = grounding_stages(task, kernel("guided", task), epochs=3, optimizer=adam)
    learner = make_learner(task, stages).fit(examples(task), examples(task, 50, seed=1), out=path)
    return learner, RunFolder.open(path)


def test_counts_and_examples_of_a_trained_network(trained: tuple[Learner, RunFolder]) -> None:
    learner, folder = trained
    train, test = examples(learner.task), examples(learner.task, 50, seed=1)
    found = gather(learner, train, test, folder)
    assert found.symbols == ["0", "1", "2", "3"]
    held_out, grounded, chains = (torch.tensor(m.counts) for m in found.matrices)
    assert [(m.rows, m.columns, m.data) for m in found.matrices] == [
        ("true", "predicted", "held-out"),
        ("grounded", "predicted", "training"),
        ("true", "grounded", "training"),
    ]
    figures = learner.evaluate(test)
    assert test.symbols is not None
    assert torch.equal(held_out.sum(1), torch.bincount(test.symbols.flatten()))
    assert held_out.trace().item() == pytest.approx(figures["symbol_accuracy"] * 150)
    assert grounded.sum() == chains.sum() == 3 * 192
    assert learner.history_[-1]["grounded_symbols"] == pytest.approx(chains.trace().item() / (3 * 192))
    assert found.wrong == round((1 - figures["answer_accuracy"]) * 50)
    assert [s.example for s in found.watched] == list(range(6))
    assert all(s.grounded is not None and sum(map(int, s.grounded)) == int(s.answer or -1) for s in found.watched)
    assert [s.feasible for s in found.looked_at] == sorted(s.feasible is True for s in found.looked_at)


def test_an_untrained_network_has_mistakes_to_show_and_says_what_they_give() -> None:
    task = addition()
    learner = make_learner(task, net=classifier())
    test = examples(task, 50, seed=1)
    assert test.symbols is not None
    found = gather(learner, examples(task), test)
    pairs = list(zip(learner.predict(test.x), test.symbols.tolist(), test.y, strict=True))
    assert found.wrong == sum(sum(z) != y for z, _, y in pairs) > 10
    assert found.lucky == sum(sum(z) == y and list(z) != true for z, true, y in pairs) > 0
    assert [(m.rows, m.columns) for m in found.matrices] == [("true", "predicted")]  # there are no chains
    wrong = [s for s in found.looked_at if not s.feasible]
    assert wrong
    for shown in wrong:
        assert shown.predicted is not None
        assert shown.gives == str(sum(map(int, shown.predicted)))
        assert shown.gives != shown.answer
    assert all(s.gives is None for s in found.looked_at if s.feasible)


def test_what_is_known_already_is_neither_read_nor_computed_again(
    trained: tuple[Learner, RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, folder = trained
    train, test = examples(learner.task), examples(learner.task, 50, seed=1)
    first = gather(learner, train, test, folder)
    assert first.epochs == 3
    known = [learner.predict_codes(train.x)], [learner.predict_codes(test.x)]
    stranger = make_learner(learner.task, net=learner.network)
    from_disk = gather(stranger, train, test, folder, predictions=known)
    monkeypatch.setattr(RunFolder, "load_checkpoint", lambda *_: pytest.fail("the checkpoint was read"))
    monkeypatch.setattr("softground.report.gathering.predicted_by", lambda *_: pytest.fail("the data were read"))
    assert gather(learner, train, test, folder, predictions=known) == first == from_disk


def test_an_answer_that_nobody_gave_is_written_in_the_form_of_those_that_were() -> None:
    space = Categorical([range(4), range(4)])
    task = Task(space, Program(lambda a, b: a + b, space, vectorised=True))
    x = torch.nn.functional.one_hot(torch.tensor([[3, 3], [0, 1]]), 4).float()
    data = Examples(x, [1, 1])
    (wrong, right) = gather(make_learner(task, net=torch.nn.Identity()), data, data).looked_at
    assert (wrong.answer, wrong.gives, right.gives) == ("1", "6", None)


def test_symbols_without_an_answer_give_none() -> None:
    task = sudoku_task(4)
    data = Examples(torch.nn.functional.one_hot(torch.zeros(1, 16, dtype=torch.long), 4).float(), [True])
    (wrong,) = gather(Learner(task, torch.nn.Identity(), batch_size=1, device="cpu"), data, data).looked_at
    assert (wrong.feasible, wrong.gives) == (False, None)


def test_only_a_task_that_says_so_has_its_symbols_renamed() -> None:
    board = sudoku_task(4)
    task = Task(board.space, board.constraint, board.inverse)
    truth = torch.tensor([[0, 1, 2, 3, 2, 3, 0, 1, 1, 0, 3, 2, 3, 2, 1, 0]])
    data = Examples(torch.nn.functional.one_hot((truth + 1) % 4, 4).float(), [True], truth)
    found = gather(Learner(task, torch.nn.Identity(), batch_size=1, device="cpu"), data, data)
    assert (found.renamed, found.lucky) == ({}, 1)


def test_without_true_symbols_only_what_needs_none_is_counted(trained: tuple[Learner, RunFolder]) -> None:
    learner, folder = trained
    train, test = (Examples(d.x, d.y) for d in (examples(learner.task), examples(learner.task, 50, seed=1)))
    found = gather(learner, train, test, folder)
    assert [(m.rows, m.columns) for m in found.matrices] == [("grounded", "predicted")]
    assert found.lucky == 0
    assert all(s.truth is None for s in [*found.watched, *found.looked_at])


class Items(Dataset[Any]):
    """A data set that is read item by item, with its symbols beside it."""

    def __init__(self, held: Examples) -> None:
        self.held, self.symbols = held, held.symbols

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, Any]:
        return self.held[index]


@pytest.mark.parametrize("kind", [lambda held: held, Items], ids=["tensors", "items"])
def test_of_large_data_sets_the_first_examples_are_looked_at(
    kind: Any, trained: tuple[Learner, RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("softground.report.gathering.HELD_OUT", 20)
    monkeypatch.setattr("softground.report.gathering.TRAINED", 10)
    learner, folder = trained
    train, test = kind(examples(learner.task)), kind(examples(learner.task, 50, seed=1))
    found = gather(learner, train, test, folder)
    assert found.held_out == 20
    assert [sum(map(sum, m.counts)) for m in found.matrices] == [3 * 20, 3 * 10, 3 * 10]
    assert test.symbols is not None
    rows = torch.tensor(found.matrices[0].counts).sum(1)
    assert torch.equal(rows, torch.bincount(test.symbols[:20].flatten(), minlength=4))


def test_where_the_rule_cannot_tell_symbols_apart_the_networks_names_are_used() -> None:
    """A network that is right but for the digits' names has nothing off the diagonal."""
    task = sudoku_task(4)
    boards = [[0, 1, 2, 3, 2, 3, 0, 1, 1, 0, 3, 2, 3, 2, 1, 0], [1, 0, 3, 2, 3, 2, 1, 0, 0, 1, 2, 3, 2, 3, 0, 1]]
    truth = torch.tensor(boards)
    names = torch.tensor([2, 0, 3, 1])
    data = Examples(torch.nn.functional.one_hot(names[truth], 4).float(), [True, True], truth)
    found = gather(Learner(task, torch.nn.Identity(), batch_size=2, device="cpu"), data, data)
    assert found.renamed == {"1": "3", "2": "1", "3": "4", "4": "2"}
    assert (found.wrong, found.lucky) == (0, 0)
    counts = torch.tensor(found.matrices[0].counts)
    assert counts.trace() == counts.sum() == 32
    assert found.looked_at[0].truth == found.looked_at[0].predicted


def test_findings_come_back_from_the_run_folder_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    folder = RunFolder.open(tmp_path)
    assert Findings.read(folder) is None
    findings().write(folder)
    assert Findings.read(folder) == findings()


DAMAGE: dict[str, Any] = {
    "symbols": 3,
    "renamed": [],
    "matrices": [{"rows": "a", "columns": "b", "data": "c", "counts": [[1]]}],
    "held_out": "many",
    "watched": [{}],
    "looked_at": [7],
    "wrong": 1e999,
}


@pytest.mark.parametrize("key", DAMAGE)
def test_findings_that_are_damaged_say_what_to_do(key: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    findings().write(RunFolder.open(tmp_path))
    path = tmp_path / FINDINGS
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: DAMAGE[key]}).replace("Infinity", "1e999"))
    with pytest.raises(CheckpointError, match=r"report\.json: .*Delete the file"):
        Findings.read(RunFolder.open(tmp_path))


def test_findings_of_another_version_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / FINDINGS).write_text('{"schema": 99}')
    assert Findings.read(RunFolder.open(tmp_path)) is None


def pixels(image: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(image)))


def test_grey_images_become_dark_ink_on_white_whichever_way_round_they_were() -> None:
    ink = torch.zeros(2, 1, 8, 8, dtype=torch.uint8)
    ink[:, :, 2, 2] = 255
    for x in (ink, 255 - ink, ink.float() / 255, 3 * ink.double()):
        seen = look_at(x, sites=2)
        assert seen.ink
        assert len(seen.images) == 2
        image = pixels(seen.images[0])
        assert (image.size, image.getpixel((2, 2)), image.getpixel((0, 0))) == ((8, 8), 0, 255)


def test_colours_stay_and_large_images_are_made_smaller() -> None:
    x = torch.zeros(3, 200, 100, dtype=torch.uint8)
    x[0] = 255
    seen = look_at(x, sites=4)
    assert not seen.ink
    image = pixels(seen.images[0])
    assert image.size == (48, 96)
    assert image.getpixel((10, 10)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.tensor([1.0, 0.25]), "1, 0.25"),
        (torch.zeros(3, 2), "0, 0\n0, 0\n0, 0"),
        (torch.zeros(30), "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, … (30 values)"),
        (random_graphs(1, 6, 0).weights[0], "a graph of 6 vertices and"),
        ("some text", "some text"),
        ("x" * 1000, "x" * 299 + "…"),
        ({"age": torch.tensor([3]), "name": "Ann"}, "age: 3; name: Ann"),
        ([1, 2], "1, 2"),
        (object, "<class 'object'>"),
        (torch.tensor(2.5), "2.5"),
    ],
)
def test_other_inputs_become_a_few_words(x: Any, words: str) -> None:
    seen = look_at(x, sites=3)
    assert seen.images == []
    assert seen.text.startswith(words)


def test_answers_that_are_fractions_are_written_as_such() -> None:
    from softground.report.gathering import written

    assert written(Fraction(-7, 2)) == "-7/2"
    assert written(torch.zeros(2, 30, 30)) is None


def test_training_data_alone_fill_the_report(tmp_path: Path) -> None:
    task = addition()
    data = examples(task)
    make_learner(task).fit(Examples(data.x, data.y), out=tmp_path / "run")
    html = (tmp_path / "run" / "report.html").read_text()
    assert 'id="watched"' in html
    assert 'id="symbols"' in html  # grounded against predicted, which needs no label
    assert "No held-out data were given" in html
    assert "checked on training answers only" in html
