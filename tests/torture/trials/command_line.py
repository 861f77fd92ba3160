"""Random and mistyped command lines, in this process, with everything kept short that would take long.

What trains, searches for long or starts processes stops where it would begin; all before that is the real thing:
reading the words, loading data, building task and network, opening run folders, evaluating, predicting, reporting.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import torch
from PIL import Image

from softground.cli import main
from softground.errors import SoftgroundError
from softground.experiments import Experiment

from ..trial import Tally, Trial
from ._bounds import Memory, within
from ._lines import line
from ._records import small_run

SECONDS = 20.0
MEMORY = 1024.0  # MiB
CODES = (0, 2, 130)  # done, bad input, interrupted
LONGEST = 10_000  # characters of a complaint, beside a few for each of the words', which may be long themselves
FEW = 64  # training examples of a run that is begun
STOPS = ("softground.cli.inspect.inspect", "softground.cli.export.export_onnx", "softground.cli.open.serve")


def _stop(*given: Any, **named: Any) -> NoReturn:
    raise SoftgroundError("This is as far as the trial goes.")


def _begun(run: Callable[..., Any]) -> Callable[..., Any]:
    """Training with few examples, in this process alone, is begun, and stops after an epoch; any other is not."""

    def begin(experiment: Any, *more: Any, **named: Any) -> Any:
        small = len(experiment.train) <= FEW and experiment.place.solver_workers in (None, 1)
        return run(experiment, *more, **named) if small else _stop()

    return begin


class _FirstEpoch:
    """In the place of the observer that keeps what a report shows."""

    def __init__(self, *given: Any) -> None:
        pass

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            _stop()


def _fewer(random_graphs: Callable[..., Any]) -> Callable[..., Any]:
    """Twenty graphs instead of the usual thousands, which take seconds; what is refused is refused still."""
    return lambda count, *given: random_graphs(min(count, 20) if count < 10_000 else count, *given)


def _once(run: Callable[[Any], None]) -> Callable[[Any], None]:
    """A script of completions takes seconds, and is the same each time: it is made once for each shell."""

    @cache
    def made(command: Any) -> tuple[str, Any]:
        with redirect_stdout(io.StringIO()) as said:
            try:
                run(command)
            except SystemExit as stop:
                return said.getvalue(), stop.code
        return said.getvalue(), None

    def again(command: Any) -> None:
        text, code = made(command)
        print(text, end="")
        sys.exit(code)

    return again


@contextmanager
def kept_short(run: Path, folder: Path) -> Iterator[None]:
    """A folder with a run and pictures in it as the current one, nothing that takes long, nothing that stays."""
    shutil.copytree(run, folder / "run")
    for name in ("empty", "data"):
        (folder / name).mkdir()
    (folder / "file.txt").write_text("--seed\n1\n")
    (folder / "broken.png").write_bytes(b"\x89PNG and no more")
    for number in range(2):
        shades = bytes((37 * (place + number)) % 256 for place in range(81))  # of all kinds, as in training
        Image.frombytes("L", (9, 9), shades).save(folder / f"{number}.png")
    datasets = import_module("sklearn.datasets")
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        stack.enter_context(patch.dict(os.environ))
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.callback(torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled())
        stack.enter_context(patch.object(datasets, "load_digits", cache(datasets.load_digits)))
        stack.enter_context(patch("webbrowser.open", return_value=False))
        graphs = import_module("softground.tasks.sdsp.problem")
        stack.enter_context(patch.object(graphs, "random_graphs", _fewer(graphs.random_graphs)))
        stack.enter_context(patch.object(Experiment, "run", _begun(Experiment.run)))
        stack.enter_context(patch("softground.report.watch.Watch", _FirstEpoch))
        completion: Any = import_module("softground.cli.completion").Command
        stack.enter_context(patch.object(completion, "run", _once(completion.run)))
        for name in STOPS:
            module, _, function = name.rpartition(".")
            stack.enter_context(patch.object(import_module(module), function, _stop))
        yield


def attempt(words: list[str]) -> tuple[int, str, str]:
    """Exit code, output and complaints. The streams are as strict as a terminal's."""
    written, complained = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(written, encoding="utf-8")
    errors = io.TextIOWrapper(complained, encoding="utf-8", errors="backslashreplace", write_through=True)
    with patch.object(sys, "stdout", out), patch.object(sys, "stderr", errors):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        out.flush()
        errors.flush()
    return code, written.getvalue().decode(), complained.getvalue().decode()


def judge(words: list[str], code: int, output: str, complaint: str) -> None:
    """Done, or refused in words for a person."""
    assert code in CODES, f"exit code {code}: {complaint[:300]}"
    assert "Traceback (most recent call last)" not in output + complaint, complaint[-300:]
    longest = LONGEST + 5 * len("".join(words))
    assert len(complaint) <= longest, f"{len(complaint):,} characters of complaint: {complaint[:300]}"
    if code:
        assert complaint.strip(), "refused without a word"
    if complaint.startswith("softground: ") and "\n" not in "".join(words):
        assert complaint.count("\n") == 1, f"more than a line: {complaint[:300]}"


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """One line after the other."""
    rng, memory, codes, slowest = random.Random(seed), Memory(), dict.fromkeys(CODES, 0), 0.0
    inside = folder / "inside"
    inside.mkdir()
    with small_run() as made, kept_short(made, inside):
        for number in range(cases):
            words = line(rng)
            with tally.case(f"line {number}, {str(words)[:300]}"), within(SECONDS), memory.within(MEMORY):
                began = time.perf_counter()
                found = attempt(words)
                slowest = max(slowest, time.perf_counter() - began)
                judge(words, *found)
                codes[found[0]] += 1
                assert os.listdir(folder) == ["inside"], "written outside"
    tally.notes.update({f"exit code {code}": count for code, count in codes.items() if count})
    tally.notes.update({"slowest s": round(slowest, 1), "most memory MiB": round(memory.most)})


TRIAL = Trial(
    key="command_line",
    row=62,
    what="random and mistyped command lines",
    must_hold="exit code 0, 2 or 130; no traceback",
    full=3_000,
    short=60,
    run=run,
)
