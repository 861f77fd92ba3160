"""The speed benchmarks' own arithmetic: clocks, ratios, records, fits and tables. No test here measures a time."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.provenance import read_page

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("step", "inverse", "circuit", "layer", "memory", "whole_run")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import one of the scripts, which find each other as neighbours."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


class FakeTime:
    """A clock that moves only when work is done."""

    def __init__(self) -> None:
        self.now, self.done = 0.0, ""

    def work(self, name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            # Each call is slower than the one before: a machine that gets busier and busier.
            self.done += name
            self.now += seconds * (1 + 0.001 * len(self.done))

        return run


def test_interleaved_takes_turns_and_drift_hits_both(benchmark: Callable[[str], ModuleType]) -> None:
    measure, time = benchmark("measure"), FakeTime()
    alternatives = {"labels": time.work("a", 1.0), "weak": time.work("b", 3.0)}
    found = measure.interleaved(alternatives, repeats=4, warmup=2, clock=lambda: time.now)
    assert time.done == "aabb" + "ab" + "ba" + "ab" + "ba"
    assert list(found["ratio"]) == ["weak"]
    assert found["ratio"]["weak"]["median"] == pytest.approx(3.0, rel=0.002)
    assert found["ratio"]["weak"]["low"] < found["ratio"]["weak"]["high"]
    assert found["seconds"]["labels"]["repeats"] == 4
    assert found["seconds"]["labels"]["low"] > 1.0


def test_a_record_adds_a_device_and_keeps_the_others(
    benchmark: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = benchmark("measure")
    monkeypatch.setattr(sys, "argv", ["benchmarks/step.py", "--data-dir", "/somebody/data", "--seed", "3"])
    monkeypatch.setenv("SOFTGROUND_COMMIT", "abc")
    measure.record("step", {"formulas": {"cpu": {"ratio": 1.23456789, "old": [1, 2]}}}, seed=3, folder=tmp_path)
    page = measure.record(
        "step", {"formulas": {"cuda": {"ratio": 1.5}, "cpu": {"old": [3]}}}, seed=4, device="cuda", folder=tmp_path
    )
    assert page == read_page(tmp_path / "step.json")
    assert page["formulas"] == {"cpu": {"ratio": 1.2346, "old": [3]}, "cuda": {"ratio": 1.5}}
    assert page["measured"]["cpu"]["seed"] == 3
    assert page["measured"]["cuda"]["seed"] == 4
    assert page["measured"]["cpu"]["commit"] == "abc"
    assert page["measured"]["cpu"]["command"].endswith("step.py --data-dir DIR --seed 3")
    assert [p.name for p in tmp_path.iterdir()] == ["step.json"]
    assert measure.record("step", {"formulas": 1}, seed=0, folder=None)["formulas"] == 1
    assert measure.destination(measure.options("").parse_args(["--quick"])) is None


def test_the_watch_tells_training_from_evaluation_and_stops_at_the_goal(
    benchmark: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_run = benchmark("whole_run")
    clock = FakeTime()
    monkeypatch.setattr(whole_run.time, "perf_counter", lambda: clock.now)
    watch = whole_run.Watch("cpu", goal=0.9)
    clock.now = 1.0
    watch("begin", {})
    for accuracy in (0.5, 0.95):
        for step in range(2):
            clock.now += 10.0
            watch("batch", {"step": step, "steps": 2})
        clock.now += 1.0
        facts = {"test_calculation_accuracy": accuracy, "test_grammatical_calculation_accuracy": accuracy}
        if accuracy < 0.9:
            watch("epoch", facts)
        else:
            with pytest.raises(whole_run.Reached):
                watch("epoch", facts)
    assert (watch.training, watch.evaluation) == (40.0, 2.0)
    assert [e["training"] for e in watch.epochs] == [20.0, 40.0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself(
    benchmark: Callable[[str], ModuleType],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = benchmark(name)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as end:
        module.main()
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert "--quick" in shown
    assert f"python benchmarks/{name}.py" in shown
