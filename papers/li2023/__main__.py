"""``python -m papers.li2023``: check the paper with one command; or softground's own, with the paper's baselines."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from softground import cli
from softground.errors import DataError, SoftgroundError
from softground.experiments.place import Device

from .cell import Cell, Where
from .plan import What, plan, select
from .pool import Progress, run_all
from .render import render
from .store import Store

PROGRAM = "python -m papers.li2023"
OUT = Path("runs") / "reproduction"
MOST = 1000  # seeds, and jobs


@dataclass(frozen=True)
class Reproduce:
    """Run the paper's experiments and write its tables with ours beside them; finished cells are skipped."""

    what: Annotated[What, tyro.conf.Positional]
    """hwf: Tables 1 and 3, the curves, Proposition 1; sudoku: Table 2; sdsp: the figure of shortest paths."""
    seeds: int | None = None
    """Seeds 0, 1, … of every cell (default: three; ten of those whose seeds part ways)."""
    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    out: Path = OUT
    """Where records, tables and plots go."""
    jobs: int = 1
    """Cells at a time, each in a process of its own."""
    data_dir: Path | None = None
    """Folder with hwf.npz and MNIST's IDX files; without it the built-in digits stand in for both."""
    seconds: float | None = None
    """Start no cell that would not end in this time, and stop those that do not."""
    only: tuple[str, ...] = ()
    """Only these cells: names, beginnings such as hwf/standard/exp, or patterns with * and ?."""
    list: bool = False
    """Show the cells and which of them are done, and run nothing."""
    render: bool = False
    """Write page, JSON and plots from the records, and run nothing."""
    page: Path | None = None
    """The page to write (default: reproduction.md in --out); plots go into images/ beside it."""
    quick: bool = False
    """Tiny cells, to see that everything runs; their figures mean nothing."""

    def run(self) -> None:
        """Reproduce."""
        console = Console(highlight=False, soft_wrap=True)
        self._check()
        store = Store(self.out)
        if not self.render:
            cells = select(plan(self.what, self.seeds, real=self.data_dir is not None, quick=self.quick), self.only)
            if self.list:
                return _show(cells, store, console)
            self._run(cells, store, console)
        for path in render(store, self.what, self.page, quick=self.quick):
            console.print(f"Written: {path}", markup=False)

    def _check(self) -> None:
        for name, value in (("--seeds", self.seeds), ("--jobs", self.jobs)):
            if value is not None and not 1 <= value <= MOST:
                raise SoftgroundError(f"{name} {str(value)[:20]} was given; expected at least 1 and at most {MOST:,}.")
        if self.seconds is not None and not self.seconds > 0:
            raise SoftgroundError(f"--seconds {self.seconds:g} was given; expected a positive number.")
        if self.quick and self.data_dir is not None:
            raise SoftgroundError("--quick was given with --data-dir; tiny cells use the built-in digits. Drop one.")
        if self.data_dir is not None and not self.data_dir.is_dir():
            raise DataError(f"--data-dir {self.data_dir} is not a folder; give the one with hwf.npz and MNIST's files.")
        if self.out.exists() and not self.out.is_dir():
            raise SoftgroundError(f"--out {self.out} is a file; give a folder.")

    def _run(self, cells: Sequence[Cell], store: Store, console: Console) -> None:
        missing = [cell for cell in cells if not store.finished(cell)]
        console.print(f"{len(cells) - len(missing)} of {len(cells)} cells are done; {len(missing)} to go.")
        without = [cell for cell in missing if cell.kind == "z3" and importlib.util.find_spec("z3") is None]
        if without:
            console.print(f"{len(without)} of them need Z3, which is not installed here, and are left for later.")
            missing = [cell for cell in missing if cell not in without]
        if self.data_dir is None and not self.quick and any("data" in cell.options for cell in missing):
            console.print("No --data-dir: the built-in digits stand in for HWF and MNIST; figures are not the paper's.")
        where = Where.at(self.device, self.data_dir)

        def report(cell: Cell, answer: dict[str, Any], progress: Progress) -> None:
            console.print(_line(cell, answer, progress), markup=False)

        try:
            progress = run_all(missing, store, where, jobs=self.jobs, seconds=self.seconds, report=report)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Finished cells are kept; the same command goes on with the rest.") from None
        if progress.left:
            console.print(f"Out of time: {len(progress.left)} cells are left. The same command goes on with them.")
        if progress.failed:
            raise SoftgroundError(
                f"{len(progress.failed)} of {progress.total} cells failed ({', '.join(progress.failed)}); what each "
                "said is above. The others are kept; the same command tries these again."
            )


def _line(cell: Cell, answer: dict[str, Any], progress: Progress) -> str:
    """What became of a cell, and how many are left."""
    place = f"[{progress.done + len(progress.failed)}/{progress.total}] {cell.name}"
    if "record" not in answer:
        return f"{place}: failed: {answer['error']}"
    record = answer["record"]
    stages = record["result"].get("stages", {})
    parts = []
    for stage, found in stages.items():
        figures = [f"{100 * value:.1f}" for value in found["test"].values() if value is not None]
        parts.append(f"{stage} {' / '.join(figures)}")
    return f"{place}: {'; '.join([*parts, ''])}{record['wall_seconds']:.0f} s"


def _show(cells: Sequence[Cell], store: Store, console: Console) -> None:
    """The cells in the order they would run in."""
    done = {cell.name for cell in cells if store.finished(cell)}
    for cell in cells:
        console.print(f"{'done' if cell.name in done else '    '}  {cell.name}", markup=False)
    rest = sum(cell.seconds for cell in cells if cell.name not in done)
    console.print(f"{len(done)} of {len(cells)} are done; the rest takes about {rest / 60:.0f} minutes, one by one.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. softground's own commands know the paper's baselines here."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in cli.COMMANDS:
        return cli.main(argv, pages=False)
    config = (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName)
    return cli.politely(lambda: tyro.cli(Reproduce, prog=PROGRAM, args=argv, config=config).run(), PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
