"""``softground solve RUN``: Sudoku puzzles as images."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro
from rich.console import Console

from ..data.digits import load_digits
from ..data.images import read_symbols, resize
from ..dice import stream
from ..errors import DataError
from ..experiments.named import problem_of, recipe_of
from ..experiments.place import Device
from ..files import Json
from ..model import Model
from ..report.progress import result_table
from ..tasks.sudoku import Sudoku
from ..tasks.sudoku.puzzles import FEWEST, GIVENS, Puzzles, inked, puzzle_figures, read_puzzles, solved
from .loading import OfRun, model_of


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Solve Sudoku puzzles shown by images, with the network of a run of sudoku, which was trained on whole boards."""

    images: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Pictures of puzzles, squares of equal cells. Without any, puzzles are made of the run's test images."""
    cells: bool = False
    """Each file shows one cell, blank or not, row by row."""
    count: int = 1000
    """Puzzles to make."""
    givens: int | None = None
    """Cells of each that are not blank (default: 30 of 9×9, 6 of 4×4); where one solution needs more, more."""
    data_dir: Path | None = None
    """Current folder of the run's data (default: their folder when the run began)."""
    device: Device = "auto"
    """Device to compute on."""

    def run(self) -> None:
        config = self.folder.read_config()
        if config.get("recipe") is None or config["task"] != "sudoku":
            raise DataError(
                f"{self.folder.path} holds a run of {config['task']}; puzzles are solved by a run of the task sudoku, "
                "as softground train sudoku --size 9 leaves it."
            )
        model = model_of(self.folder, self.previous, self.device)
        if self.images:
            recipe = recipe_of(self.folder, strict=False)
            labelled = recipe.anchors or recipe.anchor_symbols or recipe.known or recipe.objective == "sup"
            self._solve(model, bool(labelled))
        else:
            self._measure(model)

    def _measure(self, model: Model) -> None:
        """How many of the puzzles made of test images are solved."""
        recipe, (sites, _, height, _) = recipe_of(self.folder, strict=False), model.shape
        lay = (self.folder.read_config().get("place") or {}).get("data_dir")
        problem = problem_of(recipe, self.data_dir or (Path(str(lay)) if lay else None))
        assert isinstance(problem, Sudoku)
        pool = load_digits(problem.data, problem.data_dir)[1]
        pool = type(pool)(resize(pool.images, height), pool.labels)
        rng = np.random.default_rng(stream(recipe.seed, "puzzles"))
        size = math.isqrt(sites)
        puzzles = Puzzles.of(pool, size, self.count, GIVENS[size] if self.givens is None else self.givens, rng)
        figures = puzzle_figures(puzzles, _scores(model, puzzles.x))
        if self.json:
            print(json.dumps(figures))
        else:
            Console().print(result_table(f"puzzles: {self.folder.path}", {"now": figures}))

    def _solve(self, model: Model, named: bool) -> None:
        """The solution of each puzzle in image files."""
        sites, *image = model.shape
        shape, size = (image[0], image[1], image[2]), math.isqrt(sites)
        each = read_symbols(self.images, sites, shape) if self.cells else read_puzzles(self.images, size, shape)
        shown = inked(each)
        for place, count in enumerate(shown.sum(1).tolist()):
            if count < FEWEST[size]:
                raise DataError(
                    f"Puzzle {place} ({self.images[place * (sites if self.cells else 1)]}) shows {count} digits; with "
                    f"fewer than {FEWEST[size]} it has several solutions. Show more, or darker, digits."
                )
        scores = _scores(model, each)
        read, found = scores.argmax(2).masked_fill(~shown, -1).tolist(), list[Json]()
        for own, one in zip(read, solved(scores, shown), strict=True):
            changed = [cell for cell in range(sites) if one and one[0][cell] != own[cell]]
            solution = one and [digit + 1 for digit in one[1]]
            found.append({"read": [digit + 1 for digit in own], "corrected": changed, "solution": solution})
        if self.json:
            print(json.dumps({"puzzles": found, "named": named}))
            return
        for puzzle in found:
            print(_shown(size, **puzzle))
        if not named:
            print("The run has seen no labels: its digits have names of its own. Train with --anchors 1 to name them.")


def _shown(size: int, read: list[int], corrected: list[int], solution: list[int] | None) -> str:
    """A puzzle's solution, row by row, and where the reading was corrected."""
    if solution is None:
        return "No digits that the network finds probable make a puzzle with one solution.\n"
    rows = [" ".join(map(str, solution[first : first + size])) for first in range(0, len(solution), size)]
    where = "; ".join(f"row {cell // size + 1}, column {cell % size + 1}" for cell in corrected)
    return "\n".join([*rows, f"Corrected: {where}." if corrected else ""])


def _scores(model: Model, x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(model.predict_proba(x)).double().log()
