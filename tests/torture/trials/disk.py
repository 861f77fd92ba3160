"""Disks that are full or read-only, and two processes on one run folder.

Most cases let one of the calls by which a run is written fail: an open, a write after a part of it, a forced write, a
rename or a removal, once or for good. Others are real: a limit on the size of files, a small file system that fills
up, a folder that may not be written to, and two processes that resume the same run at the same time.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from softground.errors import CheckpointError
from softground.files import append_line
from softground.report.watch import GALLERY
from softground.runs import RunFolder

from ..trial import Tally, Trial
from ._commands import small_task, warm_up
from ._fork import Ended, forked
from ._full import Faults, drawn, made_read_only, mounted, no_larger_than, permit_reading
from ._pair import State, make, no_waiting, record, restore, resumed, same, says_what_to_do, state
from ._resuming import contested, filled, trained, use
from ._same import assert_same, left_behind

SEED = 1
KINDS = ("fault", "fault", "fault", "fault", "fault", "fault", "limit", "read-only", "full", "two")


def go_on(run: RunFolder, epoch: int) -> State:
    """What a run does on disk in an epoch and at its end."""
    with run.lock():
        run.truncate_metrics(epoch - 1)
        run.append(record(epoch - 1, SEED))
        new = state(run, epoch, SEED)
        run.save_checkpoint(*new)
        append_line(run.path / GALLERY, b'{"epochs": 1, "predicted": []}\n')
        run.write_summary({"task": "pair", "seed": SEED, "epoch": epoch})
    return new


@dataclass
class _Disk:
    """The runs that disks fail."""

    folder: Path
    chance: random.Random
    count: Counter[str] = field(default_factory=Counter)

    def prepare(self) -> None:
        """A run folder as training leaves it, and how many calls it takes to go on with it."""
        self.run, self.current, self.previous = make(self.folder / "run", SEED)
        self.pristine = self.folder / "pristine"
        shutil.copytree(self.run.path, self.pristine)
        self.epoch = self.current[1]["epoch"] + 1
        faults = Faults()
        with faults.injected():
            self.next = go_on(self.run, self.epoch)
        self.calls = faults.count
        restore(self.run.path, self.pristine)

    def train(self) -> None:
        """A small run of the command line, whole and stopped."""
        self.whole, self.stopped = self.folder / "whole", self.folder / "stopped"
        ended = forked(partial(trained, self.whole, self.stopped), 120)
        assert ended.value == 0, ended.trouble or ended.output
        self.left = left_behind(self.whole)
        warm_up(use, self.stopped, self.folder / "shared")
        (self.folder / "small disk").mkdir()
        self.mounts = bool(forked(partial(mounted, self.folder / "small disk", 4096)).value)

    def fault(self) -> None:
        """One call fails, or all from one on."""
        faults = drawn(self.chance, self.calls)
        refused = None
        try:
            with faults.injected():
                go_on(self.run, self.epoch)
        except CheckpointError as error:
            refused = error
        self.check(refused)

    def limit(self) -> None:
        """No file may grow beyond a size: the system stops a write in its middle."""
        size = self.chance.randrange(max(path.stat().st_size for path in self.pristine.iterdir()) + 100)
        self.check(_refusal(forked(partial(written, self.run, self.epoch, size))))

    def read_only(self) -> None:
        """Nothing may be written at all."""
        permit_reading(self.run.path)
        try:
            error = _refusal(forked(partial(refused_to_write, self.run, self.epoch)))
            assert error is not None, "it wrote into a read-only folder"
            assert same(resumed_without_writing(self.run), self.current), "the last state is not what it was"
        finally:
            os.chmod(self.run.path, 0o755)
        self.check(error)

    def full(self) -> None:
        """A real file system of a few pages, filled by a real run."""
        if not self.mounts:  # which needs rights that few have
            self.limit()
            return
        need = sum(-(-path.stat().st_size // 4096) for path in self.stopped.iterdir())
        pages = need + self.chance.randrange(2, 4 * need)
        ended = forked(partial(filled, self.folder / "small disk", self.stopped, pages * 4096), 120)
        assert not ended.trouble, ended.trouble.strip().splitlines()[-1]
        self.count["small disks filled"] += bool(ended.value)

    def two(self) -> None:
        """Two processes resume the same run, one a little later: one of them ends it, none harms it."""
        run = self.folder / "shared"
        shutil.copytree(self.stopped, run)
        try:
            ended = forked(partial(contested, run, self.chance.random() * 0.3), 120)
            assert not ended.trouble, ended.trouble.strip().splitlines()[-1]
            assert 0 in ended.value, f"neither ended the run: {ended.value}; {ended.output[-300:]}"
            assert set(ended.value) <= {0, 2}, f"exit codes {ended.value}"
            assert 2 not in ended.value or "is training in this run folder" in ended.output, ended.output[-300:]
            self.count["second processes refused"] += 2 in ended.value
            assert_same(left_behind(run), self.left)
        finally:
            shutil.rmtree(run)

    def check(self, refused: CheckpointError | None) -> None:
        """The last state, or the new one where nothing was refused, loads; and the run goes on."""
        if refused is not None and not says_what_to_do(refused, self.run.path):
            raise AssertionError(f"the message lacks path, reason or remedy: {refused}")
        found = resumed_without_writing(self.run)
        assert same(found, self.next) or (refused and same(found, self.current)), "what is loaded was never saved"
        before = self.run.load_checkpoint(previous=True)
        assert same(before, self.current if same(found, self.next) else self.previous), "the previous one is lost"
        self.count["refused"] += refused is not None
        go_on(self.run, self.epoch)
        assert same(resumed(self.run), self.next), "the run did not go on"
        strays = [path.name for path in self.run.path.iterdir() if path.name.endswith(".tmp")]
        assert not strays, f"left behind: {strays}"


def resumed_without_writing(run: RunFolder) -> State:
    """What would be resumed from, and the rest that a reader reads."""
    found = run.load_checkpoint()
    run.read_config()
    assert len(run.read_metrics()) >= found[1]["records"], "records are missing"
    run.read_summary()
    return found


def written(run: RunFolder, epoch: int, size: int) -> str | None:
    """Go on where files may not grow beyond a size: the refusal, if there was one."""
    no_larger_than(size)
    return _attempt(run, epoch)


def refused_to_write(run: RunFolder, epoch: int) -> str | None:
    """Go on where nothing may be written."""
    made_read_only(run.path)
    return _attempt(run, epoch)


def _attempt(run: RunFolder, epoch: int) -> str | None:
    try:
        go_on(run, epoch)
        return None
    except CheckpointError as error:
        return str(error)


def _refusal(ended: Ended) -> CheckpointError | None:
    assert not ended.trouble, f"not the library's own error: {ended.trouble.strip().splitlines()[-1]}"
    return None if ended.value is None else CheckpointError(ended.value)


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Let disks fail."""
    os.chmod(folder, 0o755)  # so that another user may look, where one is needed
    with small_task(), no_waiting():
        disk = _Disk(folder, random.Random(seed))
        disk.prepare()
        disk.train()
        kinds: dict[str, Callable[[], None]] = {
            "fault": disk.fault,
            "limit": disk.limit,
            "read-only": disk.read_only,
            "full": disk.full,
            "two": disk.two,
        }
        for number in range(cases):
            kind = KINDS[number % len(KINDS)]
            with tally.case(f"case {number}, {kind}"):
                kinds[kind]()
            restore(disk.run.path, disk.pristine)
    tally.notes |= dict(sorted(disk.count.items()))


TRIAL = Trial(
    key="disk",
    row=70,
    what="full disk, read-only folder, two processes in one folder",
    must_hold="a clear error; the last good state intact",
    full=600,
    short=20,
    run=run,
)
