"""Checkpoints truncated, bit-flipped, swapped and from other versions, and the files that a resumed run reads beside.

Each case damages one file of a run folder, or puts files of another run in its place. Loading either gives exactly what
was saved or the library's own error, and the checkpoint before still loads.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from softground.errors import CheckpointError
from softground.runs import RunFolder, checkpoint

from ..trial import Tally, Trial
from ._pair import State, make, no_waiting, restore, resumed, same, says_what_to_do


@dataclass
class _Victim:
    """The run to be damaged, what is in it, and another run."""

    run: RunFolder
    current: State
    previous: State
    pristine: Path
    other: Path
    chance: random.Random

    @property
    def path(self) -> Path:
        return self.run.path

    def file(self, which: str, folder: Path | None = None) -> Path:
        """The file of the ``current`` or the ``previous`` checkpoint."""
        files = sorted((folder or self.pristine).glob("checkpoint-*.safetensors"))
        return (folder or self.path) / files[-1 if which == "current" else -2].name

    def any_file(self) -> Path:
        """One of those that a resumed run reads; the larger are no likelier."""
        files = [self.file("current"), self.file("previous"), self.path / "config.json", self.path / "metrics.jsonl"]
        return self.chance.choices(files, (5, 1, 2, 2))[0]


def truncated(victim: _Victim) -> Path:
    """Cut short anywhere, or empty, or gone."""
    path = victim.any_file()
    data = path.read_bytes()
    if victim.chance.random() < 0.05:
        path.unlink()
    else:
        path.write_bytes(data[: victim.chance.randrange(len(data))])
    return path


def flipped(victim: _Victim) -> Path:
    """One bit or a few, anywhere."""
    path = victim.any_file()
    data = bytearray(path.read_bytes())
    for _ in range(victim.chance.choice((1, 1, 1, 2, 8))):
        data[victim.chance.randrange(len(data))] ^= 1 << victim.chance.randrange(8)
    path.write_bytes(data)
    return path


def blotted(victim: _Victim) -> Path:
    """A stretch overwritten, doubled, or something added at the end, as failing disks and tools do."""
    path, chance = victim.any_file(), victim.chance
    data = path.read_bytes()
    at = chance.randrange(len(data))
    size = min(len(data) - at, chance.choice((1, 16, 512)))
    path.write_bytes(
        chance.choice(
            (
                data[:at] + bytes(size) + data[at + size :],
                data[:at] + chance.randbytes(size) + data[at + size :],
                data[:at] + data[at : at + size] + data[at:],
                data + chance.randbytes(size),
                data + data,
            )
        )
    )
    return path


def swapped(victim: _Victim) -> Path:
    """Files in each other's place, or another run's in this one's."""
    current, previous, path = victim.file("current"), victim.file("previous"), victim.path
    match victim.chance.randrange(6):
        case 0:
            one, two = current.read_bytes(), previous.read_bytes()
            current.write_bytes(two)
            previous.write_bytes(one)
            return path / "both"
        case 1:
            shutil.copy(previous, current)
            return current
        case 2:
            shutil.copy(victim.file("current", victim.other), current)
            return current
        case 3:  # under a name that fits, and newer than all others
            shutil.copy(foreign := victim.file("current", victim.other), path / foreign.name.replace("-0", "-9", 1))
            return path / "another run's checkpoint"
        case 4:
            shutil.copy(victim.other / "config.json", path / "config.json")
            return path / "config.json"
    shutil.copy(victim.other / "metrics.jsonl", path / "metrics.jsonl")
    return path / "metrics.jsonl"


def newer(victim: _Victim) -> Path:
    """A format that is not known yet, or no longer."""
    path = victim.path / "config.json"
    known = json.loads(path.read_text()) | {"format": victim.chance.choice((3, 17, 10**6, None))}
    path.write_text(json.dumps({name: value for name, value in known.items() if value is not None}))
    return path


KINDS: dict[str, Callable[[_Victim], Path]] = {
    "truncated": truncated,
    "bits flipped": flipped,
    "overwritten": blotted,
    "swapped": swapped,
    "of another format": newer,
}


def examine(victim: _Victim, hurt: Path) -> bool:
    """Whether the damage was refused, rightly; False where it was none. Raises where something wrong came out."""
    try:
        found = resumed(victim.run)
    except CheckpointError as error:
        refused = True
        if not says_what_to_do(error, victim.path):
            raise AssertionError(f"the message lacks path, reason or remedy: {error}") from error
    else:
        refused = False
        gone = not victim.file("current").exists()  # then the one before is the current one
        assert same(found, victim.previous if gone else victim.current), "what was loaded is not what was saved"
        assert victim.run.read_config() == RunFolder(victim.pristine).read_config(), "the settings are others"
    if hurt == victim.file("previous"):
        assert not refused, "the current checkpoint was refused, though another file was damaged"
    elif hurt.exists():  # where one file alone is damaged, the checkpoint before is not
        before = checkpoint.load(victim.path, previous=True)
        assert same(before, victim.previous), "the previous checkpoint is not what was saved"
    return refused


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Damage a run in every way."""
    chance = random.Random(seed)
    refused: Counter[str] = Counter()
    with no_waiting():
        own, current, previous = make(folder / "run", 1)
        make(folder / "other", 2)
        shutil.copytree(own.path, folder / "pristine")
        victim = _Victim(own, current, previous, folder / "pristine", folder / "other", chance)
        kinds = list(KINDS)
        for number in range(cases):
            kind = kinds[number % len(kinds)]
            with tally.case(f"case {number}, {kind}"):
                hurt = KINDS[kind](victim)
                refused[kind] += examine(victim, hurt)
            restore(own.path, victim.pristine)
    tally.notes |= {"refused": sum(refused.values()), "without effect": tally.survived - sum(refused.values())}


TRIAL = Trial(
    key="damage",
    row=40,
    what="damaged, swapped and outdated checkpoints",
    must_hold="loads exactly, or an error with path and remedy",
    full=10_000,
    short=300,
    run=run,
)
