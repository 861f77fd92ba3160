"""``softground train TASK``: start a run, or one for each of several seeds."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import LearnerError
from ..experiments.named import named_recipe
from ..files import Json
from ..preparing import hushed
from ..report.facts import Facts, seeds_table, spreads
from ..report.html import write_comparison
from ..runs import RunFolder
from ..runs.folder import plain
from .given import options_in
from .options import RunOptions
from .report import COMPARISON


@dataclass(frozen=True, kw_only=True)
class Command(RunOptions):
    """How a run is shown."""

    seeds: tuple[int, ...] = ()
    """Several seeds instead of one: a run for each, in folders seed-0, seed-1, … of --out, and mean ± sd over them."""
    out: Path | None = None
    """The run folder (default: a new one under runs/)."""
    dry_run: bool = False
    """Print the settings of the run, as a file for --config has them, and do not train."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else."""

    def run(self) -> None:
        if self.dry_run:
            options = plain(options_in(named_recipe(self.name, self.preset, **self.given)[0]))
            lines = [f"{name} = {json.dumps(v, ensure_ascii=False)}" for name, v in options.items() if v is not None]
            return print(json.dumps(options) if self.json else "\n".join(lines))
        with hushed(self.quiet):
            if self.seeds:
                return self._each_seed()
            summary = self._one(self.out)
        if self.json and summary:
            print(json.dumps(summary))

    def _one(self, out: Path | None, **other: Any) -> Json:
        return self.experiment(**other).run(out, quiet=self.quiet, silent=self.json)

    def _each_seed(self) -> None:
        """One run after the other; what is left of them after Ctrl-C is given as --seeds again, with the same --out."""
        if len(set(self.seeds)) < max(2, len(self.seeds)):
            given = " ".join(map(str, self.seeds))
            one = f"--seed {self.seeds[0]}"
            raise LearnerError(
                f"--seeds {given} was given; expected two or more seeds that differ, or {one} for one run."
            )
        home = self.out or Path("runs") / f"{Path(self.name).stem}-{datetime.now():%Y%m%d-%H%M%S}"
        folders = [home / f"seed-{seed}" for seed in self.seeds]
        if taken := [str(folder) for folder in folders if folder.exists()]:
            raise LearnerError(f"{taken[0]} exists; choose another --out, or leave its seed out.")
        summaries = [self._one(folder, seed=seed) for seed, folder in zip(self.seeds, folders, strict=True)]
        if not all(summaries):
            return  # process 0 shows them
        runs = [RunFolder.open(folder) for folder in folders]
        found = spreads([Facts.read(run) for run in runs])
        page = write_comparison(runs, home / COMPARISON)
        if self.json:
            each = {"mean": {n: s.mean for n, s in found.items()}, "sd": {n: s.sd for n, s in found.items()}}
            print(json.dumps({"seeds": self.seeds, **each, "runs": summaries, "report": str(page)}))
            return
        console = Console(highlight=False)
        console.print(seeds_table(f"{self.name}, {len(runs)} seeds", found))
        console.print(f"Report: {page}", soft_wrap=True)
