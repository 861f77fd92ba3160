"""A run from its folder: as an experiment with the trained network, or as a model that needs no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..data.examples import Examples, as_tensor
from ..errors import CheckpointError, DataError
from ..experiments import Experiment
from ..experiments.deterministic import switch_on
from ..experiments.place import Device
from ..learner import Learner
from ..learner.checkpoint import network_of
from ..model import Model, load
from ..runs import RunFolder


def load_run(
    folder: RunFolder, previous: bool = False, data_dir: Path | None = None, device: Device = "auto"
) -> tuple[Experiment, Learner]:
    """A run as it was made by name, with its data and the network of its checkpoint."""
    weights = network_of(folder, previous)
    experiment = Experiment.of_run(folder, data_dir, device=device)
    if experiment.place.deterministic:
        switch_on()
    _take(experiment.network, weights, folder)
    return experiment, experiment.learner()


def model_of(folder: RunFolder, previous: bool = False, device: Device = "auto") -> Model:
    """The run's network as a model, with the weights of its checkpoint; no data are read."""
    model = load(folder.path / "model", device=device)
    _take(model.network, network_of(folder, previous), folder)
    return model


def _take(network: Any, weights: dict[str, Any], folder: RunFolder) -> None:
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"The checkpoint in {folder.path} does not fit the run's network: {error}. Restore both from one backup."
        ) from error


def read_examples(path: Path) -> Examples:
    """The examples in an ``.npz`` file, with true symbols where it has them; nothing in it is unpickled."""
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as an .npz of arrays ({error}).") from error
    if missing := {"x", "y"} - parts.keys():
        raise DataError(
            f"{path} holds no {' and no '.join(sorted(missing))}; expected arrays x, y and perhaps symbols."
        )
    symbols = as_tensor(parts["symbols"]) if "symbols" in parts else None
    return Examples(as_tensor(parts["x"]), parts["y"].tolist(), symbols)
