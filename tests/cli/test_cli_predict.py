"""softground predict: image files to symbols and their value."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import softground as sg
from cli_cases import hurry, train
from softground.cli import main
from softground.cli.loading import load_run
from softground.data.images import read_symbols
from softground.errors import DataError
from softground.runs import RunFolder

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict") / "run"
    assert train(folder, "best", "--quiet", "--network", "lenet", "--epochs", "1") == 0
    return folder


@pytest.fixture(scope="module")
def shown(run: Path) -> Any:
    """The first two test formulas and what the run's network makes of them."""
    experiment, learner = load_run(RunFolder.open(run), device="cpu")
    x = experiment.test.x[:2]  # type: ignore[attr-defined]
    return x, learner.predict(x)


def files(x: torch.Tensor, folder: Path) -> list[str]:
    names = []
    for place, frame in enumerate(x.flatten(0, 1)[:, 0]):
        names.append(str(folder / f"{place}.png"))
        Image.fromarray(frame.numpy()).save(names[-1])
    return names


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["predict", *arguments, "--json", "--device", "cpu"]) == 0
    predictions: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["predictions"]
    return predictions


def test_the_same_images_from_files_give_the_same_symbols(
    run: Path, shown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, symbols = shown
    names = files(x, tmp_path)
    predictions = told([str(run), *names], capsys)
    assert [tuple(p["symbols"]) for p in predictions] == symbols
    assert predictions[1]["images"] == names[5:]
    for p in predictions:
        assert p["value"] == pytest.approx(eval_formula(p["symbols"]))
        assert all(0 < chance <= 1 for chance in p["probabilities"])
    assert None in [p["value"] for p in predictions]  # this network has hardly learnt what may stand where
    assert main(["predict", str(run), *names]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(" ".join(map(str, symbols[0])) + "   ")
    assert "   no value   " in "".join(lines)
    for p in told([str(run), *names, "--constrained"], capsys):
        assert p["value"] == pytest.approx(eval_formula(p["symbols"]))
        assert p["value"] is not None


def eval_formula(symbols: list[Any]) -> Any:
    """By hand: products first, then sums; None for what is no formula."""
    if not all(isinstance(symbol, str) == bool(site % 2) for site, symbol in enumerate(symbols)):
        return None
    terms, signs = [float(symbols[0])], [1]
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        if operator in "+-":
            terms.append(float(digit))
            signs.append(1 if operator == "+" else -1)
        else:
            terms[-1] = terms[-1] * digit if operator == "*" else terms[-1] / digit
    total = sum(s * t for s, t in zip(signs, terms, strict=True))
    return total if total == int(total) else pytest.approx(total)


def test_dark_ink_on_white_is_turned_round_and_a_strip_is_cut(
    run: Path, shown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, symbols = shown
    rows = []
    for number, row in enumerate(x):
        strip = 255 - np.concatenate(list(row[:, 0].numpy()), axis=1)
        rows.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(strip).save(rows[-1])
    predictions = told([str(run), *rows, "--strip"], capsys)
    assert [tuple(p["symbols"]) for p in predictions] == symbols
    assert [p["images"] for p in predictions] == [[row] for row in rows]


def test_a_table_names_the_file_of_each_symbol(
    run: Path, shown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, symbols = shown
    names = files(x, tmp_path)
    expected = told([str(run), *names], capsys)
    assert main(["predict", str(run), *names, "--csv", "--device", "cpu"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["file"] for row in rows] == names
    assert [row["symbol"] for row in rows] == [str(symbol) for one in symbols for symbol in one]
    assert [int(row["site"]) for row in rows] == [*range(5), *range(5)]
    assert [int(row["example"]) for row in rows] == [0] * 5 + [1] * 5
    values = ["" if p["value"] is None else str(p["value"]) for p in expected]
    assert [row["value"] for row in rows] == [value for value in values for _ in range(5)]
    assert main(["predict", str(run), *names, "--csv", "--json"]) == 2
    assert "choose one" in capsys.readouterr().err


def test_a_strip_is_the_file_of_all_its_symbols(
    run: Path, shown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strip = str(tmp_path / "strip.png")
    Image.fromarray(np.concatenate(list(shown[0][0, :, 0].numpy()), axis=1)).save(strip)
    assert main(["predict", str(run), strip, "--strip", "--csv", "--device", "cpu"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["file"] for row in rows] == [strip] * 5


def test_a_network_trained_on_floats_is_given_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = torch.rand(8, 2, 1, 4, 4, generator=torch.Generator().manual_seed(0)).mul(255).byte()
    images[..., 0, :] = images[..., -1, :] = images[..., 0] = 0  # a dark border: ink is bright
    space = sg.Categorical([range(3)] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space))
    network = nn.Sequential(nn.Flatten(2), nn.Linear(16, 3))
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=1), device="cpu")
    learner.fit(sg.Examples(images / 255, [2] * 8), out=tmp_path / "run", quiet=True)
    predictions = told([str(tmp_path / "run"), *files(images, tmp_path)], capsys)
    expected = learner.predict_proba(images / 255).max(-1)
    assert [p["probabilities"] for p in predictions] == [pytest.approx(row, abs=1e-4) for row in expected.tolist()]


def test_images_of_another_size_are_fitted_and_never_stretched(tmp_path: Path) -> None:
    wide = np.zeros((8, 32), dtype=np.uint8)
    wide[2:6] = 255  # a bar across the whole width, a quarter as high as that
    Image.fromarray(wide).save(tmp_path / "bar.png")
    x = read_symbols([tmp_path / "bar.png"], 1, (1, 16, 16), strip=False)
    assert x.shape == (1, 1, 1, 16, 16)
    ink = (x[0, 0, 0] > 127).nonzero()
    assert (ink.max(0).values - ink.min(0).values + 1).tolist() == [2, 16]


def test_colours_are_read_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network of three channels: no ink is turned bright, and what is transparent is white."""
    images = torch.randint(256, (8, 2, 3, 4, 4), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    space = sg.Categorical([range(3)] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space))
    learner = sg.Learner(task, nn.Sequential(nn.Flatten(2), nn.Linear(48, 3)), sg.grounding_stages(task, epochs=1))
    learner.fit(sg.Examples(images / 255, [2] * 8), out=tmp_path / "run", quiet=True)
    names = [str(tmp_path / f"{place}.png") for place in range(16)]
    for name, frame in zip(names, images.flatten(0, 1), strict=True):
        Image.fromarray(frame.permute(1, 2, 0).numpy()).save(name)
    predictions = told([str(tmp_path / "run"), *names], capsys)
    expected = learner.predict_proba(images / 255).max(-1)
    assert [p["probabilities"] for p in predictions] == [pytest.approx(row, abs=1e-4) for row in expected.tolist()]
    Image.new("RGBA", (2, 8), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert bool((read_symbols([tmp_path / "clear.png"], 1, (3, 4, 4)) == 255).all())
    with pytest.raises(DataError, match="images of 4 channels"):
        read_symbols([tmp_path / "clear.png"], 1, (4, 4, 4))


@pytest.mark.parametrize(("count", "words"), [(0, "No image"), (4, "5 symbols"), (7, "strips")])
def test_a_number_of_files_that_does_not_fit(count: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words):
        read_symbols([tmp_path / "any.png"] * count, 5, (1, 8, 8), strip=False)


def test_what_cannot_be_read_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.png").write_text("not an image")
    for name in ("text.png", "absent.png"):
        assert main(["predict", str(run), *[str(tmp_path / name)] * 5]) == 2
        assert name in capsys.readouterr().err


def test_a_run_whose_network_reads_no_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--nodes", "6", "--train-size", "8", "--test-size", "4", "--epochs", "1", "--zero-epochs", "0", "--quiet"]
    assert main(["train", "sdsp", *short, "--device", "cpu", "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run"), "any.png"]) == 2
    assert "does not read one image per symbol" in capsys.readouterr().err


def test_sums_have_their_value_though_the_scan_only_checks_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--train-size", "32", "--epochs", "1", "--network", "lenet", "--quiet", "--device", "cpu"]
    assert main(["train", "addition", *short, "--out", str(tmp_path / "run")]) == 0
    experiment, _ = load_run(RunFolder.open(tmp_path / "run"), device="cpu")
    names = files(experiment.test.x[:1], tmp_path)  # type: ignore[attr-defined]
    [p] = told([str(tmp_path / "run"), *names, "--constrained"], capsys)
    assert p["value"] == sum(p["symbols"])
