"""Damaged, swapped and hostile files through everything that reads a file.

Each case takes a small right source, damages one file of it (bytes at random, in the format's own terms, or another
thing in the file's place) and loads it, in a folder whose name may be an odd one.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path

from softground.errors import SoftgroundError

from ..trial import Tally, Trial
from ._bounds import Memory, within
from ._damage import PLACES, damaged, put_back
from ._records import records
from ._sources import LOADERS, Loader

SECONDS = 5.0
MEMORY = 512.0  # MiB
LONGEST = 2_000  # characters of a message
NAMES = (
    "plain",
    "with space",
    "ünï 😀",
    "quote'\"`",
    "[bold]x[/nope]",
    "two\nlines",
    "-dash",
    "raw\udcff",
    "%s{0}",
    "n" * 200,
)


class Loading:
    """Right sources, made when they are first wanted, and the counts of what came of loading damaged ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Memory()
        self.loaded = self.refused = 0
        self._made: dict[tuple[str, str], dict[Path, bytes]] = {}

    def source(self, loader: Loader, name: str) -> tuple[Path, dict[Path, bytes]]:
        """A source in a folder of that name: the folder, and the content of the files to damage."""
        place = self.folder / loader.name / name
        if (loader.name, name) not in self._made:
            place.mkdir(parents=True)
            files = loader.make(place)
            loader.load(place)
            self._made[loader.name, name] = {path: path.read_bytes() for path in files}
        return place, self._made[loader.name, name]

    def attempt(self, loader: Loader, place: Path, victim: Path) -> None:
        """Load: right, or refused in the library's own words with the place in them; not even a warning beside."""
        with warnings.catch_warnings(record=True) as caught, within(SECONDS), self.memory.within(MEMORY):
            warnings.simplefilter("always")
            try:
                loader.load(place)
                self.loaded += 1
            except SoftgroundError as error:
                self.refused += 1
                message = str(error)
                assert str(place) in message or victim.name in message, f"the path is not named: {message[:300]}"
                assert len(message) <= LONGEST, f"a message of {len(message):,} characters: {message[:300]}"
        assert not caught, f"warned: {caught[0].message}"


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Each loader in turn."""
    rng, loading = random.Random(seed), Loading(folder)
    with records() as more:
        loaders = [*LOADERS, *more]
        for number in range(cases):
            loader = loaders[number % len(loaders)]
            place, files = loading.source(loader, NAMES[0] if rng.random() < 0.7 else rng.choice(NAMES))
            victim = rng.choice(list(files))
            harm = rng.random()
            try:
                if harm < 0.1:
                    how = rng.choice(PLACES)
                    what = how.__name__.strip("_")
                    how(victim)
                else:
                    what = "format" if harm < 0.6 else "bytes"
                    change = loader.special if harm < 0.6 else damaged
                    victim.write_bytes(change(files[victim], rng))
                with tally.case(f"case {number}, {loader.name}, {victim.name!r}, {what}"):
                    loading.attempt(loader, place, victim)
            finally:
                put_back(victim, files[victim])
    tally.notes.update(
        {
            "loaded all the same": loading.loaded,
            "refused": loading.refused,
            "most memory MiB": round(loading.memory.most),
        }
    )


TRIAL = Trial(
    key="loaders",
    row=61,
    what="damaged and hostile files, every loader",
    must_hold="loads correctly, or an error with the path",
    full=20_000,
    short=400,
    run=run,
)
