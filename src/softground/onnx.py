"""Export of the perception network to ONNX, for programs without torch.

The file holds the network, from inputs to one score for each site and symbol, without the rule. The export checks the
file: ONNX Runtime must give the same scores as torch, for one input and for several.

Needs the extra ``onnx``.
"""

import importlib
import json
import os
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .data.inputs import Inputs
from .errors import SoftgroundError
from .files import Json, temporary
from .learner.evaluation import like_weights, reader
from .model import Model

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
ROWS = 4  # inputs for the check
TOLERANCE = 1e-4  # of the largest score; float32 sums in another order differ by some 1e-6


def export_onnx(model: Model, path: Path | str, x: Tensor | None = None) -> float:
    """Write the model's network to ``path``; return the largest difference between its scores and torch's.

    Parameters
    ----------
    model
        A model from :func:`softground.load` or ``learner.model``. The metadata hold its symbols, ``alphabets``, as
        a JSON list of texts for each site; ``readings`` tells whether a site's softmax runs over these.
    path
        The file, ``.onnx`` by habit. It is replaced as a whole, and only if the check succeeds.
    x
        At least two inputs for the check; by default, made-up ones of the shape and type of the training inputs.
    """
    if absent := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        missing = f"{', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not installed"
        raise SoftgroundError(f"Export to ONNX needs {missing}. Install them: pip install {' '.join(PACKAGES)}.")
    if isinstance(model.space, Mapping):
        shapes = ", ".join(map(str, model.space))
        raise SoftgroundError(
            f"This model reads the shapes {shapes}; export one at a time: export_onnx(model.of(…), …)."
        )
    x = _example(model) if x is None else x.detach().cpu()
    if len(x) < 2:
        raise SoftgroundError(f"{len(x)} inputs were given to export with; give two at least, to see what varies.")
    network, path = reader(model.network, torch.device("cpu")), Path(path)
    new = temporary(path)
    try:
        _write(network, like_weights(network, x), new, model.space, model.seen)
        difference = _check(network, like_weights(network, x), new)
        os.replace(new, path)
    except OSError as error:
        raise SoftgroundError(f"{path} cannot be written: {error}. Choose a file you may write to.") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return difference


def _example(model: Model) -> Tensor:
    """Make inputs of the kind that the model reads."""
    if model.shape is None or model.dtype is None:
        raise SoftgroundError(
            "The model does not know what its inputs look like: it was not trained here, or not on tensors. Give a few "
            "inputs: export_onnx(model, path, x)."
        )
    chance, shape = torch.Generator().manual_seed(0), (ROWS, *model.shape)
    if model.dtype.is_floating_point:
        return torch.rand(shape, generator=chance).to(model.dtype)
    return torch.randint(256 if model.dtype == torch.uint8 else 2, shape, generator=chance).to(model.dtype)


def _write(network: nn.Module, x: Tensor, path: Path, space: Any, seen: Inputs | None) -> None:
    with warnings.catch_warnings(), redirect_stdout(StringIO()):  # torch prints its progress
        warnings.simplefilter("ignore")
        names: Json = {"input_names": ["x"], "output_names": ["scores"], "verbose": False}
        shapes = ({0: torch.export.Dim("batch")},)
        try:
            program: Any = torch.onnx.export(network, (x,), dynamo=True, dynamic_shapes=shapes, **names)
        except Exception as error:
            raise SoftgroundError(
                f"torch cannot export this {type(network).__name__} to ONNX: {type(error).__name__}: {error}. Networks "
                "whose steps depend on the inputs' values cannot be written as a fixed graph."
            ) from error
    if space.categorical:
        alphabets = [[str(symbol) for symbol in alphabet] for alphabet in space.alphabets]
        program.model.metadata_props["alphabets"] = json.dumps(alphabets)
        program.model.metadata_props["readings"] = space.readings
        program.model.metadata_props["symbols"] = json.dumps([str(symbol) for symbol in space.symbols])
    if seen is not None:
        program.model.metadata_props["inputs"] = json.dumps(seen.facts())
    path.parent.mkdir(parents=True, exist_ok=True)
    program.save(str(path), external_data=False)


def _check(network: nn.Module, x: Tensor, path: Path) -> float:
    """Compare torch and ONNX Runtime on one input and on all."""
    runtime: Any = importlib.import_module("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    worst = 0.0
    for rows in (x[:1], x):
        with torch.no_grad():
            expected = network(rows).numpy()
        try:
            (given,) = session.run(["scores"], {"x": rows.numpy()})
        except Exception as error:
            raise SoftgroundError(
                f"ONNX Runtime cannot run the exported network on {len(rows)} inputs: {error}. The network must take "
                "any number of rows: use x.shape[0], not len(x), in its forward."
            ) from error
        difference = float(np.abs(given - expected).max())
        if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
            raise SoftgroundError(
                f"The exported network's scores differ from torch's by up to {difference:.3g}; expected at most "
                f"{TOLERANCE:g} of the largest. Nothing was written: report this with the network and torch's version."
            )
        worst = max(worst, difference)
    return worst
