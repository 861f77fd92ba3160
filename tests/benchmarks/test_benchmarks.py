"""The speed benchmarks' own arithmetic: clocks, ratios, records, fits and tables. No test here measures a time."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.provenance import read_page
from softground.projections import Dropped
from softground.tasks.formulas import formula_program

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("step", "inverse", "circuit", "memory", "whole_run")


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


def test_timed_gives_quartiles_of_one_call(benchmark: Callable[[str], ModuleType]) -> None:
    measure = benchmark("measure")
    ticks = iter([0.0, 5.0, 10.0, 11.0, 20.0, 23.0])
    found = measure.timed(lambda: None, repeats=3, warmup=0, clock=lambda: next(ticks))
    assert found == {"median": 3.0, "low": 2.0, "high": 4.0, "repeats": 3}
    with pytest.raises(ValueError, match="at least one repeat"):
        measure.timed(lambda: None, repeats=0)


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


def test_throughputs_over_the_papers(benchmark: Callable[[str], ModuleType], tmp_path: Path) -> None:
    inverse = benchmark("inverse")
    # 1,000 queries in half the time of the paper's 100: 20 times its throughput.
    found = inverse.gain({"median": 0.5, "low": 0.25, "high": 1.0, "repeats": 7}, 1000 / 100)
    assert found == {"ratio": 20.0, "spread": {"median": 20.0, "low": 10.0, "high": 40.0, "repeats": 7}}
    page = {"paper": {"throughput": 50.0}, "measured": {"cpu": {"environment": {"cpus": 2, "platform": "Linux"}}}}
    (tmp_path / "inverse.json").write_text(json.dumps(page))
    figures = {"cuda": {"table": {"throughput": 5e6}}}
    inverse.elsewhere(tmp_path / "inverse.json", figures)
    assert figures["cuda"]["table"]["ratio"] == 1e5
    assert "another machine" in str(figures["cuda"]["table"]["baseline"])


def test_the_inverse_benchmark_asks_what_the_walk_asks(benchmark: Callable[[str], ModuleType]) -> None:
    inverse, program = benchmark("inverse"), formula_program(7)
    queries = inverse.draw(program, 400, seed=1)
    fibre = inverse.Table(program).fibre(queries.z, queries.y, Dropped(queries.sites()))
    assert 0.1 < (fibre.count == 0).double().mean().item() < 0.7
    assert [program.answer(y) for y in queries.y[:50]] == [inverse_of(a) for a in queries.answers[:50]]


def inverse_of(answer: Fraction) -> Any:
    """An answer as the program's own rows of whole numbers."""
    return (answer.numerator, answer.denominator)


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


def test_tables_from_a_page(benchmark: Callable[[str], ModuleType], tmp_path: Path) -> None:
    tables = benchmark("speed_table")
    assert tables.speed(tmp_path).endswith("Not measured yet.")
    machine = {"cpus": 2, "gpu": None, "torch": "2.13.0"}
    about = {"environment": machine, "commit": "abc", "seed": 0, "command": "python x"}
    spread = {"low": 1.0, "high": 1.1}
    pages: dict[str, Any] = {
        "step": {
            "formulas": {"cpu": {"ratio": 1.04, "spread": spread}, "cuda": {"ratio": 1.07}},
            "addition": {"cpu": {"ratio": 1.5}},
            "measured": {"cpu": about},
        },
        "inverse": {
            "formulas": {"cuda": {"table": {"ratio": 123456.0, "baseline": "elsewhere"}}},
            "z3": {"ratio": 11.26, "workers": 2, "one_process": {"ratio": 6.2}},
            "measured": {"cpu": about},
        },
        "whole_run": {
            "hwf": {
                "cpu": {
                    "reached": False,
                    "accuracy": 0.9,
                    "epochs": 3,
                    "command_line": "softground",
                    "seconds": {"training": {"median": 200.04}, "total": {"median": 210.0}},
                    "runs": [{}, {}],
                }
            },
            "measured": {"cpu": about},
        },
    }
    for name, page in pages.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(page))
    lines = tables.speed(tmp_path).splitlines()
    assert "| training step, formulas | time / time with labels | ≤ 1.2 | ≤ 1.05 | 1.04 (1.00–1.10) | 1.07 |" in lines
    assert "| training step, addition | time / time with labels |  |  | 1.50 | – |" in lines
    assert next(line for line in lines if "projection, table" in line).endswith("| – | 123,000 \\* |")
    assert any(line.startswith("| inverse by Z3, 2 workers |") and "| 11.3 | – |" in line for line in lines)
    assert any("| 200.0 / 210.0; only 90.0 % reached | – |" in line for line in lines)
    assert "- `python x`: 2 CPU cores, torch 2.13.0, commit abc, seed 0" in lines


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


def test_the_table_of_addition_says_what_is_missing_and_which_runs_failed(
    benchmark: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    table, path = benchmark("addition_table").table, tmp_path / "addition.json"
    assert "Not measured yet" in table(path)
    where = {"commit": "abc", "environment": {"gpu": None, "cpus": 2}}
    runs = {
        f"{row}/1/{seed}": {"sum_accuracy": share, "symbol_accuracy": share} | where
        for row, shares in {"lenet": [0.97, 0.98, 0.99], "draws": [0.1]}.items()
        for seed, share in enumerate(shares)
    }
    found = benchmark("cells").table(runs, ("sum_accuracy", "symbol_accuracy"))
    path.write_text(json.dumps({"command": "python benchmarks/addition.py", "table": found, "runs": runs}))
    text = table(path)
    assert "| exact marginals of the scan | 98.0 ± 1.0 | – | – | – |" in text
    assert "| exact draws instead of marginals (`--no-marginals`) | 10.0 (1 seed) | – | – | – |" in text
    assert "| with labels" not in text
    assert "counted in the means: exact draws instead of marginals (`--no-marginals`), 1 digit, 1 of 1." in text


def test_the_whole_run_takes_the_candidate_that_always_gets_there_and_soonest(
    benchmark: Callable[[str], ModuleType],
) -> None:
    def tried(reached: bool, *seconds: float) -> dict[str, Any]:
        return {"reached": reached, "runs": [{"seconds": {"training": each}} for each in seconds]}

    whole_run, found = benchmark("whole_run"), {"a": tried(True, 3.0, 5.0), "b": tried(True, 4.0, 4.5)}
    assert whole_run.quickest(found | {"c": tried(False, 1.0, 1.0)}) == "b"
    assert whole_run.quickest({"c": tried(False, 1.0)}) is None


def test_the_table_says_how_the_whole_run_was_chosen(benchmark: Callable[[str], ModuleType]) -> None:
    table, made = benchmark("speed_table"), {"epochs": 4, "image_size": 16}
    figure = {"runs": [{"recipe": {"epochs": 4, "problem": {"image_size": 16}}}]}
    choice = {"hwf": {"cpu": {"choice": "b", "candidates": {"b": {"settings": made}}}}}
    assert "training formulas that were put away" in table.chosen(choice, "cpu", figure)
    for page, device in (({}, "cpu"), (choice, "cuda")):
        assert table.chosen(page, device, figure) == "were chosen by looking at this figure"
    made["epochs"] = 3  # came out best, and is not what was measured
    assert table.chosen(choice, "cpu", figure) == "were chosen by looking at this figure"
    assert table.chosen(choice, "cpu", {"runs": [{}]}) == "were chosen by looking at this figure"
