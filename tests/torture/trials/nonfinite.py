"""NaN and infinity at every place of a run: it stops, names the place, and what it saved leads to the healthy end.

After each fault the run is healed and resumed. A fault draws nothing at random, so the end must be, bit for bit, that
of the run that was never hurt.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from softground.data import Examples
from softground.dice import stream
from softground.errors import DataError, NonFiniteOutput
from softground.experiments import Experiment
from softground.learner import Learner
from softground.runs import RunFolder

from ..trial import Tally, Trial
from ._hurt import AT_ONCE, BATCHES, EPOCHS, HUGE, LARGE_INPUT, LARGE_RATE, SUBJECTS, TEST, Clock, Fault, Place, hurt
from ._same import assert_same, left_behind

REMEDY = r"Lower the learning rate|Correct the factor"
NONE = Fault("none")
SPOILT = 5  # the example whose input is NaN from the start


@dataclass(frozen=True)
class Case:
    """A fault, where it strikes, and what the message must say of the place."""

    subject: str
    fault: Fault
    at: Place
    named: str
    evaluated: bool = True  # whether there are test data
    spoilt: str = ""  # the data set that is hurt instead: train or test
    previous: bool = False  # whether what went wrong was saved before it showed

    def __str__(self) -> str:
        what = f"an example of NaN in the {self.spoilt} data" if self.spoilt else self.fault.name
        unseen = "" if self.evaluated else ", unseen"
        return f"{self.subject}, {what}{unseen}, stage {self.at.stage}, epoch {self.at.epoch}, batch {self.at.batch}"


def every_case() -> Iterator[Case]:
    """Both subjects, every stage, the first and the last epoch, every batch, the evaluation; every fault there."""
    for subject, make in SUBJECTS.items():
        stages = make().stages
        yield Case(subject, NONE, Place(0, 0, 0), f"{_batch_of(SPOILT, subject)}.*\\b{SPOILT}\\b", spoilt="train")
        yield Case(subject, NONE, Place(0, 0, TEST), r"on the test data: .* 1 of the .*: 5\.", spoilt="test")
        for stage, epoch, batch in itertools.product(range(len(stages)), range(EPOCHS), range(BATCHES)):
            at, last = Place(stage, epoch, batch), stage + 1 == len(stages)
            yield from (Case(subject, fault, at, _batch(batch)) for fault in AT_ONCE)
            if not last:  # Stage II learns from the network's own predictions, which suit any output
                yield Case(subject, HUGE, at, _batch(batch))
            after = "|".join([*map(_batch, range(batch + 1, BATCHES)), "after its last batch", "on the test data"])
            yield Case(subject, LARGE_RATE, at, after)
            if subject == "classes":  # that network normalises batches
                yield Case(subject, LARGE_INPUT, at, f"{_batch(batch)}|{after}")
                yield Case(subject, LARGE_INPUT, at, f"{_batch(batch)}|{after}", evaluated=False)
            saved = batch + 1 == BATCHES and stages[stage].keep == "last" and not (last and epoch + 1 == EPOCHS)
            if saved:
                after = f"{_batch(0)}|after its last batch"
                yield Case(subject, LARGE_RATE, at, after, evaluated=False, previous=True)
        for stage, epoch in itertools.product(range(len(stages)), range(EPOCHS)):
            seen = [fault for fault in AT_ONCE if (fault.x or fault.output) and "gradient" not in fault.name]
            yield from (Case(subject, fault, Place(stage, epoch, TEST), "on the test data") for fault in seen)


def _batch(number: int) -> str:
    return f"batch {number + 1} of {BATCHES}:"


def _batch_of(example: int, subject: str) -> str:
    """Where the first epoch's order puts an example."""
    run = SUBJECTS[subject]()
    count, size = len(run.train), run.batch_size  # type: ignore[arg-type]
    order = torch.randperm(count, generator=torch.Generator().manual_seed(stream(0, "order", 0)))
    return _batch(int((order == example).nonzero()) // size)


@dataclass
class _Subjects:
    """Runs in a folder, and what the healthy ones leave."""

    folder: Path
    device: str
    healthy: dict[tuple[str, bool], dict[str, Any]] = field(default_factory=dict)

    def reference(self, subject: str, evaluated: bool) -> dict[str, Any]:
        """What a run that is never hurt leaves."""
        if (subject, evaluated) not in self.healthy:
            path = self.folder / f"{subject}-{evaluated}"
            self.fit(Case(subject, NONE, Place(0, 0, 0), "", evaluated), path)
            self.healthy[subject, evaluated] = left_behind(path)
        return self.healthy[subject, evaluated]

    def fit(self, case: Case, path: Path, stop: Place | None = None, **how: bool) -> None:
        """Train, or resume."""
        clock = Clock(stop)
        hurting = SUBJECTS[case.subject]()
        if case.spoilt == "train":
            hurting = replace(hurting, train=_spoilt(hurting.train))
        elif case.spoilt == "test":
            hurting = replace(hurting, test=_spoilt(hurting.test))
        run: Experiment = hurt(hurting, clock, case.fault, case.at)
        learner = Learner(
            run.task, run.network, run.stages, batch_size=run.batch_size, augment=run.augment, device=self.device
        )
        learner.fit(run.train, run.test if case.evaluated else None, out=path, observer=clock, **how)

    def case(self, case: Case, interrupted: bool) -> None:
        """Hurt, look at what is left, heal, compare."""
        reference, path = self.reference(case.subject, case.evaluated), self.folder / "run"
        shutil.rmtree(path, ignore_errors=True)
        if interrupted:
            with suppress(KeyboardInterrupt):
                self.fit(replace(case, fault=NONE), path, stop=Place(case.at.stage, case.at.epoch, 0))
        try:
            self.fit(case, path, resume=interrupted)
        except (NonFiniteOutput, DataError) as error:
            message = str(error)
        else:
            raise AssertionError("nothing was noticed")
        self.check(case, message, path)
        if case.spoilt:  # nothing was begun
            shutil.rmtree(path, ignore_errors=True)
        resume = not case.spoilt
        self.fit(replace(case, fault=NONE, spoilt=""), path, resume=resume, previous=case.previous)
        assert_same(left_behind(path), reference)

    def check(self, case: Case, message: str, path: Path) -> None:
        """The place and the remedy are named, and what is saved is finite and of the epoch before."""
        if case.spoilt:  # noticed before anything is trained or saved
            assert re.search(rf"^The input of example {SPOILT} is NaN or infinite", message), message
            return
        stage, epoch = case.at.stage, case.at.epoch
        if case.previous:  # it shows at the first batch of the next epoch
            stage, epoch = (stage, epoch + 1) if epoch + 1 < EPOCHS else (stage + 1, 0)
        name = SUBJECTS[case.subject]().stages[stage].name
        place = f"^Stage {name}, epoch {epoch + 1} of {EPOCHS}, ({case.named})"
        for part in (place, REMEDY, re.escape(str(path)), *(["previous=True"] if case.previous else [])):
            assert re.search(part, message), f"{part!r} is not in the message {message!r}"
        for previous in {False, case.previous}:
            tensors, meta = RunFolder.open(path).load_checkpoint(previous)
            bad = [name for name, t in tensors.items() if t.is_floating_point() and not bool(torch.isfinite(t).all())]
            assert not bad, f"the checkpoint holds NaN or infinity in {', '.join(bad)}"
        done = meta["stage"] * EPOCHS + meta["epoch"]
        expected = case.at.stage * EPOCHS + case.at.epoch
        assert done == expected, f"the checkpoint was made after {done} epochs instead of {expected}"


def _spoilt(data: Any) -> Examples:
    x = data.x.clone()
    x[SPOILT] = torch.nan
    return Examples(x, data.y, data.symbols)


def run(tally: Tally, cases: int, seed: int, folder: Path, device: str = "cpu") -> None:
    """Hurt so many runs, by all kinds of faults in turn; a third are interrupted and resumed first, where they can."""
    chance = random.Random(seed)
    kinds: dict[tuple[str, ...], list[Case]] = {}
    for case in every_case():
        kinds.setdefault((case.fault.name, case.spoilt, str(case.evaluated)), []).append(case)
    for several in kinds.values():
        chance.shuffle(several)
    turns = [case for turn in itertools.zip_longest(*kinds.values()) for case in turn if case is not None]
    runs, resumed = _Subjects(folder, device), 0
    with mock.patch("os.fsync"):  # what a power cut would do is not the question here
        for case in turns[:cases]:
            interrupted = (case.at.stage, case.at.epoch) > (0, 0) and chance.random() < 1 / 3
            resumed += interrupted
            with tally.case(f"{case}{', resumed' if interrupted else ''}"):
                runs.case(case, interrupted)
    tally.notes |= {"kinds of fault": len(kinds), "after a resume": resumed}


TRIAL = Trial(
    key="nonfinite",
    row=80,
    what="NaN or infinity in data, losses, gradients or rates",
    must_hold="stops and names the batch; once repaired, resumes identically",
    full=682,
    short=21,
    run=run,
)
