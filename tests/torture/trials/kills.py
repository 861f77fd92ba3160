"""``kill -9`` at any moment of training, saving included, then resume: the same bits as never having stopped.

Of six kills four come at a moment drawn uniformly from the run's length, one comes from outside just after a temporary
file has appeared, and one at a drawn write, forced write, rename or removal of the process's own. What is resumed may
be killed again. A few runs go through ``python -m softground`` itself instead of forks that have imported it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..trial import Tally, Trial
from ._nursery import ONE_THREAD, Death, Ended, Nursery
from ._same import assert_gallery, assert_same, left_behind

COMMAND = "torture.trials._saving:command"
MODULES = ["torture.trials._saving", "softground.cli.train", "softground.cli.resume", "softground.cli.given"]
MODULES += ["softground.inspection.maps", "lightning_fabric", "jinja2", "typeguard", "PIL.PngImagePlugin", "numpy.ma"]
SMALL = ["train", "small", "--device", "cpu", "--quiet"]
PATHS = ["train", "sdsp", "--preset", "paper", "--nodes", "6", "--train-size", "24", "--test-size", "8"]
PATHS += ["--batch-size", "8", "--epochs", "20", "--zero-epochs", "4", "--device", "cpu", "--quiet"]
EVERY = 33  # of so many cases one goes through the command line itself
KINDS = ("moment", "time", "time", "file", "time", "time")
AGAIN, MOST = 0.3, 3  # the chance that what is resumed is killed too, and the most kills of one run
DELAY = 0.004  # seconds, at most, from a temporary file to the kill
LIMIT = 120.0  # seconds for a process of the command line


@dataclass
class _Kills:
    """The unbroken run, and others that are not."""

    nursery: Nursery
    folder: Path
    count: Counter[str] = field(default_factory=Counter)

    def unbroken(self) -> None:
        """Train once to the end: what the others must leave, how long it takes, and its moments of saving."""
        self.whole, names = self.folder / "whole", self.folder / "moments.json"
        ended = self.nursery.run(
            COMMAND, {"arguments": [*SMALL, "--out", str(self.whole)], "moments": str(names)}, self.log
        )
        assert ended.code == 0, f"the unbroken run ended with {ended.code}: {self.last_words}"
        self.seconds = ended.seconds
        self.moments: list[str] = json.loads(names.read_text())
        self.left = left_behind(self.whole)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def last_words(self) -> str:
        """The end of what the children printed."""
        return self.log.read_text(errors="replace")[-300:] if self.log.exists() else ""

    def case(self, kind: str, chance: random.Random) -> None:
        """A run killed at least once ends as the unbroken one did."""
        run = self.folder / "run"
        kills = 0
        while True:
            before = kills
            mortal = kills == 0 or (kills < MOST and chance.random() < AGAIN)
            ended = self.start(run, kind if mortal else "", chance)
            kills += ended.killed
            assert ended.killed or ended.code == 0, f"after {kills} kills it ended with {ended.code}: {self.last_words}"
            if ended.killed:
                self.count["kills"] += 1
                self.count["in a save"] += kind == "moment" or any(run.glob(".*.tmp"))
                self.count["of what was resumed"] += before > 0
            elif kills:
                break
            else:  # it was done before its death came
                shutil.rmtree(run)
        assert_same(left_behind(run), self.left)
        assert_gallery(run, self.whole, missing=kills)
        shutil.rmtree(run)

    def start(self, run: Path, kind: str, chance: random.Random) -> Ended:
        """Train or, where there is a run, resume; to the death of this kind, or to the end."""
        begun = (run / "config.json").exists()
        given: dict[str, Any] = {"arguments": ["resume", str(run), "--quiet"] if begun else [*SMALL, "--out", str(run)]}
        death = None
        if kind == "moment":
            given |= {"at": chance.randrange(len(self.moments)), "part": chance.random()}
        elif kind == "time":
            death = Death(chance.uniform(0, self.seconds))
        elif kind == "file":
            files = self.moments.count("before replace")
            death = Death(chance.uniform(0, DELAY), chance.randint(1, files), str(run))
        return self.nursery.run(COMMAND, given, self.log, death)

    def command_line(self, chance: random.Random) -> None:
        """The same with processes that a person would start."""
        whole, run = self.folder / "whole-paths", self.folder / "run-paths"
        if not whole.exists():
            ended = self.nursery.run(COMMAND, {"arguments": [*PATHS, "--out", str(whole)]}, self.log)
            assert ended.code == 0, self.last_words
        records = (whole / "metrics.jsonl").read_bytes().count(b"\n")
        while not self._killed_process(run, chance.randrange(records // 2), chance.uniform(0, 0.2)):
            shutil.rmtree(run)
        self.count["kills"] += 1
        self.count["in a save"] += any(run.glob(".*.tmp"))
        resumed = _process("resume", str(run), "--quiet")
        _, errors = resumed.communicate(timeout=LIMIT)
        assert resumed.returncode == 0, errors[-300:]
        assert_same(left_behind(run), left_behind(whole))
        assert_gallery(run, whole, missing=1)
        shutil.rmtree(run)

    def _killed_process(self, run: Path, records: int, delay: float) -> bool:
        """Kill a command a while after its epoch number ``records``; whether it was still running."""
        victim, metrics = _process(*PATHS, "--out", str(run)), run / "metrics.jsonl"
        try:
            began, done = time.monotonic(), -1
            while victim.poll() is None and done < records:
                assert time.monotonic() < began + LIMIT, "the command line hangs"
                time.sleep(0.001)
                if any(run.glob("checkpoint-*.safetensors")):
                    done = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
            time.sleep(delay)
        finally:
            victim.kill()
            victim.communicate()
        return Ended(victim.returncode, 0.0).killed


def _process(*arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join(str(Path(path or ".").resolve()) for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "softground", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": paths},
    )


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Kill and resume so many runs."""
    with Nursery(MODULES) as nursery:
        kills = _Kills(nursery, folder)
        kills.unbroken()
        for number in range(cases):
            kind = KINDS[number % len(KINDS)]
            chance = random.Random(f"{seed} {number}")
            by_hand = number % EVERY == EVERY - 1
            with tally.case(f"case {number}, {'command line' if by_hand else kind}"):
                if by_hand:
                    kills.command_line(chance)
                else:
                    kills.case(kind, chance)
            shutil.rmtree(folder / "run", ignore_errors=True)
    tally.notes |= kills.count


TRIAL = Trial(
    key="kills",
    row=10,
    what="`kill -9` at any moment, then resume",
    must_hold="identical to an uninterrupted run",
    full=100,
    short=4,
    run=run,
)
