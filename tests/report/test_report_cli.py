"""Every run of the command line ends with a report, and reports can be written again and side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_cases import hurry, read, train
from learner_cases import addition, examples, make_learner
from report_cases import Page, loads
from softground.cli import main
from softground.figures import Figure
from softground.report.findings import FINDINGS
from softground.report.watch import GALLERY
from softground.report.words import in_words

WHOLE = ["held-out", "watched", "symbols", "figures", "curves", "confidence", "time", "config"]

hurried = pytest.fixture(autouse=True, scope="module")(hurry)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each preset, which nothing may change."""
    folder = tmp_path_factory.mktemp("runs")
    assert train(folder / "paper", "paper", "--quiet") == 0
    assert train(folder / "best", "best", "--quiet", "--seed", "1") == 0
    return folder


@pytest.fixture
def copy(runs: Path, tmp_path: Path) -> Path:
    """A copy of the first run without its page."""
    shutil.copytree(runs / "paper", tmp_path / "run")
    (tmp_path / "run" / "report.html").unlink()
    return tmp_path / "run"


def test_a_run_ends_with_a_page_that_is_complete(runs: Path) -> None:
    html = (runs / "paper" / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert loads(html) == []
    summary = read(runs / "paper" / "summary.json")
    for figures in (summary["before"], summary["after_stage_I"], summary["after_stage_II"], summary["train"]):
        for name, value in figures.items():
            assert in_words(Figure.parse(name, value)) in page.text
    assert f"{summary['parameters']:,}" in page.text
    assert summary["note"] in page.text
    assert [a["id"] for a in page.all("section")] == WHOLE
    for option, value in read(runs / "paper" / "config.json")["recipe"].items():
        assert option in page.text
        assert not isinstance(value, int | str) or isinstance(value, bool) or str(value) in page.text
    assert page.all("img")
    assert "epoch 5" in page.text


def test_the_gallery_has_every_epoch(runs: Path) -> None:
    records = [json.loads(line) for line in (runs / "paper" / GALLERY).read_text().splitlines()]
    assert [(r["epochs"], r["stage"]) for r in records] == [
        (0, None),
        (1, "I"),
        (2, "I"),
        (3, "I"),
        (4, "II"),
        (5, "II"),
    ]
    assert all(len(r["predicted"]) == 6 for r in records)


def test_a_report_is_written_again_from_the_run_folder_alone(
    copy: Path, runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("softground.cli.report.load_run", lambda folder: pytest.fail("the data were asked for"))
    assert main(["report", str(copy)]) == 0
    assert capsys.readouterr().out.strip() == f"Report: {copy / 'report.html'}"
    again, first = ((folder / "report.html").read_text() for folder in (copy, runs / "paper"))
    assert again.replace("hwf · run", "hwf · paper").replace("<span>run</span>", "<span>paper</span>") == first


def test_an_older_run_gets_its_examples_from_the_checkpoint(copy: Path) -> None:
    (copy / GALLERY).unlink()
    (copy / FINDINGS).unlink()
    assert main(["report", str(copy)]) == 0
    page = Page((copy / "report.html").read_text())
    assert [a["id"] for a in page.all("section")] == WHOLE
    assert "at the end" in page.text
    assert (copy / FINDINGS).exists()


def test_findings_are_made_anew_when_the_run_has_gone_on_since(copy: Path) -> None:
    path = copy / FINDINGS
    known = read(path)
    assert known["epochs"] == 5
    path.write_text(json.dumps(known | {"epochs": 3, "wrong": 12_345}))
    assert main(["report", str(copy)]) == 0
    assert read(path) == known
    assert "12,345" not in (copy / "report.html").read_text()


def test_a_run_whose_data_are_gone_still_gets_its_curves(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / FINDINGS).unlink()
    config = read(copy / "config.json")
    config["recipe"] |= {"data": "folder", "data_dir": str(copy / "nowhere")}
    (copy / "config.json").write_text(json.dumps(config))
    assert main(["report", str(copy)]) == 0
    assert "without examples and confusions" in capsys.readouterr().err
    assert [a["id"] for a in Page((copy / "report.html").read_text()).all("section")] == [
        "figures",
        "curves",
        "confidence",
        "time",
        "config",
    ]


def test_a_run_that_another_program_started_has_the_whole_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = addition()
    make_learner(task).fit(examples(task), examples(task, 50, seed=1), out=tmp_path / "run", quiet=True)
    page = Page((tmp_path / "run" / "report.html").read_text())
    sections = [*WHOLE[:3], "maps", *WHOLE[3:6], "choice", *WHOLE[6:]]  # some examples are explained
    assert [a["id"] for a in page.all("section")] == sections
    assert f"{read(tmp_path / 'run' / 'summary.json')['answer_accuracy']:.2%}" in page.text
    assert main(["report", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().err == ""


def test_runs_side_by_side(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [str(runs / name) for name in ("paper", "best")]
    assert main(["report", *folders, "--compare"]) == 0
    html = (tmp_path / "compare.html").read_text()
    page = Page(html)
    assert loads(html) == []
    assert "A paper" in page.text
    assert "B best" in page.text
    for name in ("paper", "best"):
        assert f"{read(runs / name / 'summary.json')['symbol_accuracy']:.2%}" in page.text
    assert main(["report", *folders, "--compare", "--out", "other.html"]) == 0
    assert (tmp_path / "other.html").read_text() == html
    assert main(["report", folders[0], "--out", "one.html"]) == 0
    assert (tmp_path / "one.html").read_text() == (runs / "paper" / "report.html").read_text()


def test_a_page_can_be_opened_in_a_browser(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["report", str(copy), "--open"]) == 0
    assert opened == [(copy / "report.html").resolve().as_uri()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No run folder was given"),
        (["RUN", "--compare"], "give two or more run folders"),
        (["RUN", "RUN", "--out", "x.html"], "add --compare"),
        (["RUN", "--out", "."], "is a folder"),
        (["nowhere"], "no such folder"),
        (["RUN", "--out", "nowhere/x.html"], "could not be written"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str],
    message: str,
    runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *[str(runs / "paper") if a == "RUN" else a for a in arguments]]) == 2
    assert message in capsys.readouterr().err


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--compare", "--out", "--open", "RUN-FOLDERS"):
        assert option in text
