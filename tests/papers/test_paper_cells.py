"""Tiny cells of every kind, from the command to the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cli_cases import hurry
from papers.li2023.__main__ import main
from papers.li2023.cell import Where
from papers.li2023.plan import plan, select
from papers.li2023.store import Store
from papers.li2023.work import run
from softground.tasks import ShortestPaths
from softground.tasks.sdsp.path_task import shortest_found

hurried = pytest.fixture(autouse=True, scope="module")(hurry)
CELLS = {cell.name: cell for cell in plan("all", 1, real=False, quick=True)}
HERE = Where("cpu")


@pytest.mark.parametrize(
    "method", ["exp", "ssl", "ngs", "mapo", "rl", "exp-ngs", "sup", "semantic", "exact", "hard-best"]
)
def test_formulas(method: str) -> None:
    found = run(CELLS[f"hwf/standard/{method}/0"], HERE)
    stages = found["result"]["stages"]
    twice = {"exp", "ssl", "exp-ngs", "exact", "hard-best"}
    assert list(stages) == (["SUP"] if method == "sup" else ["I", "II"] if method in twice else ["I"])
    for stage in stages.values():
        figures = {"symbol_accuracy", "calculation_accuracy"}
        assert set(stage["test"]) == figures | {f"grammatical_{name}" for name in figures}
        assert 0 <= stage["grounded"] <= stage["examples"] == 48
    assert ("curves" in found["result"]) == (method in ("ssl", "ngs", "mapo"))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    "method", ["exp", "mcmc", "ssl", "mapo", "semantic", "best", "linear-code", "ssl-code", "hard-feasible"]
)
def test_sudoku(method: str) -> None:
    stages = run(CELLS[f"sudoku/500/{method}/0"], HERE)["result"]["stages"]
    assert "board_accuracy" in stages["I"]["test"]
    assert ("II" in stages) == (method in ("exp", "mcmc", "linear-code"))


def test_sudoku_as_in_the_code_keeps_the_last_and_the_best_epoch() -> None:
    cell = CELLS["sudoku/50/exp-code/0"]
    result = run(replace(cell, options=cell.options | {"evaluate_every": 1}), HERE)["result"]
    assert set(result["evaluated"]) == {"I"}  # Stage II of a tiny cell has one epoch
    found = result["evaluated"]["I"]
    assert found["epochs"] == 2
    assert found["best"]["accuracy"] >= found["last"]["accuracy"]


@pytest.mark.parametrize("method", ["exp", "na", "na-code", "mapo", "rl", "sup", "mean"])
def test_shortest_paths(method: str) -> None:
    stages = run(CELLS[f"sdsp/recursive/{method}/0"], HERE)["result"]["stages"]
    assert all("path_accuracy_all" in stage["test"] for stage in stages.values())
    assert ("II" in stages) == (method in ("exp", "na"))


def test_shortest_paths_by_the_exact_kernel() -> None:
    assert "path_accuracy" in run(CELLS["sdsp/uniform/gibbs/0"], HERE)["result"]["stages"]["I"]["test"]


def test_the_mean_distance_is_that_of_the_training_graphs() -> None:
    """Figures of a constant prediction, worked out from the graphs themselves."""
    cell = CELLS["sdsp/recursive/mean/0"]
    data = ShortestPaths(
        **{k: v for k, v in cell.options.items() if k in ("nodes", "train_size", "test_size", "trees")}
    )
    split = data.load(0)
    guess = split.train.symbols.mean(0)  # type: ignore[union-attr]
    weights, hops = torch.stack([y[0] for y in split.test.y]), torch.stack([y[1] for y in split.test.y])
    found = shortest_found(weights, hops, guess.expand(len(weights), -1))
    assert run(cell, HERE)["result"]["stages"]["I"]["test"]["path_accuracy_all"] == pytest.approx(
        found.double().mean().item(), abs=1e-5
    )


@pytest.mark.parametrize("task", ["hwf", "sudoku", "sdsp"])
def test_z3_is_timed(task: str) -> None:
    pytest.importorskip("z3")
    result = run(CELLS[f"{task}/z3/0"], HERE)["result"]
    assert result["queries"] == 2
    assert all(times["milliseconds"] > 0 for times in result["inversions"].values())


def test_the_command_runs_what_is_missing_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--quick", "--seeds", "1", "--device", "cpu", "--out", str(tmp_path / "out")]
    assert main(["sdsp", *out, "--only", "sdsp/uniform/sup", "--jobs", "2"]) == 0
    text = capsys.readouterr().out
    assert "0 of 1 cells are done; 1 to go." in text
    assert "[1/1] sdsp/uniform/sup/0: SUP " in text
    path = tmp_path / "out" / "sdsp.jsonl"
    kept = Store(path.parent).read(CELLS["sdsp/uniform/sup/0"])
    assert kept is not None
    assert kept["options"] == dict(select(list(CELLS.values()), ["sdsp/uniform/sup"])[0].options)
    assert kept["environment"]["torch"]
    when = path.stat().st_mtime_ns
    assert main(["sdsp", *out, "--only", "sdsp/uniform/sup"]) == 0
    assert "1 of 1 cells are done; 0 to go." in capsys.readouterr().out
    assert path.stat().st_mtime_ns == when
    assert "| SUP | " in (tmp_path / "out" / "reproduction.md").read_text()
    assert main(["sdsp", *out, "--list"]) == 0
    listed = capsys.readouterr().out
    assert "done  sdsp/uniform/sup/0" in listed
    assert "      sdsp/recursive/exp/0" in listed
    assert "1 of 19 are done" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hwf", "--seeds", "0"], "--seeds 0"),
        (["hwf", "--list", "--seeds", "1000000000"], "at most 1,000"),
        (["hwf", "--jobs", "0"], "--jobs 0"),
        (["hwf", "--seconds", "-1"], "--seconds -1"),
        (["hwf", "--only", "nothing/like/this"], "fits no cell"),
        (["hwf", "--data-dir", "no/such/folder"], "is not a folder"),
        (["hwf", "--quick", "--data-dir", "."], "--quick"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
