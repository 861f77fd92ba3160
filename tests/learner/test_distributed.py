"""Two processes under torchrun: the same program, one run folder, and a run that can go on with any number of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import distributed_worker
from cli_cases import process, read
from learner_cases import Stop, left_behind
from softground.cli import main

HERE = Path(__file__).parents[1] / "support"
TORCHRUN = ("--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
def test_a_run_of_the_command_line_in_two_processes_goes_on_in_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    arguments = [
        "--length",
        "3",
        "--train-size",
        "601",
        "--test-size",
        "100",
        "--image-size",
        "8",
        "--device",
        "cpu",
        "--network",
        "lenet",
        "--no-augment",
        "--readings",
        "grammatical",
        "--epochs",
        "8",
        "--batch-size",
        "32",
        "--learning-rate",
        "0.003",
        "--out",
        str(run),
    ]
    both = process(*TORCHRUN, "-m", "softground", "train", "hwf", *arguments, module="torch.distributed.run")
    output, errors = both.communicate(timeout=240)
    assert both.returncode == 0, errors
    assert output.count("Stage I, epoch 8/8") == 1  # process 0 alone speaks
    assert os.listdir(tmp_path) == ["run"]
    assert sorted(p.name for p in run.iterdir() if p.suffix != ".safetensors") == [
        ".lock",
        "config.json",
        "gallery.jsonl",
        "metrics.jsonl",
        "model",
        "report.html",
        "report.json",
        "summary.json",
    ]
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in records] == list(range(8))
    summary = read(run / "summary.json")
    assert summary["symbol_accuracy"] > 0.7 > 0.3 > summary["before"]["symbol_accuracy"]
    assert left_behind(run)["meta"]["world"] == 2

    assert main(["evaluate", str(run), "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["symbol_accuracy"] == summary["symbol_accuracy"]
    assert main(["resume", str(run), "--previous", "--quiet"]) == 0  # repeats the last epoch, in one process
    again = left_behind(run)
    assert again["meta"]["world"] == 1
    assert [record["epoch"] for record in again["metrics"]] == list(range(8))
    assert again["tensors"]["objective/0/chains"].shape == (601, 3)
    assert read(run / "summary.json")["symbol_accuracy"] > 0.7


@pytest.mark.slow
def test_two_processes_have_the_law_and_interrupted_and_resumed_the_same_bits(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        distributed_worker.run(tmp_path / "one", 9)
    worker = process(*TORCHRUN, str(HERE / "distributed_worker.py"), str(tmp_path), module="torch.distributed.run")
    _, errors = worker.communicate(timeout=240)
    assert worker.returncode == 0, errors
    assert {path.name for path in tmp_path.glob("done *")} == {"done 0", "done 1"}
    assert left_behind(tmp_path / "one")["meta"]["world"] == 2
    distributed_worker.go_on(tmp_path / "two")
    distributed_worker.go_on(tmp_path / "two, dropped", lost=20)
    assert not list((tmp_path / "two").glob("part-*"))  # the last two checkpoints are those of one process
