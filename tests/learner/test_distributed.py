"""Two processes under torchrun: the same program, one run folder, and a run that goes on with as many of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

import distributed_worker
from cli_cases import process, read
from learner_cases import Stop, left_behind, untimed
from softground.cli import main

HERE = Path(__file__).parents[1] / "support"
TORCHRUN = ("--standalone", "--nproc-per-node", "2")
SMALL = ["--length", "3", "--train-size", "601", "--test-size", "100", "--image-size", "8", "--network", "lenet"]
SMALL += ["--no-augment", "--readings", "grammatical", "--device", "cpu"]
SMALL += ["--epochs", "8", "--batch-size", "32", "--learning-rate", "0.003"]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What two processes leave and print: a run of the command line in a folder of its own, then the worker's."""
    folder = tmp_path_factory.mktemp("both")
    with pytest.raises(Stop):
        distributed_worker.run(folder / "one", 9)
    command = ["train", "hwf", *SMALL, "--restarts", "0", "--out", str(folder / "command" / "run")]
    script = str(HERE / "distributed_worker.py")
    processes = process(*TORCHRUN, script, str(folder), *command, module="torch.distributed.run")
    output, errors = processes.communicate(timeout=240)
    assert processes.returncode == 0, errors
    return folder, output


@pytest.mark.slow
def test_a_run_of_the_command_line_in_two_processes_is_read_by_one(
    both: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = both[0] / "command", both[1]
    run = folder / "run"
    assert output.count("Stage I, epoch 8/8") == 1  # process 0 alone speaks
    assert os.listdir(folder) == ["run"]
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
    assert main(["resume", str(run), "--previous", "--quiet"]) == 2
    assert "was trained by 2 process(es), and this is one of 1. Resume it with 2" in capsys.readouterr().err
    assert len((run / "metrics.jsonl").read_text().splitlines()) == len(records)


@pytest.mark.slow
@pytest.mark.parametrize("case", distributed_worker.CASES)
def test_two_processes_take_the_steps_of_one(both: tuple[Path, str], case: str) -> None:
    """The same batches, each with what counts in both: the same weights and records, but for rounding."""
    alone, left = distributed_worker.exact(case), left_behind(both[0] / "exact" / case)
    for name, value in alone.network.state_dict().items():
        assert torch.allclose(value, left["tensors"][f"network/{name}"], atol=1e-6), name
    for one, two in zip(untimed(alone.history_), left["metrics"], strict=True):
        assert one == pytest.approx(two, abs=1e-5)


@pytest.mark.slow
def test_two_processes_have_the_law_and_interrupted_and_resumed_the_same_bits(both: tuple[Path, str]) -> None:
    folder, _ = both
    assert {path.name for path in folder.glob("done *")} == {"done 0", "done 1"}
    assert left_behind(folder / "one")["meta"]["world"] == 1
