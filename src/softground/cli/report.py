"""``softground report``: write a run's page again, or put runs side by side."""

import json
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ..errors import SoftgroundError
from ..files import harmless
from ..report.findings import Findings
from ..report.gathering import gather
from ..report.html import write_comparison, write_report
from ..runs import RunFolder
from .loading import load_run

COMPARISON = "compare.html"


@dataclass(frozen=True)
class Command:
    """Write each run's report.html again, or one page with runs side by side."""

    run_folders: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The run folders."""
    compare: bool = False
    """One page with all runs side by side."""
    out: Path | None = None
    """The file to write (default: report.html in the run folder; compare.html here)."""
    data_dir: Path | None = None
    """Current folder of the runs' data, in case examples must be read again."""
    open: bool = False
    """Show the page in a browser."""
    json: bool = False
    """Print the pages' names as one JSON object."""

    def run(self) -> None:
        folders = [RunFolder.open(path) for path in self.run_folders]
        self._check(len(folders))
        for folder in folders:
            self._look(folder)
        if self.compare:
            pages = [write_comparison(folders, self.out or Path(COMPARISON))]
        else:
            pages = [write_report(folder, path=self.out) for folder in folders]
        if self.json:
            print(json.dumps({"reports": [str(page) for page in pages]}))
        for page in pages:
            if not self.json:
                print(harmless(f"Report: {page}"))
            if self.open:
                webbrowser.open(page.resolve().as_uri())

    def _check(self, count: int) -> None:
        wrong = ""
        if count == 0:
            wrong = "No run folder was given; give at least one, such as softground report runs/NAME."
        elif self.compare and count < 2:
            wrong = "--compare was given with one run; give two or more run folders, or leave it out."
        elif self.out is not None and count > 1 and not self.compare:
            wrong = f"{count} runs and one --out were given; add --compare for one page, or leave --out out."
        elif self.out is not None and self.out.is_dir():
            wrong = f"--out {self.out} is a folder; give a file, such as {self.out}/report.html."
        if wrong:
            raise SoftgroundError(wrong)

    def _look(self, folder: RunFolder) -> None:
        """Make a run's findings if they are missing or older than its last epoch."""
        known = Findings.read(folder)
        if not folder.has_checkpoint() or (known is not None and known.epochs == len(folder.read_metrics())):
            return
        try:
            experiment, learner = load_run(folder, data_dir=self.data_dir)
            gather(learner, experiment.train, experiment.held_out, folder).write(folder)
        except SoftgroundError as error:
            # The curves need neither the data nor the network.
            note = f"{folder.path}: without examples and confusions, because the run cannot be loaded: {error}"
            print(harmless(note), file=sys.stderr)
