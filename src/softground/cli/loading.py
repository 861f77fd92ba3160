"""A run from its folder: as an experiment with the trained network, or as a model that needs no data."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from ..data.examples import Examples, as_tensor
from ..errors import CheckpointError, DataError
from ..experiments import Experiment
from ..experiments.named import problem_of, recipe_of
from ..experiments.own_rule import OPENED, open_rule
from ..experiments.place import Device
from ..learner import Learner
from ..learner.run_folder import MODEL
from ..learner.run_state import network_of
from ..model import Model, load
from ..runs import RunFolder
from ..task import Family, Task


@dataclass(frozen=True, kw_only=True)
class OfRun:
    """Common options of commands on one run folder."""

    run_folder: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    previous: bool = False
    """Use the checkpoint before the last, if the last is damaged."""
    json: bool = False
    """Print one JSON object, and nothing else."""
    file: Path | None = None
    """The file of your own rule, as given to softground train: imported only if it is named here."""

    @property
    def folder(self) -> RunFolder:
        """Open the run folder."""
        if self.file is not None:
            open_rule(self.file)
        return RunFolder.open(self.run_folder)


def load_run(
    folder: RunFolder, previous: bool = False, data_dir: Path | None = None, device: Device = "auto"
) -> tuple[Experiment, Learner]:
    """A run of a ready-made task, with its data and the network of its checkpoint."""
    experiment = Experiment.of_run(folder, data_dir, recipe_of(folder, strict=False), device=device)
    try:
        _give(experiment.network, folder, previous)
    except CheckpointError:
        recipe_of(folder)  # refuses a retired network
        raise
    learner = experiment.learner()
    learner.fitted = True
    return experiment, learner


def model_of(folder: RunFolder, previous: bool = False, device: Device = "auto") -> Model:
    """The run's network as a model, with the weights of its checkpoint. No data are read."""
    folder.read_config()  # refuses a folder of another version
    model = load(folder.path / MODEL, device=device)
    _give(model.network, folder, previous)
    model.task = model.task or task_of(folder)
    return model


def task_of(folder: RunFolder) -> Task | Family | None:
    """The task of a run, without its data; None for a user's rule whose file was not named."""
    recipe: Any = folder.read_config().get("recipe")
    task = str(recipe.get("task")) if isinstance(recipe, dict) else ""
    if recipe is None or (task.endswith(".py") and task not in OPENED):
        return None
    recipe = recipe_of(folder, strict=False)
    return problem_of(recipe).task(recipe.inverse)


def _give(network: Any, folder: RunFolder, previous: bool) -> None:
    """Load the checkpoint's weights into the run's network."""
    try:
        network.load_state_dict(network_of(folder, previous))
    except RuntimeError as error:
        raise CheckpointError(
            f"The checkpoint in {folder.path} does not fit the run's network: {error}. Restore both from one backup."
        ) from error


def read_examples(path: Path) -> Examples:
    """Read examples and, if present, true symbols from an ``.npz`` file, without unpickling."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file. Give an .npz with arrays x, y and perhaps symbols.")
    if not zipfile.is_zipfile(path):  # numpy would advise to unpickle it
        raise DataError(
            f"{path} is not an .npz file, as numpy.savez writes it; expected arrays x, y and perhaps symbols."
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as an .npz of arrays ({error}).") from error
    if missing := {"x", "y"} - parts.keys():
        raise DataError(
            f"{path} holds no {' and no '.join(sorted(missing))}; expected arrays x, y and perhaps symbols."
        )
    y = [tuple(answer) if isinstance(answer, list) else answer for answer in parts["y"].tolist()]
    symbols = as_tensor(parts["symbols"]).long() if "symbols" in parts else None
    return Examples(as_tensor(parts["x"]), y, symbols)
