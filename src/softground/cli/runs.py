"""``softground runs list | compare | remove``: the runs of a folder, side by side, and away with them."""

import json
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import CheckpointError, SoftgroundError
from ..figures import figures
from ..files import Json, harmless
from ..report.facts import Facts, groups, seeds_table, spreads
from ..report.progress import side_by_side
from ..report.words import flat, in_words, is_number, letter, rows, seconds, short
from ..runs import RunFolder
from ..runs.folder import CONFIG
from ..runs.lock import in_use

FIGURES = 2  # of a run in the list


@dataclass(frozen=True)
class List:
    """List the runs in a folder, the newest first, and those in folders of it."""

    folder: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Where to look."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> None:
        if not self.folder.is_dir() and self.folder != Path("runs"):
            raise CheckpointError(f"{self.folder}: there is no such folder. Give the folder that runs were written to.")
        found = [_told(path) for path in _below(self.folder)]
        if self.json:
            return print(json.dumps({"runs": found}))
        if not found:
            return print(
                f"There are no runs in {self.folder} yet. softground train hwf begins one; softground tasks lists more."
            )
        table = Table(box=None)
        for name in ("run", "task", "seed", "state", "epochs", "figures", "time"):
            number = name in ("seed", "epochs", "time")
            table.add_column(name, overflow="fold", justify="right" if number else "left")
        for each in found:
            best = [f"{short(f)} {in_words(f, 1)}" for f in figures(each["figures"], ())]
            time = seconds(each["wall_seconds"]) if is_number(each["wall_seconds"]) else "–"
            seed, epochs = ("–" if each[name] is None else str(each[name]) for name in ("seed", "epochs"))
            words = ", ".join(best[:FIGURES])
            cells = (each["run_folder"], each["task"], seed, each["state"], epochs, words, time)
            table.add_row(*(Text(harmless(cell)) for cell in cells))
        _console().print(table)


@dataclass(frozen=True)
class Compare:
    """Put runs side by side: figures, and the settings that differ. Seeds of one setting are averaged."""

    run_folders: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The run folders, two or more. softground report --compare writes a page of them."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self) -> None:
        if len(self.run_folders) < 2:
            raise SoftgroundError("runs compare was given fewer than two run folders; give two or more.")
        runs = [Facts.read(RunFolder.open(path), whole=False) for path in self.run_folders]
        names = list(dict.fromkeys(name for run in runs for name in run.short))
        asked = [{"task": run.task} | flat({"recipe": run.config.get("recipe")}) for run in runs]
        settings = {name: [each.get(name, "–") for each in asked] for one in asked for name in one}
        settings = {name: values for name, values in settings.items() if len(set(values)) > 1}
        means = [(places, spreads([runs[place] for place in places])) for places in groups(runs)]
        if self.json:
            document = {
                "runs": [
                    {
                        "run_folder": str(path),
                        "figures": {name: run.final[name].value if name in run.final else None for name in names},
                    }
                    for path, run in zip(self.run_folders, runs, strict=True)
                ],
                "settings": settings,
                "seeds": [
                    {"runs": [str(self.run_folders[place]) for place in places]}
                    | {part: {name: getattr(each, part) for name, each in found.items()} for part in ("mean", "sd")}
                    for places, found in means
                ],
            }
            return print(json.dumps(document))
        console, letters = _console(), [letter(place) for place in range(len(runs))]
        for each, path in zip(letters, self.run_folders, strict=True):
            console.print(harmless(f"{each}  {path}"), soft_wrap=True, markup=False)
        console.print(side_by_side("on held-out data", letters, rows([run.short for run in runs])))
        if settings:
            console.print(side_by_side("asked for", letters, settings))
        for places, found in means:
            console.print(seeds_table(f"{', '.join(letters[place] for place in places)}: {len(places)} seeds", found))


@dataclass(frozen=True)
class Remove:
    """Remove run folders, with all that is in them."""

    run_folders: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The run folders."""
    yes: bool = False
    """Do not ask first."""

    def run(self) -> None:
        folders = [RunFolder.open(path) for path in self.run_folders]
        for path in self.run_folders:
            if path.is_symlink():
                raise SoftgroundError(f"{path} is a link; give the folder itself. Nothing was removed.")
            if in_use(path):
                raise SoftgroundError(f"A process is training in {path}; wait, or stop it. Nothing was removed.")
        if not self.yes and not _agreed(self.run_folders):
            raise SoftgroundError("Nothing was removed. --yes removes without asking.")
        for folder in folders:
            shutil.rmtree(folder.path)
            print(harmless(f"Removed {folder.path}"))


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Remove, tyro.conf.subcommand("remove")]
)


def _below(folder: Path) -> list[Path]:
    """The run folders in a folder, and in folders of it, the newest first."""
    found = {path.parent for pattern in ("", "*/", "*/*/") for path in folder.glob(f"{pattern}{CONFIG}")}
    return sorted(found, key=lambda path: ((path / CONFIG).stat().st_mtime, path.name), reverse=True)


def _told(path: Path) -> Json:
    """What a list says of a run; of one that cannot be read, that."""
    known: Json = {"run_folder": str(path), "task": "–", "seed": None, "state": "unreadable", "epochs": None}
    known |= {"figures": {}, "wall_seconds": None, "started": None}
    try:
        run = Facts.read(RunFolder.open(path), whole=False)
    except CheckpointError:
        return known
    recipe = run.config.get("recipe") or run.config.get("settings")
    seed = recipe.get("seed") if isinstance(recipe, dict) else None
    state = "training" if in_use(path) else "finished" if run.summary else "stopped"
    started = datetime.fromtimestamp((path / CONFIG).stat().st_mtime).isoformat(timespec="seconds")
    values = {name: figure.value for name, figure in run.short.items()}
    known |= {"task": run.task, "seed": seed, "state": state, "figures": values, "started": started}
    return known | {"epochs": len(run.history), "wall_seconds": run.summary.get("wall_seconds")}


def _agreed(paths: Iterable[Path]) -> bool:
    """Whether the person at the terminal agrees; in a script the answer is no."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    print(*(harmless(f"  {path}") for path in paths), sep="\n")
    return input("Remove these folders and all that is in them? [y/N] ").strip().lower() in ("y", "yes")


def _console() -> Console:
    """Tables in full width where no terminal limits them."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=200)
